/* test_record.c - log records in the app's output: what they become, and what is none. */
#include "app/record.h"
#include "base/compiler.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define RUN "01a201a9-d22b-76d8-ad75-f37afcb16d58"

static struct hl_record record;

static bool reads(const char *line)
{
    return hl_record_read(&record, "stderr", hl_str_from(line));
}

static const struct hl_log_field *field(const char *name)
{
    const struct hl_log_field *found = NULL;
    for (const struct hl_log_field *f = record.fields; f->name; f++) {
        if (strcmp(f->name, name) == 0) {
            cr_assert_null(found, "%s is there twice", name);
            found = f;
        }
    }
    return found;
}

static void expect(const char *name, const char *text)
{
    const struct hl_log_field *f = field(name);
    cr_assert(f && f->kind == HL_LOG_KIND_STR, "%s", name);
    cr_assert(hl_str_eq(f->str, hl_str_from(text)), "%s: %.*s", name, HL_STR_ARG(f->str));
}

Test(record, becomes_fields_of_our_line)
{
    cr_assert(
        reads("{\"time\":\"2026-11-22T00:00:00.000Z\",\"level\":\"error\",\"msg\":\"run() raised "
              "\\u00e4\","
              "\"n\":-12,\"f\":1.5,\"deep\":{\"a\":[1,\"}\"]},\"off\":false,\"run_id\":\"" RUN "\","
              "\"traceback\":\"one\\n  two\\ud83d\\ude00\\ud800\"}"));
    cr_assert_eq(record.level, HL_LOG_ERROR);
    cr_assert_str_eq(record.fields[0].name, "stream");
    expect("stream", "stderr");
    expect("line", "run() raised \xc3\xa4");
    cr_assert_eq(field("run_id")->kind, HL_LOG_KIND_ID);
    cr_assert_eq(field("n")->num, -12);
    expect("f", "1.5");
    expect("deep", "{\"a\":[1,\"}\"]}");
    expect("off", "false");
    expect("traceback", "one\n  two\xf0\x9f\x98\x80\xef\xbf\xbd");
    cr_assert_null(field("time"));
    cr_assert_null(field("level"));
}

Test(record, takes_the_place_of_nothing_that_is_ours)
{
    cr_assert(reads(
        "{\"level\":\"WARNING\",\"message\":\"m\",\"line\":\"l\",\"stream\":\"stdin\",\"time\":1,"
        "\"run_id\":\"x\",\"a\\\"b\":1,\"\":2,\"k\":1,\"k\":2}"));
    cr_assert_eq(record.level, HL_LOG_WARN);
    expect("line", "m");
    expect("stream", "stderr");
    cr_assert_eq(field("k")->num, 1);
    cr_assert_eq(record.count, 3, "nothing else is there");
    cr_assert(reads("{\"level\":\"info\",\"msg\":\"printed\",\"stream\":\"stdout\"}"));
    expect("stream", "stdout");
}

Test(record, has_a_bounded_number_of_fields)
{
    char line[HL_LOG_LINE_MAX];
    int n = snprintf(line, sizeof(line), "{\"level\":\"info\",\"msg\":\"m\"");
    for (int i = 0; i < 100; i++)
        n += snprintf(line + n, sizeof(line) - (size_t)n, ",\"field%d\":%d", i, i);
    snprintf(line + n, sizeof(line) - (size_t)n, "}");
    cr_assert(reads(line));
    cr_assert_eq(record.count, HL_RECORD_FIELDS);
}

Test(record, is_read_as_far_as_it_goes_when_it_is_longer_than_a_line)
{
    static char line[3 * HL_LOG_LINE_MAX];
    int n = snprintf(line, sizeof(line), "{\"level\":\"error\",\"msg\":\"m\",\"traceback\":\"");
    memset(line + n, 'x', sizeof(line) - (size_t)n - 3);
    strcpy(line + sizeof(line) - 3, "\"}");
    for (size_t cut = HL_LOG_LINE_MAX; cut <= sizeof(line) - 1; cut += HL_LOG_LINE_MAX / 2) {
        cr_assert(hl_record_read(&record, "stderr", (struct hl_str){line, cut}));
        cr_assert_eq(field("traceback")->str.n, (size_t)(HL_LOG_LINE_MAX - n));
    }
    cr_assert_not(hl_record_read(&record, "stderr", (struct hl_str){line, HL_LOG_LINE_MAX - 1}),
        "a line that ends early is no record");
}

/* Whatever a line is cut at: as memory checkers see, nothing is read or written beyond it. */
Test(record, may_be_cut_anywhere)
{
    static const char tail[] =
        "\"a\\u00e4\":\"\\ud83d\\ude00\\n\",\"b\":[{\"c\":\"]\\\"\"}],\"d\":-1.5e3,\"e\":null}";
    for (size_t kept = 0; kept < sizeof(tail); kept++) {
        char line[HL_LOG_LINE_MAX];
        int n = snprintf(line, sizeof(line), "{\"level\":\"info\",\"msg\":\"");
        memset(line + n, 'x', sizeof(line) - (size_t)n);
        size_t at = sizeof(line) - kept;
        memcpy(line + at, tail, kept);
        memcpy(line + at - 2, "\",", 2);
        cr_assert(
            hl_record_read(&record, "stderr", (struct hl_str){line, sizeof(line)}), "%zu", kept);
    }
}

Test(record, is_nothing_else)
{
    static const char *const lines[] = {"", "{", "{}", "plain text", "[1]", "{\"level\":\"error\"}",
        "{\"msg\":\"m\"}", "{\"level\":\"loud\",\"msg\":\"m\"}", "{\"level\":30,\"msg\":\"m\"}",
        "{\"level\":\"info\",\"msg\":1}", "{\"level\":\"info\",\"msg\":\"m\"} more",
        "{\"level\":\"info\",\"msg\":\"m\"", "{\"level\":\"info\",\"msg\":\"m\",}",
        "{\"level\":\"info\",\"msg\":\"\xff\"}", "{\"a\":{\"level\":\"info\",\"msg\":\"m\"}}"};
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++)
        cr_assert_not(reads(lines[i]), "%s", lines[i]);
}
