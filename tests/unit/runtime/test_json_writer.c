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
    cr_assert_null(hl_json_writer_take(&w, &out), "wanted %s", json);
    cr_assert(hl_str_eq(out, hl_str_from(json)), "%.*s, wanted %s", HL_STR_ARG(out), json);
}

static void expect_fault(const char *what, const char *fault)
{
    const char *found = hl_json_writer_take(&w, &out);
    cr_assert(found && strstr(found, fault), "%s: %s", what, found ? found : "no fault");
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

Test(json_writer, keeps_the_point_of_a_real_that_is_repeated)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{1, "1.0"}, {-0.0, "-0.0"}, {0.1, "0.1"}, {1e22, "1e+22"}, {2.5, "2.5"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        hl_json_writer_put_pointed_real(&w, cases[i].number);
        expect(cases[i].text);
    }
}

Test(json_writer, gives_nothing_out_that_is_not_whole_or_not_in_order)
{
    expect_fault("nothing was written", "not written");

    hl_json_writer_open(&w, '[');
    expect_fault("a bracket stays open", "still open");

    hl_json_writer_put_null(&w);
    hl_json_writer_put_null(&w);
    expect_fault("two values", "out of order");

    hl_json_writer_open(&w, '{');
    hl_json_writer_put_null(&w);
    hl_json_writer_close(&w);
    expect_fault("a member without a key", "out of order");

    hl_json_writer_open(&w, '{');
    hl_json_writer_key(&w, HL_STR("a"));
    hl_json_writer_close(&w);
    expect_fault("a key without a value", "out of order");

    hl_json_writer_open(&w, '[');
    hl_json_writer_key(&w, HL_STR("a"));
    hl_json_writer_close(&w);
    expect_fault("a key in an array", "out of order");

    hl_json_writer_close(&w);
    expect_fault("nothing was open", "out of order");

    hl_json_writer_open(&w, '(');
    expect_fault("no such bracket", "out of order");

    hl_json_writer_put_text(&w, HL_STR("\xff"));
    expect_fault("not UTF-8", "not UTF-8");

    for (int i = 0; i <= HL_JSON_MAX_DEPTH; i++)
        hl_json_writer_open(&w, '[');
    for (int i = 0; i <= HL_JSON_MAX_DEPTH; i++)
        hl_json_writer_close(&w);
    expect_fault("too deep", "deeper than 512");

    static char text[4096];
    memset(text, 'x', sizeof(text));
    hl_json_writer_put_text(&w, (struct hl_str){text, sizeof(text)});
    expect_fault("too long", "HOOKLINE_FUNCTION_MAX_BODY");

    hl_json_writer_put_null(&w);
    expect("null");
}
