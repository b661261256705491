#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/id.h"
#include "base/log.h"

static char out[8192];
static int reading_end;

/* From here on stderr is a pipe that read_line reads. Each test is a process of its own. */
static void capture(enum hl_log_format format)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    reading_end = ends[0];
    hl_log_setup(HL_LOG_INFO, format);
}

static const char *read_line(void)
{
    ssize_t n = read(reading_end, out, sizeof(out) - 1);
    out[n > 0 ? n : 0] = '\0';
    return out;
}

/* What follows the time. */
static const char *read_rest(void)
{
    const char *line = read_line();
    const char *z = strstr(line, "Z");
    cr_assert_not_null(z, "%s", line);
    return z + 1;
}

static const struct hl_id some_id = {{1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10, 11, 12, 13, 14, 15, 16}};

Test(log, writes_a_json_object_a_line)
{
    capture(HL_LOG_JSON);
    HL_LOG(WARN, "run finished", HL_LOG_ID("run_id", &some_id), HL_LOG_TEXT("state", "failure"),
        HL_LOG_INT("status", -5));
    cr_assert_str_eq(read_rest(),
        "\",\"level\":\"warn\",\"msg\":\"run finished\",\"run_id\":\"01020304-0506-7008-800a-"
        "0b0c0d0e0f10\",\"state\":\"failure\",\"status\":-5}\n");
    cr_assert_eq(strncmp(out, "{\"time\":\"20", 11), 0);
}

Test(log, goes_by_the_clock_of_the_machine_whatever_is_followed)
{
    int64_t said_ms, machine_ms = hl_clock_machine_ms();
    capture(HL_LOG_PLAIN);
    hl_clock_follow(machine_ms + 86400000, hl_clock_mono_ms());
    HL_LOG(INFO, "a line");
    read_line();
    cr_assert(hl_clock_parse((struct hl_str){out, HL_CLOCK_TEXT - 1}, &said_ms), "%s", out);
    cr_assert_leq(llabs(said_ms - machine_ms), 10000);
}

Test(log, writes_words_bare_and_other_values_quoted_in_plain_text)
{
    capture(HL_LOG_PLAIN);
    HL_LOG(INFO, "started", HL_LOG_TEXT("a", "x/y:1"), HL_LOG_TEXT("b", "two words"),
        HL_LOG_TEXT("c", ""), HL_LOG_TEXT("d", "k=v"), HL_LOG_INT("n", 7));
    cr_assert_str_eq(read_rest(), " INFO started a=x/y:1 b=\"two words\" c=\"\" d=\"k=v\" n=7\n");
}

Test(log, writes_a_line_without_fields)
{
    capture(HL_LOG_JSON);
    HL_LOG(ERROR, "bare");
    cr_assert_str_eq(read_rest(), "\",\"level\":\"error\",\"msg\":\"bare\"}\n");
}

Test(log, leaves_out_what_is_below_the_level)
{
    capture(HL_LOG_PLAIN);
    HL_LOG(DEBUG, "hidden");
    cr_assert_str_empty(read_line());
    cr_assert_not(hl_log_is_on(HL_LOG_DEBUG));
    cr_assert(hl_log_is_on(HL_LOG_INFO));
}

static const struct {
    const char *value, *escaped;
} escapes[] = {
    {"a\nb\rc\td", "a\\nb\\rc\\td"}, {"\"quoted\" \\", "\\\"quoted\\\" \\\\"},
    {"\x1b[31m", "\\u001b[31m"}, {"\x7f", "\\u007f"},
    {"\xc2\x9b", "\\u009b"},     /* CSI as one C1 character */
    {"\xe2\x80\xae", "\\u202e"}, /* right-to-left override */
    {"\xe2\x80\xa8", "\\u2028"}, /* line separator */
    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"}, {"\xf0\x9f\x99\x82", "\xf0\x9f\x99\x82"},
    {"\xff", "\\ufffd"}, {"a\xc3", "a\\ufffd"}, /* cut short */
    {"\xc0\xaf", "\\ufffd\\ufffd"},             /* overlong */
    {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},  /* a surrogate */
};

static void check_escapes(enum hl_log_format format, const char *frame)
{
    capture(format);
    for (size_t i = 0; i < HL_ARRAY_LEN(escapes); i++) {
        char expected[256];
        HL_LOG(INFO, "m", HL_LOG_TEXT("v", escapes[i].value));
        snprintf(expected, sizeof(expected), frame, escapes[i].escaped);
        cr_assert_str_eq(read_rest(), expected);
    }
}

Test(log, escapes_what_a_peer_sent_in_json)
{
    check_escapes(HL_LOG_JSON, "\",\"level\":\"info\",\"msg\":\"m\",\"v\":\"%s\"}\n");
}

Test(log, escapes_what_a_peer_sent_in_plain_text)
{
    check_escapes(HL_LOG_PLAIN, " INFO m v=\"%s\"\n");
}

Test(log, escapes_nul)
{
    capture(HL_LOG_PLAIN);
    HL_LOG(INFO, "m", HL_LOG_STR("v", HL_STR("a\0b")));
    cr_assert_str_eq(read_rest(), " INFO m v=\"a\\u0000b\"\n");
}

/* Every length around the cap, so that each byte of the tail is the one at which the value is cut.
 */
Test(log, cuts_a_long_line_and_keeps_it_whole)
{
    static char value[5000];
    memset(value, 'x', sizeof(value));
    capture(HL_LOG_JSON);
    for (size_t n = 3900; n < 4200; n++) {
        HL_LOG(INFO, "m", HL_LOG_STR("v", ((struct hl_str){value, n})), HL_LOG_INT("i", 123456789),
            HL_LOG_ID("run_id", &some_id), HL_LOG_TEXT("w", "tail tail"), HL_LOG_INT("j", 1));
        const char *line = read_line();
        size_t length = strlen(line);
        cr_assert_leq(length, 4096);
        cr_assert_str_eq(line + length - 2, "}\n");
        cr_assert(line[length - 3] == '"' || (line[length - 3] >= '0' && line[length - 3] <= '9'));
        size_t quotes = 0;
        for (const char *p = line; *p; p++)
            quotes += *p == '"';
        cr_assert_eq(quotes % 2, 0, "value of %zu bytes: %s", n, line + 3900);
    }
}

Test(log, cuts_a_value_between_characters)
{
    static char value[6000];
    for (size_t i = 0; i < sizeof(value); i += 2)
        memcpy(value + i, "\xc3\xbc", 2);
    capture(HL_LOG_JSON);
    for (size_t skip = 0; skip < 2; skip++) {
        HL_LOG(INFO, skip ? "m" : "mm", HL_LOG_STR("v", ((struct hl_str){value, sizeof(value)})));
        const char *line = read_line();
        cr_assert_str_eq(line + strlen(line) - 8, "\xc3\xbc\xe2\x80\xa6\"}\n");
    }
}
