/* test_stranger.c - peers that speak another protocol: known by their first bytes, told once. */
#include "caller/stranger.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "base/compiler.h"
#include "captured_log.h"
#include "loop_fixture.h"

static struct hl_strangers strangers;

static void set_up(void)
{
    loop_begin();
    hl_strangers_init(&strangers, &wheel);
    captured_log_begin();
}

static void tear_down(void)
{
    captured_log_end();
    loop_end();
}

TestSuite(stranger, .init = set_up, .fini = tear_down);

#define BYTES(text)                                                                                \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

Test(stranger, is_known_by_its_first_bytes)
{
    static const struct {
        struct hl_str bytes;
        enum hl_refusal_cause cause;
    } cases[] = {
        {BYTES("\x16\x03\x01\x02\x00\x01"), HL_REFUSAL_TLS_HANDSHAKE},
        {BYTES("\x16\x03\x00"), HL_REFUSAL_TLS_HANDSHAKE},
        {BYTES("\x16\x03"), HL_REFUSAL_NONE},
        {BYTES("\x16\x03\xff\x02"), HL_REFUSAL_NONE},
        {BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), HL_REFUSAL_HTTP2_PREFACE},
        {BYTES("PRI * HTTP/1.1\r\n"), HL_REFUSAL_NONE},
        {BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 5 6\r\nGET / HTTP/1.1\r\n"),
            HL_REFUSAL_PROXY_PROTOCOL},
        {BYTES("PROXY UNKNOWN\r\n"), HL_REFUSAL_PROXY_PROTOCOL},
        {BYTES("\r\n\r\n\0\r\nQUIT\n\x21\x11"), HL_REFUSAL_PROXY_PROTOCOL},
        {BYTES("\0\r\nQUIT\n\x21\x11"), HL_REFUSAL_PROXY_PROTOCOL},
        {BYTES("PROXY /x HTTP/1.1\r\n"), HL_REFUSAL_NONE},
        {BYTES("GET / HTTP/1.1\r\n"), HL_REFUSAL_NONE},
        {BYTES(""), HL_REFUSAL_NONE},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(hl_stranger_find(cases[i].bytes), cases[i].cause, "%zu", i);
}

Test(stranger, is_told_once_and_then_counted)
{
    for (int i = 0; i < 100; i++) {
        hl_strangers_note(&strangers, "192.0.2.1", HL_REFUSAL_TLS_HANDSHAKE);
        hl_strangers_note(&strangers, "192.0.2.2", HL_REFUSAL_TLS_HANDSHAKE);
    }
    hl_strangers_note(&strangers, "192.0.2.1", HL_REFUSAL_HTTP2_PREFACE);
    hl_strangers_note(&strangers, "192.0.2.1", HL_REFUSAL_PLAIN_TEXT);
    cr_assert_eq(captured_log_count("\"level\":\"info\"", "another protocol"), 4);
    cr_assert_eq(captured_log_count("another protocol", "HTTP in plain text"), 1);
    cr_assert_eq(captured_log_count("left_out", ""), 0);
    hl_strangers_fini(&strangers);
    cr_assert_eq(captured_log_count("\"protocol\":\"TLS\"", "\"left_out\":99"), 2);
    cr_assert_eq(captured_log_count("left_out", ""), 2, "the other two were told whole");
}

Test(stranger, beyond_the_places_there_are_is_counted)
{
    char peer[HL_IP_TEXT];
    for (int i = 0; i < HL_STRANGERS + 5; i++) {
        snprintf(peer, sizeof(peer), "192.0.2.%d", i);
        hl_strangers_note(&strangers, peer, HL_REFUSAL_TLS_HANDSHAKE);
    }
    cr_assert_eq(captured_log_count("another protocol", "client"), HL_STRANGERS);
    hl_strangers_fini(&strangers);
    cr_assert_eq(captured_log_count("more peers", "\"left_out\":5"), 1);
}
