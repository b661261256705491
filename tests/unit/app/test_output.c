/* test_output.c - the app's output as log lines, with pipes that the test writes into. */
#include "app/output.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "loop_fixture.h"

static struct hl_output output;
static struct hl_counter logged, dropped;
static int app[2] = {-1, -1}; /* the app's ends: stdout, stderr */
static int log_pipe[2];
static char log_text[1 << 20];
static size_t log_n;

static void open_pipes(void)
{
    int fds[2];
    for (int i = 0; i < 2; i++) {
        int ends[2];
        cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        fds[i] = ends[0];
        app[i] = ends[1];
    }
    cr_assert(hl_output_open(&output, fds));
}

static void start(void)
{
    cr_assert_eq(pipe2(log_pipe, O_CLOEXEC | O_NONBLOCK), 0);
    dup2(log_pipe[1], STDERR_FILENO);
    hl_log_setup(HL_LOG_INFO, HL_LOG_JSON);
    loop_begin();
    hl_output_init(&output, &loop, &wheel, &logged, &dropped);
    open_pipes();
}

static void end(void)
{
    hl_output_close(&output);
    loop_end();
}

TestSuite(output, .init = start, .fini = end, .timeout = 180);

static void read_log(void)
{
    ssize_t n = read(log_pipe[0], log_text + log_n, sizeof(log_text) - 1 - log_n);
    log_n += n > 0 ? (size_t)n : 0;
    log_text[log_n] = '\0';
}

static bool has_logged(const char *part)
{
    read_log();
    return strstr(log_text, part) != NULL;
}

static void say(int stream, const char *text)
{
    cr_assert_eq(write(app[stream], text, strlen(text)), (ssize_t)strlen(text));
}

Test(output, logs_each_line_with_its_stream)
{
    say(0, "one\ntwo\r\n\n");
    say(1, "10%\r20%\r");
    UNTIL(has_logged("\"stream\":\"stdout\",\"line\":\"one\"}\n"));
    UNTIL(has_logged("\"stream\":\"stdout\",\"line\":\"two\"}\n"));
    UNTIL(has_logged("\"stream\":\"stderr\",\"line\":\"20%\"}\n"));
    cr_assert_eq(hl_counter_get(&logged), 4, "empty lines are none");
}

Test(output, puts_a_line_together_from_its_pieces)
{
    say(0, "be");
    loop_turns(5);
    cr_assert_not(has_logged("be"));
    say(0, "ginning\nrest");
    UNTIL(has_logged("\"line\":\"beginning\""));
    hl_output_finish(&output);
    cr_assert(has_logged("\"line\":\"rest\""), "a last line without an end is one too");
}

Test(output, cuts_a_long_line_and_goes_on_behind_it)
{
    char piece[1024];
    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 40; i++)
        cr_assert_eq(write(app[0], piece, sizeof(piece)), (ssize_t)sizeof(piece));
    say(0, "\nnext\n");
    UNTIL(has_logged("\"line\":\"next\""));
    cr_assert(has_logged("xxx\xe2\x80\xa6\"}\n"));
    cr_assert_eq(hl_counter_get(&logged), 2);
}

Test(output, takes_what_was_written_before_the_end)
{
    for (int i = 0; i < 1000; i++)
        say(0, "last words\n");
    close(app[0]);
    hl_output_finish(&output);
    cr_assert_gt(hl_counter_get(&logged), 100);
    open_pipes();
    say(0, "of the next process\n");
    UNTIL(has_logged("of the next process"));
}

Test(output, drops_and_counts_lines_beyond_its_rate)
{
    unsigned written = 0;
    char lines[2000];
    for (int i = 0; i < 1000; i++)
        memcpy(lines + 2 * i, "x\n", 2);
    while (written < 3 * HL_OUTPUT_LINES) {
        if (write(app[0], lines, sizeof(lines)) == (ssize_t)sizeof(lines))
            written += 1000;
        uv_run(&loop, UV_RUN_NOWAIT);
        log_n = 0;
        read_log();
    }
    UNTIL((log_n = 0, has_logged("lines were dropped")));
    UNTIL((log_n = 0, read_log(), hl_counter_get(&logged) + hl_counter_get(&dropped) == written));
    cr_assert_gt(hl_counter_get(&dropped), 0);
}

Test(output, does_not_hold_the_app_up_for_a_log_that_nobody_reads)
{
    unsigned written = 0;
    uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;
    char lines[4000];
    memset(lines, 'y', sizeof(lines));
    for (size_t i = 79; i < sizeof(lines); i += 80)
        lines[i] = '\n';
    while (written < 200) { /* of 4,000 bytes: both pipes hold 16 */
        cr_assert_lt(hl_clock_mono_ms(), give_up);
        if (write(app[0], lines, sizeof(lines)) == (ssize_t)sizeof(lines))
            written++;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    cr_assert_gt(write(STDERR_FILENO, lines, sizeof(lines)), 0, "there is room for our own lines");
}
