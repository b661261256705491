/* test_webhook_field.c - the operator's own header fields of webhooks. */
#include "base/buf.h"
#include "config/webhook_field.h"

#include <criterion/criterion.h>

Test(webhook_field, takes_a_field_a_line)
{
    struct hl_str text = HL_STR("Authorization: Bearer a:b\r\n\n  X-Tenant:7 \nX-Last: \"q\"");
    struct hl_str line;
    cr_assert(hl_webhook_fields_are_valid(text));
    cr_assert(hl_webhook_field_next(&text, &line));
    cr_expect(hl_str_eq(line, HL_STR("Authorization: Bearer a:b")));
    cr_assert(hl_webhook_field_next(&text, &line));
    cr_expect(hl_str_eq(line, HL_STR("X-Tenant:7")));
    cr_assert(hl_webhook_field_next(&text, &line));
    cr_expect(hl_str_eq(line, HL_STR("X-Last: \"q\"")));
    cr_expect_not(hl_webhook_field_next(&text, &line));
}

Test(webhook_field, refuses_our_own_names_and_what_is_no_field)
{
    static const char *const bad[] = {"", "\n", "no colon", ": x", "A b: c",
        "X-Empty:", "X-Empty: ", "X-A: b\rc", "X-A: b\x01", "X-A: 1\nx-a: 2", "Host: a",
        "content-type: a", "Content-Length: 1", "Content-Anything: a", "Transfer-Encoding: chunked",
        "Connection: close", "TE: x", "Upgrade: a", "Keep-Alive: 1", "Expect: 100-continue",
        "User-Agent: a", "X-Request-Id: a", "Traceparent: a", "webhook-signature: a",
        "Webhook-Other: a", "X-Service-Webhook-Signature: a", "x-acme-webhook-new: a",
        "X-Webhook-A: a", "X-Request_Id: a", "Content_Type: a", "x_acme_webhook_new: a",
        "Proxy-Authorization: a", "X-Ok: 1\nHost: a", " folded"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(hl_webhook_fields_are_valid(hl_str_from(bad[i])), "%s", bad[i]);
    cr_expect_not(hl_webhook_fields_are_valid((struct hl_str){"X-A: b\0c", 8}));
}

static void expect_fault(const char *text, const char *fault)
{
    struct hl_buf out;
    hl_buf_init(&out, 0);
    cr_assert_eq(hl_webhook_fields_tell_fault(hl_str_from(text), &out), HL_OK);
    cr_expect(hl_str_eq(hl_buf_str(&out), hl_str_from(fault)), "%s: %.*s", text, (int)out.n, out.p);
    hl_buf_fini(&out);
}

Test(webhook_field, tells_which_line_is_refused_and_no_value)
{
    expect_fault("X-A: 1", "");
    expect_fault("\n", "");
    expect_fault("Host: hush", " (line 1, Host)");
    expect_fault("X-A: 1\r\n\r\nx-a: hush", " (line 3, x-a)");
    expect_fault("X-A: 1\nX-B:\nHost: hush", " (line 2, X-B)");
    expect_fault("X-A: 1\n\nhush without a colon", " (line 3)");
    expect_fault("X-A: 1\nhush hush: 2", " (line 2)");
}
