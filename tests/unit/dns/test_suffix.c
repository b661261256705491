/* test_suffix.c - whose name it is, by the list or by count. */
#include "dns/suffix.h"

#include <criterion/criterion.h>
#include <string.h>

static void check(const char *host, const char *expected)
{
    char room[HL_SUFFIX_MAX + 1];
    struct hl_str suffix = hl_suffix_of(hl_str_from(host), room);
    cr_assert(hl_str_eq(suffix, hl_str_from(expected)), "%s: %.*s", host, HL_STR_ARG(suffix));
}

Test(suffix, is_what_somebody_registered)
{
    check("example.com", "example.com");
    check("hooks.example.com", "example.com");
    check("a.b.c.d.example.com", "example.com");
    check("x.unknown-top-level", "x.unknown-top-level");
    check("a.x.unknown-top-level", "x.unknown-top-level");
}

Test(suffix, is_the_same_in_any_spelling)
{
    check("Hooks.EXAMPLE.Com", "example.com");
    check("hooks.example.com.", "example.com");
}

Test(suffix, is_all_of_what_has_no_more_labels)
{
    check("localhost", "localhost");
    check("com", "com");
    check("", "");
    check(".", "");
}

Test(suffix, follows_the_list_where_there_is_one)
{
#ifdef HL_HAS_PSL
    check("a.example.co.uk", "example.co.uk");
    check("co.uk", "co.uk");
    check("b.a.somebody.github.io", "somebody.github.io");
    check("a.xn--fiqs8s", "a.xn--fiqs8s");
    check("b.a.xn--55qx5d.cn", "a.xn--55qx5d.cn");
#else
    check("a.example.co.uk", "co.uk");
#endif
}

Test(suffix, of_a_name_that_is_too_long_is_of_bounded_length)
{
    char host[2048], room[HL_SUFFIX_MAX + 1];
    memset(host, 'a', sizeof host);
    struct hl_str suffix = hl_suffix_of((struct hl_str){host, sizeof host}, room);
    cr_assert_eq(suffix.n, HL_SUFFIX_MAX);
}
