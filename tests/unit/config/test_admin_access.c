/* test_admin_access.c - which addresses are open. */
#include "base/compiler.h"
#include "config/admin_access.h"
#include "config/choice.h"
#include "config/config.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>

static struct hl_listen_address at(const char *text)
{
    struct hl_listen_address address = {.text = NULL};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address.addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address.addr;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        v4->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        v6->sin6_family = AF_INET6;
    return address;
}

static bool is_open(enum hl_auth_mode auth, enum hl_admin_auth admin, const char *text)
{
    struct hl_listen_address address = at(text);
    struct hl_config config = {
        .auth = auth, .admin_auth = admin, .admin_listen = {.items = &address, .n = 1}};
    bool is = hl_admin_access_is_open(&config, &address);
    cr_expect_eq(hl_admin_access_asks_token(&config), !is);
    return is;
}

Test(admin_access, only_loopback_is_open_by_itself_and_only_without_tokens)
{
    static const char *const loopback[] = {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"};
    static const char *const others[] = {
        "0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::2", "fe80::1"};
    for (size_t i = 0; i < HL_ARRAY_LEN(loopback); i++) {
        cr_expect(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_AUTO, loopback[i]), "%s", loopback[i]);
        cr_expect_not(is_open(HL_AUTH_JWT, HL_ADMIN_AUTH_AUTO, loopback[i]), "%s", loopback[i]);
        cr_expect_not(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_TOKEN, loopback[i]), "%s", loopback[i]);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++) {
        cr_expect_not(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_AUTO, others[i]), "%s", others[i]);
        cr_expect(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_NONE, others[i]), "%s", others[i]);
        cr_expect(is_open(HL_AUTH_JWT, HL_ADMIN_AUTH_NONE, others[i]), "%s", others[i]);
    }
}
