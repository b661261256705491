#include <criterion/criterion.h>

#include "base/distance.h"
#include "base/str.h"

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
