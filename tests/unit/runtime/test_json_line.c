/* test_json_line.c - JSON as a header field's value: on one line, in ASCII, or not at all. */
#include <criterion/criterion.h>

#include "base/str.h"
#include "core/json_line.h"

#define CAP 64

static void expect(struct hl_str json, const char *line)
{
    char out[CAP];
    size_t n = hl_json_line_write(out, sizeof(out), json);
    cr_expect(hl_str_eq((struct hl_str){out, n}, hl_str_from(line)), "%.*s became %.*s, wanted %s",
        HL_STR_ARG(json), (int)n, out, line);
}

Test(json_line, leaves_out_white_space_between_tokens_alone)
{
    expect(HL_STR(" {\r\n\t\"a b\" : [ 1 , \"c  d\" ]\n} "), "{\"a b\":[1,\"c  d\"]}");
    expect(HL_STR("[\"a\\\" b\", \"\\\\\", \" c\"]"), "[\"a\\\" b\",\"\\\\\",\" c\"]");
    expect(HL_STR("\ntrue\n"), "true");
}

Test(json_line, escapes_what_is_not_printable_ascii)
{
    expect(HL_STR("\"\xc3\xa9\""), "\"\\u00e9\"");
    expect(HL_STR("\"\xe2\x82\xac\xef\xbf\xbf\""), "\"\\u20ac\\uffff\"");
    expect(HL_STR("\"\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\""), "\"\\ud83d\\ude00\\udbff\\udfff\"");
    expect(HL_STR("\"\x7f\""), "\"\\u007f\"");
    expect(HL_STR("\"\\n\\u00e9\""), "\"\\n\\u00e9\"");
}

Test(json_line, is_a_field_value_whatever_it_was)
{
    expect(HL_STR("\"\r\nX: 1\""), "\"\\u000d\\u000aX: 1\"");
    expect(HL_STR("\"\xff\xc3\0\""), "\"\\ufffd\\ufffd\\u0000\"");
}

Test(json_line, is_whole_or_not_there)
{
    char out[CAP];
    static const char fits[] = "\"12345678\"", grows[] = "\"12345\xc3\xa9\"";
    cr_expect_eq(hl_json_line_write(out, 10, HL_STR(fits)), 10);
    cr_expect_eq(hl_json_line_write(out, 9, HL_STR(fits)), 0);
    cr_expect_eq(hl_json_line_write(out, 13, HL_STR(grows)), 13);
    cr_expect_eq(hl_json_line_write(out, 12, HL_STR(grows)), 0);
    cr_expect_eq(hl_json_line_write(out, 1, HL_STR("  1  ")), 1);
    cr_expect_eq(hl_json_line_write(out, CAP, HL_STR("")), 0);
}
