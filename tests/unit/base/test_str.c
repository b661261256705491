#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/str.h"

Test(str, compares_ascii_without_case)
{
    cr_assert(hl_str_eq_nocase(HL_STR("Content-Length"), HL_STR("content-LENGTH")));
    cr_assert_not(hl_str_eq_nocase(HL_STR("a"), HL_STR("ab")));
    /* '[' and '{' differ in the bit that tells the cases of letters apart. */
    cr_assert_not(hl_str_eq_nocase(HL_STR("["), HL_STR("{")));
    cr_assert_not(hl_str_eq_nocase(HL_STR("\xc4"), HL_STR("\xe4")));
}

Test(str, trims_spaces_and_tabs_only)
{
    cr_assert(hl_str_eq(hl_str_trim(HL_STR(" \ta b\t ")), HL_STR("a b")));
    cr_assert(hl_str_eq(hl_str_trim(HL_STR(" \t ")), HL_STR("")));
    cr_assert(hl_str_eq(hl_str_trim(HL_STR("a\r\n")), HL_STR("a\r\n")));
}

Test(str, walks_a_list_past_empty_elements)
{
    struct hl_str list = HL_STR(" a ,, b c,\t,d"), element;
    const char *const expected[] = {"a", "b c", "d"};
    for (size_t i = 0; i < HL_ARRAY_LEN(expected); i++) {
        cr_assert(hl_str_next_element(&list, &element));
        cr_assert(hl_str_eq(element, hl_str_from(expected[i])), "%.*s", HL_STR_ARG(element));
    }
    cr_assert_not(hl_str_next_element(&list, &element));
}

Test(str, reads_decimal_digits_up_to_64_bits)
{
    uint64_t v = 0;
    cr_assert(hl_str_to_u64(HL_STR("18446744073709551615"), &v));
    cr_assert(v == UINT64_MAX);
    cr_assert(hl_str_to_u64(HL_STR("007"), &v) && v == 7);
    const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616", "99999999999999999999"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_str_to_u64(hl_str_from(bad[i]), &v), "%s", bad[i]);
}

Test(str, finds_a_prefix)
{
    cr_assert(hl_str_starts_with(HL_STR("unix:/a"), HL_STR("unix:")));
    cr_assert(hl_str_starts_with(HL_STR("a"), HL_STR("")));
    cr_assert_not(hl_str_starts_with(HL_STR("un"), HL_STR("unix:")));
}

Test(str, copies_with_a_terminator)
{
    char *copy = hl_str_dup((struct hl_str){"abcd", 2});
    cr_assert_str_eq(copy, "ab");
    free(copy);
    copy = hl_str_dup((struct hl_str){NULL, 0});
    cr_assert_str_eq(copy, "");
    free(copy);
}

Test(str, puts_a_text_into_an_array_that_it_fits)
{
    char out[4];
    hl_str_put(out, sizeof(out), "abc");
    cr_assert_str_eq(out, "abc");
    hl_str_put(out, sizeof(out), "");
    cr_assert_str_eq(out, "");
}

Test(str, a_text_that_does_not_fit_ends_the_process, .signal = SIGABRT)
{
    char out[4];
    hl_str_put(out, sizeof(out), "abcd");
}

static unsigned between(const char *a, const char *b)
{
    unsigned there = hl_distance(hl_str_from(a), hl_str_from(b));
    cr_assert_eq(there, hl_distance(hl_str_from(b), hl_str_from(a)));
    return there;
}

Test(distance, counts_letters_that_differ_are_missing_or_too_many)
{
    cr_assert_eq(between("", ""), 0u);
    cr_assert_eq(between("", "abc"), 3u);
    cr_assert_eq(between("list", "list"), 0u);
    cr_assert_eq(between("lst", "list"), 1u);
    cr_assert_eq(between("lisst", "list"), 1u);
    cr_assert_eq(between("lisp", "list"), 1u);
    cr_assert_eq(between("lsit", "list"), 2u);
    cr_assert_eq(between("kitten", "sitting"), 3u);
}

Test(distance, compares_long_names_by_their_beginning)
{
    char a[HL_DISTANCE_MAX + 9], b[2 * HL_DISTANCE_MAX];
    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));
    cr_assert_eq(hl_distance((struct hl_str){a, sizeof(a)}, (struct hl_str){b, sizeof(b)}), 0u);
}
