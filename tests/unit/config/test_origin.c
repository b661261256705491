/* test_origin.c - web origins as browsers write them. */
#include "config/choice.h"
#include "config/origin.h"

#include <criterion/criterion.h>

static struct hl_origin_list list;

static void end(void)
{
    hl_origin_list_fini(&list);
}

TestSuite(origin, .fini = end);

Test(origin, is_found_by_all_of_its_bytes)
{
    cr_assert_eq(
        hl_origin_list_parse(HL_STR("https://a.example, http://localhost:3000,app://x,"), &list),
        HL_OK);
    cr_assert_eq(list.n, 3);
    cr_expect(hl_str_eq(
        hl_origin_list_find(&list, HL_STR("https://a.example")), HL_STR("https://a.example")));
    cr_expect_gt(hl_origin_list_find(&list, HL_STR("http://localhost:3000")).n, 0);
    static const char *const others[] = {"http://a.example", "https://a.example:444",
        "https://a.example.evil", "https://b.a.example", "HTTPS://A.EXAMPLE", "https://a.exampl",
        "https://a.example/", "null", "", "*", "http://localhost", "http://localhost:30000"};
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++)
        cr_expect_eq(hl_origin_list_find(&list, hl_str_from(others[i])).n, 0, "%s", others[i]);
}

Test(origin, the_schemes_own_port_is_taken_off)
{
    cr_assert_eq(
        hl_origin_list_parse(
            HL_STR("https://a.example:443,http://b.example:80,http://c.example:443"), &list),
        HL_OK);
    cr_expect_gt(hl_origin_list_find(&list, HL_STR("https://a.example")).n, 0);
    cr_expect_gt(hl_origin_list_find(&list, HL_STR("http://b.example")).n, 0);
    cr_expect_eq(hl_origin_list_find(&list, HL_STR("http://c.example")).n, 0);
}

Test(origin, a_star_stands_alone_and_for_all)
{
    cr_assert_eq(hl_origin_list_parse(HL_STR("*"), &list), HL_OK);
    cr_expect(list.has_any);
    cr_expect(hl_str_eq(hl_origin_list_find(&list, HL_STR("https://any.example")), HL_STR("*")));
    end();
    cr_expect_eq(hl_origin_list_parse(HL_STR("*,https://a.example"), &list), HL_ERR_INVALID);
    cr_expect_eq(list.n, 0);
}

Test(origin, other_texts_are_none)
{
    static const char *const bad[] = {"null", "a.example", "https://", "://a", "https://a.example/",
        "https://a.example/path", "https://user@a.example", "https://A.example",
        "https://a example", "https://a.example:", "https:/a.example", "https://a.example\r\nX: y",
        "1http://a"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_eq(
            hl_origin_list_parse(hl_str_from(bad[i]), &list), HL_ERR_INVALID, "%s", bad[i]);
}
