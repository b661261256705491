#include <criterion/criterion.h>

#include "base/str.h"
#include "http/coding.h"

static bool takes_gzip(const char *value)
{
    return hl_coding_is_accepted(hl_str_from(value), HL_STR("gzip"));
}

Test(coding, is_taken_where_it_is_named)
{
    cr_assert(takes_gzip("gzip"));
    cr_assert(takes_gzip("deflate, GZip;q=0.5, br"));
    cr_assert(takes_gzip("gzip ; q=0.001"));
    cr_assert(takes_gzip("identity, *"));
}

Test(coding, is_not_taken_where_it_is_not_named_or_has_no_weight)
{
    cr_assert_not(takes_gzip(""));
    cr_assert_not(takes_gzip("identity, br"));
    cr_assert_not(takes_gzip("xgzip, gzipped"));
    cr_assert_not(takes_gzip("gzip;q=0"));
    cr_assert_not(takes_gzip("gzip; Q=0.000, br"));
    cr_assert_not(takes_gzip("*;q=0"));
    cr_assert_not(takes_gzip("gzip;q=0, *"), "a name comes before any");
}
