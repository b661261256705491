/* test_admin_access.c - which addresses are open, which names are answered, which pages may change. */
#include "config/admin_access.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>

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

Test(admin_access, names_are_answered_that_no_page_can_point_here)
{
    struct hl_config config = {.admin_hosts = HL_STR("a.example, b")};
    static const char *const served[] = {"127.0.0.1", "127.0.0.1:9090", "10.0.0.1:1", "[::1]",
        "[::1]:9090", "localhost", "LocalHost:9090", "a.example", "A.Example:80", "b"};
    static const char *const others[] = {"", "evil.example", "evil.example:9090", "a.example.evil",
        "x.localhost", "localhost.", "127.0.0.1.evil", "[evil]", "[::1", "a", "::1", "b,c"};
    for (size_t i = 0; i < HL_ARRAY_LEN(served); i++)
        cr_expect(hl_admin_access_serves_host(config.admin_hosts, hl_str_from(served[i])), "%s",
            served[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++)
        cr_expect_not(hl_admin_access_serves_host(config.admin_hosts, hl_str_from(others[i])), "%s",
            others[i]);
}

Test(admin_access, lists_of_names_have_no_ports_and_no_stars)
{
    cr_expect(hl_admin_access_hosts_are_valid(HL_STR("a.example, b-1,c_d")));
    static const char *const bad[] = {"a:80", "*.example", "http://a", "a/b", "[::1]", "a b"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(hl_admin_access_hosts_are_valid(hl_str_from(bad[i])), "%s", bad[i]);
}

static bool is_cross_site(const char *host, const char *lines)
{
    static struct hl_head head;
    struct hl_config config = {.admin_hosts = HL_STR("dash.example")};
    struct hl_refusal fault;
    char text[512];
    int n = snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, lines);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", fault.detail);
    return hl_admin_access_is_cross_site(config.admin_hosts, &head);
}

Test(admin_access, pages_of_other_origins_are_told)
{
    static const char here[] = "127.0.0.1:9090";
    cr_expect_not(is_cross_site(here, ""));
    cr_expect_not(is_cross_site(here, "Sec-Fetch-Site: same-origin\r\n"));
    cr_expect_not(is_cross_site(here, "Sec-Fetch-Site: none\r\n"));
    cr_expect_not(is_cross_site(here, "Origin: http://127.0.0.1:9090\r\n"));
    cr_expect(is_cross_site(here, "Sec-Fetch-Site: same-site\r\n"));
    cr_expect(is_cross_site(here, "Sec-Fetch-Site: cross-site\r\n"));
    cr_expect(is_cross_site(here, "Origin: null\r\n"));
    cr_expect(is_cross_site(here, "Origin: http://127.0.0.1\r\n"));
    cr_expect(is_cross_site(here, "Origin: http://localhost:9090\r\n"));
    cr_expect(is_cross_site(here, "Origin: https://127.0.0.1:9090\r\n"));
    cr_expect(
        is_cross_site(here, "Sec-Fetch-Site: cross-site\r\nOrigin: http://127.0.0.1:9090\r\n"));
    cr_expect_not(is_cross_site("dash.example", "Origin: https://dash.example\r\n"));
    cr_expect(is_cross_site("dash.example", "Origin: https://evil.example\r\n"));
}
