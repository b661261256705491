#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/body_check.h"

static enum hl_body_kind kind_in_steps(struct hl_str text, bool expects_json, size_t step)
{
    struct hl_body_check c;
    hl_body_check_init(&c, expects_json);
    for (size_t at = 0; at < text.n; at += step)
        hl_body_check_feed(&c, text.p + at, text.n - at < step ? text.n - at : step);
    cr_assert_eq(c.size, text.n);

    char escaped[6 * 128];
    cr_assert(text.n <= 128);
    cr_assert_eq(c.escaped, hl_json_escape(escaped, text.p, text.n), "%.*s", HL_STR_ARG(text));
    return hl_body_check_end(&c);
}

Test(body_check, tells_json_text_and_binary_apart)
{
    const struct {
        struct hl_str text;
        bool expects_json;
        enum hl_body_kind kind;
    } cases[] = {
        {HL_STR("{\"a\":[1,2,\"a longer string than one block\"]}"), true, HL_BODY_JSON},
        {HL_STR("{\"a\":1}"), false, HL_BODY_TEXT},
        {HL_STR("{\"a\":1"), true, HL_BODY_TEXT},
        {HL_STR(""), true, HL_BODY_TEXT},
        {HL_STR(""), false, HL_BODY_TEXT},
        {HL_STR("plain"), true, HL_BODY_TEXT},
        {HL_STR("control\x01 and quote \" and \\ and\nmore"), false, HL_BODY_TEXT},
        {HL_STR("nul \0 is UTF-8"), false, HL_BODY_TEXT},
        {HL_STR("\xc3\xa4 0123456789abcdef \xf0\x9f\x98\x80"), false, HL_BODY_TEXT},
        {HL_STR("\"\xc3\xa4\""), true, HL_BODY_JSON},
        {HL_STR("\"\xc3\""), true, HL_BODY_BINARY},
        {HL_STR("0123456789abcdef0123\xc3"), false, HL_BODY_BINARY},
        {HL_STR("\xff\xd8\xff\xe0"), false, HL_BODY_BINARY},
        {HL_STR("\xed\xa0\x80"), false, HL_BODY_BINARY},
        {HL_STR("0123456789abcdef\x80 0123456789abcdef"), true, HL_BODY_BINARY},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        for (size_t step = 1; step <= cases[i].text.n + 1; step++)
            cr_assert_eq(kind_in_steps(cases[i].text, cases[i].expects_json, step), cases[i].kind,
                "case %zu by %zu", i, step);
}

Test(body_check, escapes_what_a_json_string_cannot_hold)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"plain text of some length, longer than a block",
            "plain text of some length, longer than a block"},
        {"\"\\/", "\\\"\\\\/"},
        {"\b\t\n\f\r", "\\b\\t\\n\\f\\r"},
        {"\x01\x0b\x1f\x7f", "\\u0001\\u000b\\u001f\x7f"},
        {"0123456789abcdef\n0123456789abcdef\x1b\xc3\xa4",
            "0123456789abcdef\\n0123456789abcdef\\u001b\xc3\xa4"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char out[512];
        size_t n = hl_json_escape(out, cases[i].in, strlen(cases[i].in));
        cr_assert(
            hl_str_eq((struct hl_str){out, n}, hl_str_from(cases[i].out)), "%.*s", (int)n, out);
    }
}

Test(body_check, what_it_escapes_is_a_json_string)
{
    for (unsigned c = 0; c < 0x80; c++) {
        struct hl_json_check json;
        char byte = (char)c, out[8] = "\"";
        size_t n = 1 + hl_json_escape(out + 1, &byte, 1);
        out[n++] = '"';
        hl_json_check_init(&json);
        cr_assert(hl_json_check_feed(&json, out, n) && hl_json_check_end(&json), "%02x", c);
    }
}

Test(body_check, knows_the_types_that_are_json)
{
    static const struct {
        const char *type;
        bool is_json;
    } cases[] = {
        {"application/json", true},
        {"Application/JSON; charset=utf-8", true},
        {"application/json ;x", true},
        {"application/problem+json", true},
        {"application/vnd.api+JSON;v=1", true},
        {"text/json", false},
        {"application/jsonl", false},
        {"application/x-json", false},
        {"application/+json", false},
        {"+json", false},
        {"/+json", false},
        {"/a+json", false},
        {"text/plain; a=application/json", false},
        {"", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(hl_is_json_type(cases[i].type, strlen(cases[i].type)), cases[i].is_json, "%s",
            cases[i].type);
}
