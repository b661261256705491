/* test_line.c - what people are shown of the lines that hookline, a function host or another app writes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "dev/line.h"

static const char *shown(enum hl_dev_speaker speaker, const char *line)
{
    static char text[4096];
    struct hl_buf out;
    hl_buf_init(&out, 0);
    hl_dev_line_read(speaker, hl_str_from(line), &out);
    cr_assert_lt(out.n, sizeof(text));
    memcpy(text, out.n ? out.p : "", out.n);
    text[out.n] = '\0';
    hl_buf_fini(&out);
    return text;
}

#define LINE(rest) "{\"time\":\"2026-11-27T09:27:39.198Z\",\"level\":\"info\",\"msg\":" rest "}"

Test(dev_line, a_call_is_one_line)
{
    const char *text = shown(HL_DEV_HOOKLINE,
        LINE("\"call\",\"client\":\"127.0.0.1\",\"method\":\"POST\",\"status\":200,\"bytes\":7,"
             "\"ms\":12,"
             "\"run_id\":\"01a2\",\"mode\":\"sync\",\"path\":\"/v4/dev/app/run\\u001b[2J\""));
    cr_expect_str_eq(text + 8, " POST /v4/dev/app/run\\x1b[2J 200 12 ms 01a2 sync\n");
    cr_expect(text[2] == ':' && text[5] == ':');
}

Test(dev_line, what_drives_a_terminal_is_shown_byte_by_byte)
{
    cr_expect_str_eq(
        shown(HL_DEV_HOST, LINE("\"raised\",\"error\":\"a\\u009b2J\\u007fä\\u202eb\\nc\"")),
        "raised error=a\\xc2\\x9b2J\\x7fä\\xe2\\x80\\xaeb\\x0ac\n");
}

Test(dev_line, what_a_function_prints_and_raises_stands_as_it_is)
{
    cr_expect_str_eq(shown(HL_DEV_HOST, LINE("\"  printed \\u001b[1m\",\"stream\":\"stdout\"")),
        "  printed \x1b[1m\n");
    cr_expect_str_eq(
        shown(HL_DEV_HOST, LINE("\"run() raised KeyError\",\"run_id\":\"01a2\",\"error\":\"x\","
                                "\"traceback\":\"Traceback:\\n  File x\\nKeyError\"")),
        "run() raised KeyError (run 01a2)\nTraceback:\n  File x\nKeyError\n");
}

Test(dev_line, other_lines_are_words_and_fields)
{
    cr_expect_str_eq(shown(HL_DEV_HOOKLINE, LINE("\"signal\",\"name\":\"Terminated\",\"n\":[1]")),
        "signal name=Terminated n=[1]\n");
    cr_expect_str_eq(
        shown(HL_DEV_HOST, "{\"level\":\"warn\",\"msg\":\"careful\"}"), "warning: careful\n");
}

Test(dev_line, devs_own_choices_are_not_warned_of)
{
    cr_expect_str_eq(shown(HL_DEV_HOOKLINE, LINE("\"HOOKLINE_AUTH=none: anyone who …\"")), "");
    cr_expect_str_eq(shown(HL_DEV_HOOKLINE, LINE("\"store: in memory: …\"")), "");
    cr_expect_str_eq(shown(HL_DEV_HOST, LINE("\"stopped\"")), "");
}

Test(dev_line, what_is_no_line_of_ours_stands_as_it_came)
{
    static const char *const lines[] = {
        "", "plain", "{\"a\":1}", "{\"msg\":1,\"level\":\"info\"}", "{\"msg\":"};
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++) {
        char want[64];
        snprintf(want, sizeof(want), "%s\n", lines[i]);
        cr_expect_str_eq(shown(HL_DEV_HOST, lines[i]), want);
    }
    cr_expect_str_eq(shown(HL_DEV_STRANGER, LINE("\"mine\"")), LINE("\"mine\"") "\n");
}
