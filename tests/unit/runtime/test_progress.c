/* test_progress.c - what a function says of how far it is: before its answer, the newest value, seldom,
 * and to whoever reads. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "core/progress.h"
#include "house.h"

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

TestSuite(progress, .init = house_prepare, .fini = house_close, .timeout = 180);

#define INTERIM(value) "HTTP/1.1 103 Early Hints\r\nX-Run-Progress: " value "\r\n\r\n"

static unsigned count_interim(const char *text)
{
    unsigned count = 0;
    while ((text = strstr(text, "HTTP/1.1 103 ")) != NULL) {
        text++;
        count++;
    }
    return count;
}

/* Reads until that many interim responses have come. */
static void read_interim(int fd, unsigned count)
{
    for (unsigned seen = 0; seen < count;)
        seen += count_interim(caller_read_until(fd, "\r\n\r\n"));
}

Test(progress, goes_out_while_the_function_runs)
{
    house_open();
    int fd = caller_open();
    for (unsigned nth = 1; nth <= 2; nth++) { /* the same connection, and no pause between them */
        caller_post(fd, "/tell", "", "{\"values\":[{\"step\": \"\xc3\xa9\"}]}");
        const char *got = caller_read_until(fd, "\r\n\r\n");
        cr_assert_str_eq(got, INTERIM("{\"step\":\"\\u00e9\"}"));
        house.let_go = nth;
        got = caller_read_until(fd, "}");
        cr_assert_eq(strncmp(got, "HTTP/1.1 200 OK\r\n", 17), 0, "%s", got);
    }
    close(fd);
}

Test(progress, that_is_superseded_does_not_go_out)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/tell", "", "{\"values\":[1,2,3,4,5,6,7,8,9]}");
    const char *got = caller_read_until(fd, INTERIM("9"));
    cr_assert_leq(count_interim(got), 2, "%s", got);
    close(fd);
}

Test(progress, goes_out_twice_a_second_at_most)
{
    house_open();
    int fd = caller_open();
    uint64_t begin = hl_clock_mono_ms();
    caller_post(fd, "/count", "", "{}");
    unsigned seen = 0;
    while (seen < 4)
        seen += count_interim(caller_read_until(fd, "\r\n\r\n"));
    /* one at once, and one because the loop's clock is a little behind */
    cr_assert_leq(seen, 2 + (hl_clock_mono_ms() - begin) / HL_PROGRESS_EVERY_MS);
    close(fd);
}

Test(progress, that_waits_goes_out_before_the_answer)
{
    house_open();
    house.let_go = UINT_MAX;
    for (int streams = 0; streams <= 1; streams++) {
        int fd = caller_open();
        caller_post(
            fd, "/tell", streams ? "Accept: text/event-stream\r\n" : "", "{\"values\":[1,2,3]}");
        const char *got = caller_read_until(fd, streams ? "\r\n0\r\n\r\n" : "{\"run\":1}");
        const char *newest = strstr(got, INTERIM("3"));
        cr_assert(newest, "%s", got);
        cr_assert(strstr(newest, INTERIM("3") "HTTP/1.1 200 OK\r\n"), "%s", got);
        close(fd);
    }
}

/* The function tells 1, rests for a millisecond and tells 2: both go out, unless the loop is late. */
static bool are_both_sent(int fd, unsigned nth)
{
    char mark[16];
    snprintf(mark, sizeof(mark), "{\"run\":%u}", nth);
    caller_send(
        fd, "POST /tell HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n{\"values\":[1,2]}");
    return count_interim(caller_read_until(fd, mark)) == 2;
}

Test(progress, is_not_held_up_by_the_call_before)
{
    house_open();
    house.let_go = UINT_MAX;
    int fd = caller_open();
    unsigned nth = 1;
    are_both_sent(fd, nth++);
    while (!are_both_sent(fd, nth++))
        cr_assert_lt(nth, 50, "the first value of a call always waits");
    close(fd);
}

Test(progress, ends_with_the_head_of_a_stream)
{
    house_open();
    house.told = HL_ERR_INVALID;
    house.let_go = UINT_MAX;
    int fd = caller_open();
    caller_post(fd, "/tell", "Accept: text/event-stream\r\n", "{\"values\":[]}");
    const char *got = caller_read_until(fd, "\r\n0\r\n\r\n");
    cr_assert(strstr(got, "\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"), "%s", got);
    cr_assert_eq(count_interim(got), 0, "%s", got);
    cr_assert_eq(house.told, HL_OK, "it is dropped, and that is no failure");
    close(fd);
}

Test(progress, is_not_for_callers_of_http_1_0)
{
    house_open();
    house.let_go = UINT_MAX;
    const char *got =
        caller_ask("POST /tell HTTP/1.0\r\nContent-Length: 14\r\n\r\n{\"values\":[1]}");
    cr_assert_eq(strncmp(got, "HTTP/1.1 200 OK\r\n", 17), 0, "%s", got);
    cr_assert_eq(count_interim(got), 0, "%s", got);
    cr_assert_eq(house.told, HL_OK);
}

Test(progress, has_a_longest_value)
{
    char body[HL_CALL_PROGRESS_MAX + 64];
    house_open();
    for (int surplus = 0; surplus <= 1; surplus++) {
        int fd = caller_open();
        snprintf(body, sizeof(body), "{\"values\":[%0*d]}", HL_CALL_PROGRESS_MAX + surplus, 0);
        memset(body + 12, 'x', (size_t)(HL_CALL_PROGRESS_MAX + surplus - 2));
        body[11] = body[11 + HL_CALL_PROGRESS_MAX + surplus - 1] = '"';
        caller_post(fd, "/tell", "", body);
        UNTIL(house.running == (unsigned)surplus + 1);
        cr_assert_eq(house.told, surplus ? HL_ERR_TOO_LARGE : HL_OK);
        house.let_go = (unsigned)surplus + 1;
        const char *got = caller_read_until(fd, "{\"run\":");
        cr_assert_eq(count_interim(got), surplus ? 0 : 1, "%s", got);
        close(fd);
    }
}

Test(progress, is_told_that_the_caller_has_gone)
{
    house_open();
    int fd = caller_open();
    caller_post(fd, "/count", "", "{}");
    read_interim(fd, 1);
    close(fd);
    UNTIL(house.gone == 1);
}

/* A unix socket tells what its reader has not read; of TCP it is what is not acknowledged. */
Test(progress, of_which_one_value_is_unread_waits_for_its_reader)
{
    char directory[] = "/tmp/hl-progress-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    snprintf(house.settings.socket, sizeof(house.settings.socket), "%s/f.sock", directory);
    house.settings.concurrency = 2;
    house_open();
    int slow = caller_open(), reader = caller_open(), next = caller_open();
    caller_post(slow, "/count", "", "{}");
    UNTIL(house.running == 1);
    caller_post(reader, "/count", "", "{}");
    read_interim(reader, 4);
    house.let_go = 1;
    caller_post(next, "/echo", "", "{}"); /* the thread that was the slow one's */
    caller_read_until(next, "{}");
    const char *got = caller_read_until(slow, "{\"run\":1}");
    cr_assert_eq(count_interim(got), 2, "the first, and one before the answer: %s", got);
    cr_assert_gt(atoi(strstr(strstr(got, "Progress: ") + 1, "Progress: ") + 10),
        atoi(strstr(got, "Progress: ") + 10), "%s", got);
    close(slow);
    close(reader);
    close(next);
    house_close();
    rmdir(directory);
}
