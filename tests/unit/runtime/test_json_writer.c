/* test_json_writer.c - JSON built piece by piece: what comes out is one value, or nothing. */
#include <criterion/criterion.h>
#include <math.h>

#include "c/json_writer.h"

static struct hl_json_writer w;
static struct hl_str out;

static void begin(void)
{
    hl_json_writer_init(&w, 4096);
}

static void end(void)
{
    hl_json_writer_fini(&w);
}

TestSuite(json_writer, .init = begin, .fini = end);

static void expect(const char *json)
{
    cr_assert(hl_json_writer_take(&w, &out), "wanted %s", json);
    cr_assert(hl_str_eq(out, hl_str_from(json)), "%.*s, wanted %s", HL_STR_ARG(out), json);
}

Test(json_writer, puts_commas_where_they_belong)
{
    hl_json_writer_open(&w, '{');
    hl_json_writer_key(&w, HL_STR("a"));
    hl_json_writer_open(&w, '[');
    hl_json_writer_put_integer(&w, INT64_MIN);
    hl_json_writer_put_null(&w);
    hl_json_writer_open(&w, '{');
    hl_json_writer_close(&w);
    hl_json_writer_close(&w);
    hl_json_writer_key(&w, HL_STR("b\"\n"));
    hl_json_writer_put_boolean(&w, true);
    hl_json_writer_key(&w, HL_STR(""));
    hl_json_writer_put_json(&w, HL_STR("[1,2]"));
    hl_json_writer_close(&w);
    expect("{\"a\":[-9223372036854775808,null,{}],\"b\\\"\\n\":true,\"\":[1,2]}");
    hl_json_writer_put_text(&w, (struct hl_str){"\0\x1b", 2}); /* and begins anew */
    expect("\"\\u0000\\u001b\"");
}

Test(json_writer, writes_the_shortest_number_that_reads_back)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0.1, "0.1"}, {-1.5, "-1.5"}, {1e300, "1e+300"}, {3, "3"},
        {1.0 / 3, "0.3333333333333333"}, {5e-324, "4.94065645841247e-324"}, {NAN, "null"},
        {INFINITY, "null"}, {-INFINITY, "null"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        hl_json_writer_put_real(&w, cases[i].number);
        expect(cases[i].text);
    }
}

Test(json_writer, gives_nothing_out_that_is_not_whole_or_not_in_order)
{
    cr_assert_not(hl_json_writer_take(&w, &out), "nothing was written");

    hl_json_writer_open(&w, '[');
    cr_assert_not(hl_json_writer_take(&w, &out), "a bracket stays open");

    hl_json_writer_put_null(&w);
    hl_json_writer_put_null(&w);
    cr_assert_not(hl_json_writer_take(&w, &out), "two values");

    hl_json_writer_open(&w, '{');
    hl_json_writer_put_null(&w);
    hl_json_writer_close(&w);
    cr_assert_not(hl_json_writer_take(&w, &out), "a member without a key");

    hl_json_writer_open(&w, '{');
    hl_json_writer_key(&w, HL_STR("a"));
    hl_json_writer_close(&w);
    cr_assert_not(hl_json_writer_take(&w, &out), "a key without a value");

    hl_json_writer_open(&w, '[');
    hl_json_writer_key(&w, HL_STR("a"));
    hl_json_writer_close(&w);
    cr_assert_not(hl_json_writer_take(&w, &out), "a key in an array");

    hl_json_writer_close(&w);
    cr_assert_not(hl_json_writer_take(&w, &out), "nothing was open");

    hl_json_writer_open(&w, '(');
    cr_assert_not(hl_json_writer_take(&w, &out), "no such bracket");

    hl_json_writer_put_text(&w, HL_STR("\xff"));
    cr_assert_not(hl_json_writer_take(&w, &out), "not UTF-8");

    for (int i = 0; i <= HL_JSON_MAX_DEPTH; i++)
        hl_json_writer_open(&w, '[');
    for (int i = 0; i <= HL_JSON_MAX_DEPTH; i++)
        hl_json_writer_close(&w);
    cr_assert_not(hl_json_writer_take(&w, &out), "too deep");

    static char text[4096];
    memset(text, 'x', sizeof(text));
    hl_json_writer_put_text(&w, (struct hl_str){text, sizeof(text)});
    cr_assert_not(hl_json_writer_take(&w, &out), "too long");

    hl_json_writer_put_null(&w);
    expect("null");
}
