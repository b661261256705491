/* test_host_list.c - which hosts of webhooks are trusted. */
#include "base/compiler.h"
#include "base/str.h"
#include "config/host_list.h"

#include <criterion/criterion.h>

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
