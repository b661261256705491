/* test_own_hosts.c - which names are answered, which pages may change. */
#include "base/compiler.h"
#include "base/str.h"
#include "config/own_hosts.h"
#include "http/head.h"
#include "http/refusal.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(own_hosts, names_are_answered_that_no_page_can_point_here)
{
    const struct hl_str names = HL_STR("a.example, b");
    static const char *const served[] = {"127.0.0.1", "127.0.0.1:9090", "10.0.0.1:1", "[::1]",
        "[::1]:9090", "localhost", "LocalHost:9090", "a.example", "A.Example:80", "b"};
    static const char *const others[] = {"", "evil.example", "evil.example:9090", "a.example.evil",
        "x.localhost", "localhost.", "127.0.0.1.evil", "[evil]", "[::1", "a", "::1", "b,c"};
    for (size_t i = 0; i < HL_ARRAY_LEN(served); i++)
        cr_expect(hl_own_hosts_have(names, hl_str_from(served[i])), "%s", served[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++)
        cr_expect_not(hl_own_hosts_have(names, hl_str_from(others[i])), "%s", others[i]);
}

Test(own_hosts, lists_of_names_have_no_ports_and_no_stars)
{
    cr_expect(hl_own_hosts_are_valid(HL_STR("a.example, b-1,c_d")));
    static const char *const bad[] = {"a:80", "*.example", "http://a", "a/b", "[::1]", "a b"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(hl_own_hosts_are_valid(hl_str_from(bad[i])), "%s", bad[i]);
}

static bool is_cross_site(const char *host, const char *lines)
{
    static struct hl_head head;
    struct hl_refusal fault;
    char text[512];
    int n = snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, lines);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", fault.detail);
    return hl_own_hosts_is_cross_site(HL_STR("dash.example"), &head);
}

Test(own_hosts, pages_of_other_origins_are_told)
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
