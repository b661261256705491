/* test_webhook_setting.c - which hosts of webhooks are trusted. */
#include <criterion/criterion.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "config/webhook_setting.h"

Test(host_list, refuses_what_is_no_name_and_no_address)
{
    static const char *const bad[] = {"", ",", "a.example,,b.example", "a.example,", ",a.example",
        "*, ", "a b", "https://a.example", "a.example:443", "a.example/x", "*corp.example", "*.",
        "*.*.example", "a.*.example", "**", ".example", "a..example", "10.0.0.0/8", "10.0.0.*",
        "*.0.0.1", "10.1", "0x7f000001", "1", "256.1.1.1", "[10.0.0.1]", "[fd00::5", "fd00::5]",
        "[]", "\xc3\xbc.example", "a.example,b c", "user@a.example"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(hl_host_list_is_valid(hl_str_from(bad[i])), "%s", bad[i]);
    cr_expect(hl_host_list_is_valid(
        HL_STR("hooks.example.com, "
               "*.corp.example,A.example.,localhost,10.0.0.5,[fd00::5],fd00::6,*,my_host")));
}

static bool has(const char *list, const char *host)
{
    bool is_bracketed = host[0] == '[';
    struct hl_str h = hl_str_from(host);
    cr_assert(hl_host_list_is_valid(hl_str_from(list)), "%s", list);
    if (is_bracketed)
        h = (struct hl_str){h.p + 1, h.n - 2};
    return hl_host_list_has(hl_str_from(list), h, is_bracketed);
}

Test(host_list, compares_names_without_case_and_last_dot)
{
    cr_expect(has("Hooks.Example.com", "hooks.example.COM"));
    cr_expect(has("hooks.example.com.", "hooks.example.com"));
    cr_expect(has("hooks.example.com", "hooks.example.com."));
    cr_expect_not(has("hooks.example.com", "x.hooks.example.com"));
    cr_expect_not(has("hooks.example.com", "hooks.example.com.evil"));
    cr_expect_not(has("hooks.example.com", "hooks-example.com"));
    cr_expect_not(hl_host_list_has(HL_STR(""), HL_STR("a.example"), false));
}

Test(host_list, a_wildcard_stands_for_one_or_more_labels)
{
    cr_expect(has("*.corp.example", "a.corp.example"));
    cr_expect(has("*.corp.example", "a.B.Corp.example."));
    cr_expect_not(has("*.corp.example", "corp.example"));
    cr_expect_not(has("*.corp.example", "evilcorp.example"));
    cr_expect_not(has("*.corp.example", "a.corp.example.evil"));
    cr_expect_not(has("*.corp.example", ".corp.example"));
}

Test(host_list, addresses_are_matched_by_themselves_however_the_url_writes_them)
{
    cr_expect(has("10.0.0.5", "10.0.0.5"));
    cr_expect(has("10.0.0.5", "0x0a000005"));
    cr_expect(has("[fd00::5]", "[fd00:0::5]"));
    cr_expect(has("fd00::5", "[fd00::5]"));
    cr_expect_not(has("10.0.0.5", "10.0.0.50"));
    cr_expect_not(has("*.example", "10.0.0.5"));
    cr_expect(has("*", "10.0.0.5"));
    cr_expect(has("*", "[::1]"));
}

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
