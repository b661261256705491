#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/str.h"
#include "http/json_check.h"

static bool is_valid_whole(struct hl_str text)
{
    struct hl_json_check c;
    hl_json_check_init(&c);
    return hl_json_check_feed(&c, text.p, text.n) && hl_json_check_end(&c);
}

static bool is_valid_bytewise(struct hl_str text)
{
    struct hl_json_check c;
    bool is_good = true;
    hl_json_check_init(&c);
    for (size_t i = 0; i < text.n; i++) {
        bool was_good = is_good;
        is_good = hl_json_check_feed(&c, text.p + i, 1);
        cr_assert(was_good || !is_good, "%.*s came back at %zu", HL_STR_ARG(text), i);
    }
    return is_good && hl_json_check_end(&c);
}

Test(json_check, accepts_every_form_of_rfc_8259)
{
    const struct hl_str good[] = {HL_STR("0"), HL_STR("-0"), HL_STR("1"), HL_STR("-12"),
        HL_STR("120"), HL_STR("0.0"), HL_STR("1.50"), HL_STR("-0.1e1"), HL_STR("1e5"),
        HL_STR("1E+05"), HL_STR("0e-0"), HL_STR("123456789012345678901234567890"),
        HL_STR("1e999999"), HL_STR("true"), HL_STR("false"), HL_STR("null"), HL_STR("\"\""),
        HL_STR("\"a\""), HL_STR(" \t\r\n1 \t\r\n"), HL_STR("[]"), HL_STR("[ ]"), HL_STR("{}"),
        HL_STR("{ }"), HL_STR("[1]"), HL_STR("[1,2 , 3]"), HL_STR("[[],{},[{}]]"),
        HL_STR("{\"a\":1}"), HL_STR("{\"a\":1,\"a\":2}"), HL_STR("{\"\":null}"),
        HL_STR("{ \"a\" : [ 1 , { \"b\" : true } ] , \"c\" : -0 }"),
        HL_STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uABCD\""), HL_STR("\"\\ud800\""),
        HL_STR("\"\\udc00\\ud800\""), HL_STR("\"\\u0000\""), HL_STR("\"\x7f\""),
        HL_STR("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""), HL_STR("\"\xed\x9f\xbf\xee\x80\x80\""),
        HL_STR("\"\xf4\x8f\xbf\xbf\xef\xbf\xbf\""), HL_STR("\"\xef\xbb\xbf\""),
        HL_STR("{\"\xc3\xa4\":\"a string of more than sixteen bytes \xc3\xa4 and then some\"}"),
        HL_STR("[0,-1,2.5,3e1]"), HL_STR("[\"a\",\"b\"]"), HL_STR("[true,false,null]")};
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++) {
        cr_assert(is_valid_whole(good[i]), "%.*s", HL_STR_ARG(good[i]));
        cr_assert(is_valid_bytewise(good[i]), "%.*s", HL_STR_ARG(good[i]));
    }
}

