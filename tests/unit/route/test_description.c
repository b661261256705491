#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "http/problem.h"
#include "route/description.h"
#include "http/field_value.h"

static bool knows(const char *if_none_match)
{
    return hl_etag_is_known(hl_str_from(if_none_match), HL_STR("\"ab\""));
}

Test(etag, is_known_among_others_and_when_weakened)
{
    cr_assert(knows("\"ab\""));
    cr_assert(knows("\"x\", \"ab\""));
    cr_assert(knows("W/\"ab\""));
    cr_assert(knows("*"));
}

Test(etag, is_not_known_by_half_or_without_a_list)
{
    cr_assert_not(knows(""));
    cr_assert_not(knows("ab"));
    cr_assert_not(knows("\"a\""));
    cr_assert_not(knows("\"x\", \"y\""));
}

Test(description, is_sent_whole_with_its_tag)
{
    struct hl_answer answer = {.status = 0};
    hl_description_answer(&answer, HL_STR(""));
    cr_assert_eq(answer.status, 200);
    cr_assert(hl_str_starts_with(answer.body, HL_STR("{")));
    cr_assert_eq(answer.body.n, hl_description.n);
    cr_assert_not_null(strstr(answer.extra_fields, hl_description.etag));
}

Test(description, is_not_sent_to_who_has_it)
{
    struct hl_answer answer = {.status = 0};
    hl_description_answer(&answer, hl_str_from(hl_description.etag));
    cr_assert_eq(answer.status, 304);
    cr_assert_eq(answer.body.n, 0);
    cr_assert_not_null(strstr(answer.extra_fields, hl_description.etag));
}
