/* test_browser.c - what browsers are told, and the subprotocols of their WebSockets. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/compiler.h"
#include "http/browser.h"
#include "http/head.h"
#include "http/refusal.h"
#include "http/writer.h"

static struct hl_head head;
static char text[4096], out[4096];

static void parse(const char *method, const char *lines)
{
    struct hl_refusal fault;
    int n = snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: a\r\n%s\r\n", method, lines);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", fault.detail);
}

Test(cors, a_preflight_has_an_origin_and_asks_for_a_method)
{
    parse("OPTIONS", "Origin: https://a\r\nAccess-Control-Request-Method: POST\r\n");
    cr_expect(hl_cors_is_preflight(&head));
    parse("OPTIONS", "Origin: https://a\r\n");
    cr_expect_not(hl_cors_is_preflight(&head));
    parse("OPTIONS", "Access-Control-Request-Method: POST\r\n");
    cr_expect_not(hl_cors_is_preflight(&head));
    parse("GET", "Origin: https://a\r\nAccess-Control-Request-Method: POST\r\n");
    cr_expect_not(hl_cors_is_preflight(&head));
}

Test(cors, names_that_were_asked_for_are_repeated_and_nothing_else_is)
{
    parse("OPTIONS", "Access-Control-Request-Headers: x-a, Authorization\r\n");
    hl_cors_write_preflight(out, &head);
    cr_expect(strstr(out, "Access-Control-Allow-Headers: x-a, Authorization\r\n"));
    static const char *const others[] = {"", "Access-Control-Request-Headers: a b\r\n",
        "Access-Control-Request-Headers: x: y\r\n", "Access-Control-Request-Headers:\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++) {
        parse("OPTIONS", others[i]);
        hl_cors_write_preflight(out, &head);
        cr_expect(strstr(out, "Access-Control-Allow-Headers: Authorization, Content-Type"), "%s",
            others[i]);
        cr_expect(strstr(out, ", X-Run-Tag, "));
    }
}

Test(cors, says_who_may_read_and_what_others_get)
{
    struct {
        struct hl_cors cors;
        bool allows, varies;
    } cases[] = {{{{0}, false}, false, false}, {{{0}, true}, false, true},
        {{HL_STR("https://a"), true}, true, true}, {{HL_STR("*"), false}, true, false}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_writer w = hl_writer_on(out, sizeof out);
        hl_cors_write(&w, &cases[i].cors);
        out[w.p - w.start] = '\0';
        cr_expect_eq(
            strstr(out, "Access-Control-Allow-Origin: ") != NULL, cases[i].allows, "%zu", i);
        cr_expect_eq(
            strstr(out, "Expose-Headers: X-Request-Id") != NULL, cases[i].allows, "%zu", i);
        cr_expect_eq(strstr(out, "Vary: Origin\r\n") != NULL, cases[i].varies, "%zu", i);
    }
}

#define UPGRADE "Connection: upgrade\r\nUpgrade: websocket\r\n"

static const char *others_of(const char *lines)
{
    parse("GET", lines);
    struct hl_writer w = hl_writer_on(out, sizeof out);
    hl_subprotocol_write_others(&w, &head);
    out[w.p - w.start] = '\0';
    return out;
}

Test(subprotocol, tokens_are_taken_off_and_the_others_stay_in_order)
{
    cr_expect_str_eq(others_of(UPGRADE "Sec-WebSocket-Protocol: bearer.a.b.c\r\n"), "");
    cr_expect_str_eq(others_of(UPGRADE), "");
    cr_expect_str_eq(others_of(UPGRADE "Sec-WebSocket-Protocol: x, bearer.a ,y\r\nA: b\r\n"
                                       "Sec-WebSocket-Protocol: bearer.\r\n"
                                       "Sec-WebSocket-Protocol: ,z\r\n"),
        "Sec-WebSocket-Protocol: x, y, z\r\n");
    cr_expect_str_eq(others_of(UPGRADE "Sec-WebSocket-Protocol: Bearer.a\r\n"),
        "Sec-WebSocket-Protocol: Bearer.a\r\n");
}

Test(subprotocol, our_own_is_found_among_all)
{
    parse("GET", UPGRADE "Sec-WebSocket-Protocol: x\r\nSec-WebSocket-Protocol: y, hookline\r\n");
    cr_expect(hl_subprotocol_offers_own(&head));
    parse("GET", UPGRADE "Sec-WebSocket-Protocol: Hookline, hooklines\r\n");
    cr_expect_not(hl_subprotocol_offers_own(&head));
    parse("GET", UPGRADE);
    cr_expect_not(hl_subprotocol_offers_own(&head));
}