Test(json_check, refuses_everything_else)
{
    const struct hl_str bad[] = {HL_STR(""), HL_STR(" "), HL_STR("-"), HL_STR("+1"), HL_STR("01"),
        HL_STR("-01"), HL_STR("00"), HL_STR("1."), HL_STR(".1"), HL_STR("1.e1"), HL_STR("1e"),
        HL_STR("1e+"), HL_STR("1e1.5"), HL_STR("1e1e1"), HL_STR("1.1.1"), HL_STR("0x1"),
        HL_STR("1a"), HL_STR("1 2"), HL_STR("--1"), HL_STR("-a"), HL_STR("NaN"), HL_STR("Infinity"),
        HL_STR("-Infinity"), HL_STR("tru"), HL_STR("truee"), HL_STR("True"), HL_STR("nul"),
        HL_STR("nulll"), HL_STR("falsé"), HL_STR("undefined"), HL_STR("\""), HL_STR("\"a"),
        HL_STR("a\""), HL_STR("'a'"), HL_STR("\"a\"b"), HL_STR("\"\"\""), HL_STR("\"\\"),
        HL_STR("\"\\\""), HL_STR("\"\\x\""), HL_STR("\"\\0\""), HL_STR("\"\\U0000\""),
        HL_STR("\"\\u\""), HL_STR("\"\\u12\""), HL_STR("\"\\u123\""), HL_STR("\"\\u12g4\""),
        HL_STR("\"\n\""), HL_STR("\"\t\""), HL_STR("\"\0\""), HL_STR("\"\x1f\""),
        HL_STR("\"a string of more than sixteen bytes\n\""), HL_STR("["), HL_STR("]"), HL_STR("[1"),
        HL_STR("[1,"), HL_STR("[1,]"), HL_STR("[,1]"), HL_STR("[,]"), HL_STR("[1 2]"),
        HL_STR("[1,,2]"), HL_STR("[1}"), HL_STR("[]]"), HL_STR("[]["), HL_STR("{"), HL_STR("}"),
        HL_STR("{]"), HL_STR("{\"a\"}"), HL_STR("{\"a\":}"), HL_STR("{\"a\":1"),
        HL_STR("{\"a\":1,}"), HL_STR("{,\"a\":1}"), HL_STR("{\"a\" 1}"), HL_STR("{\"a\"::1}"),
        HL_STR("{a:1}"), HL_STR("{1:1}"), HL_STR("{null:1}"), HL_STR("{\"a\":1 \"b\":2}"),
        HL_STR("{\"a\":1]"), HL_STR("{\"a\":1,2}"), HL_STR("{[]:1}"), HL_STR("[\"a\":1]"),
        HL_STR("{}{}"), HL_STR("1,"), HL_STR(",1"), HL_STR(":"), HL_STR("// a\n1"),
        HL_STR("/* a */ 1"),
        HL_STR("\xef\xbb\xbf"
               "1"),
        HL_STR("\f1"), HL_STR("\v1"), HL_STR("1\0"),
        HL_STR("\xc2\xa0"
               "1"),
        HL_STR("[\xa0]"), HL_STR("\"\x80\""), HL_STR("\"\xc3\""), HL_STR("\"\xc3\"\xa4"),
        HL_STR("\"\xc0\x80\""), HL_STR("\"\xc1\xbf\""), HL_STR("\"\xe0\x80\x80\""),
        HL_STR("\"\xe0\x9f\xbf\""), HL_STR("\"\xed\xa0\x80\""), HL_STR("\"\xf0\x8f\xbf\xbf\""),
        HL_STR("\"\xf4\x90\x80\x80\""), HL_STR("\"\xf5\x80\x80\x80\""), HL_STR("\"\xe2\x82\""),
        HL_STR("\"\xe2\\u0041\""), HL_STR("\"\xff\"")};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        cr_assert_not(is_valid_whole(bad[i]), "%.*s", HL_STR_ARG(bad[i]));
        cr_assert_not(is_valid_bytewise(bad[i]), "%.*s", HL_STR_ARG(bad[i]));
    }
}

/* `open` and `close` repeated: [[[…]]] or {"a":{"a":…}}. */
static bool is_valid_at_depth(unsigned depth, const char *open, const char *close, const char *in)
{
    struct hl_json_check c;
    bool is_good = true;
    hl_json_check_init(&c);
    for (unsigned i = 0; i < depth; i++)
        is_good = hl_json_check_feed(&c, open, strlen(open));
    is_good = hl_json_check_feed(&c, in, strlen(in)) && is_good;
    for (unsigned i = 0; i < depth; i++)
        is_good = hl_json_check_feed(&c, close, strlen(close));
    return is_good && hl_json_check_end(&c);
}

Test(json_check, has_a_limit_of_512_levels)
{
    cr_assert(is_valid_at_depth(512, "[", "]", ""));
    cr_assert_not(is_valid_at_depth(513, "[", "]", ""));
    cr_assert(is_valid_at_depth(512, "{\"a\":", "}", "1"));
    cr_assert_not(is_valid_at_depth(513, "{\"a\":", "}", "1"));
    cr_assert(is_valid_at_depth(256, "[{\"a\":", "}]", "1"));
    cr_assert_not(is_valid_at_depth(256, "[{\"a\":", "}]", "[]"));
}

Test(json_check, remembers_each_level)
{
    char open[600] = "", close[600] = "";
    for (unsigned i = 0; i < 140; i++)
        strcat(open, i % 3 ? "[" : "{\"\":");
    for (unsigned i = 140; i-- > 0;)
        strcat(close, i % 3 ? "]" : "}");
    for (size_t wrong = 0; wrong <= strlen(close); wrong++) {
        char text[1200];
        size_t n = (size_t)(stpcpy(stpcpy(stpcpy(text, open), "1"), close) - text);
        char *at = text + n - strlen(close) + wrong;
        if (wrong < strlen(close))
            *at = *at == ']' ? '}' : ']';
        cr_assert_eq(
            is_valid_whole((struct hl_str){text, n}), wrong == strlen(close), "%zu", wrong);
    }
}
