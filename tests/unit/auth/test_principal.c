/* test_principal.c - where a token may stand in a request, and where it may not. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "auth/principal.h"
#include "base/compiler.h"
#include "base/str.h"
#include "http/head.h"
#include "http/refusal.h"

#define UPGRADE "Connection: upgrade\r\nUpgrade: websocket\r\n"

static struct hl_head head;
static char text[4096];
static struct hl_str token;
static struct hl_refusal why;

/* 0: it was found; else the status of the refusal. */
static unsigned find(const char *lines)
{
    struct hl_refusal fault;
    int n =
        snprintf(text, sizeof text, "GET /?access_token=x HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", fault.detail);
    return hl_credential_find(&head, &token, &why) ? 0 : why.status;
}

Test(credential, is_a_bearer_token_in_the_one_authorization)
{
    static const char *const good[] = {"Authorization: Bearer abc\r\n",
        "authorization: bearer abc\r\n", "AUTHORIZATION:BEARER   abc  \r\n",
        "Authorization: Bearer \tabc\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++) {
        cr_expect_eq(find(good[i]), 0, "%s", good[i]);
        cr_expect(hl_str_eq(token, HL_STR("abc")), "%s", good[i]);
    }
    static const char *const none[] = {"", "Authorization: abc\r\n", "Authorization: Basic abc\r\n",
        "Authorization: Bearer\r\n", "Authorization: Bearerabc\r\n", "Authorization:\r\n",
        "X-Authorization: Bearer abc\r\n", "Proxy-Authorization: Bearer abc\r\n",
        "Cookie: Authorization=Bearer abc\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(none); i++) {
        cr_expect_eq(find(none[i]), 401, "%s", none[i]);
        cr_expect(strstr(why.fields, "WWW-Authenticate: Bearer"));
    }
}

Test(credential, of_two_is_none)
{
    cr_expect_eq(find("Authorization: Bearer abc\r\nAuthorization: Bearer abc\r\n"), 400);
    cr_expect_eq(find("Authorization: Bearer abc\r\nX: y\r\nAuthorization:\r\n"), 400);
    cr_expect_eq(
        find(UPGRADE "Authorization: Bearer abc\r\nSec-WebSocket-Protocol: bearer.abc\r\n"), 400);
    cr_expect_eq(find(UPGRADE "Sec-WebSocket-Protocol: bearer.abc, bearer.abc\r\n"), 400);
    cr_expect_eq(
        find(UPGRADE "Sec-WebSocket-Protocol: bearer.a\r\nSec-WebSocket-Protocol: x, bearer.b\r\n"),
        400);
}

Test(credential, may_be_a_subprotocol_of_an_upgrade)
{
    cr_assert_eq(find(UPGRADE "Sec-WebSocket-Protocol: chat, bearer.a.b.c, hookline\r\n"), 0);
    cr_assert(hl_str_eq(token, HL_STR("a.b.c")));
    cr_assert_eq(
        find(UPGRADE "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: bearer.a.b.c\r\n"),
        0);
    cr_assert(hl_str_eq(token, HL_STR("a.b.c")));
    cr_assert_eq(find(UPGRADE "Sec-WebSocket-Protocol: Bearer.abc, bearer\r\n"), 401);
    cr_assert_eq(find("Sec-WebSocket-Protocol: bearer.abc\r\n"), 401, "no upgrade");
}

Test(identity, what_is_shown_is_the_account_or_the_subject)
{
    static const struct {
        const char *identity, *subject;
    } cases[] = {
        {"0193f0b0-0000-7000-8000-000000000000", "0193f0b0-0000-7000-8000-000000000000"},
        {"session:ann", "ann"},
        {"0011223344556677:urn:a:b", "urn:a:b"},
        {"0011223344556677:", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        cr_assert(hl_str_eq(hl_identity_subject(hl_str_from(cases[i].identity)),
                      hl_str_from(cases[i].subject)),
            "%zu", i);
}
