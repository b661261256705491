/* test_json_text.c - JSON whose numbers and texts no reader has values for, and what they become. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "http/json_text.h"

static struct hl_buf out;

static const char *narrow(const char *text)
{
    hl_buf_fini(&out);
    cr_assert_eq(hl_json_narrow(hl_str_from(text), &out), HL_OK);
    cr_assert_eq(hl_buf_append(&out, "", 1), HL_OK);
    return out.p;
}

static void end(void)
{
    hl_buf_fini(&out);
}

TestSuite(json_narrow, .fini = end);

Test(json_narrow, leaves_what_every_reader_can_take)
{
    static const char *const same[] = {"", "{}", "[1,-0,9223372036854775807,-9223372036854775808]",
        "[1.5e300, -2E-3,1e-999]", "{\"a b\" : \"\\\"\\\\\\u00e9\\n\"}", "\"\\ud83d\\ude00\"",
        "[true,null,\"-99999999999999999999\",\"1e999\"]"};
    for (size_t i = 0; i < HL_ARRAY_LEN(same); i++)
        cr_expect_str_eq(narrow(same[i]), same[i]);
}

Test(json_narrow, gives_numbers_that_are_too_large_the_nearest_double)
{
    cr_expect_str_eq(narrow("[9223372036854775808]"), "[9.22337203685477581e+18]");
    cr_expect_str_eq(narrow("-18446744073709551616"), "-1.84467440737095516e+19");
    double most = 0;
    cr_assert_eq(sscanf(narrow("{\"a\":1e400,\"b\":2}"), "{\"a\":%lf,\"b\":2}", &most), 1);
    cr_expect_eq(most, 1e308);
    cr_assert_eq(sscanf(narrow("[-5.5E+309]"), "[%lf]", &most), 1);
    cr_expect_eq(most, -1e308);
}

Test(json_narrow, gives_texts_that_cannot_be_a_nul_and_names_the_replacement)
{
    cr_expect_str_eq(narrow("{\"a\\u0000\":\"b\\u0000\"}"), "{\"a\\ufffd\":\"b\\u0000\"}");
    cr_expect_str_eq(narrow("{\"\\ud800\" :\"\\uDBFFx\"}"), "{\"\\ufffd\" :\"\\u0000x\"}");
    cr_expect_str_eq(
        narrow("[\"\\udc00\\ud83d\\ude00\\ud83d\"]"), "[\"\\u0000\\ud83d\\ude00\\u0000\"]");
    cr_expect_str_eq(narrow("\"\\ud83d\\u0041\\\\ud800\""), "\"\\u0000\\u0041\\\\ud800\"");
}

Test(json_narrow, makes_no_json_of_what_is_none)
{
    static const char *const same[] = {"[099999999999999999999]", "[1e999e]", "[1.e999]", "[-]",
        "[1e]", "[99999999999999999999-1]", "[.5e999]", "\"\\u00", "\"\\", "\"", "[1e+]", "{\"a",
        "[9e999.1]"};
    for (size_t i = 0; i < HL_ARRAY_LEN(same); i++)
        cr_expect_str_eq(narrow(same[i]), same[i]);
}
