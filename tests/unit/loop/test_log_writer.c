/* test_log_writer.c - the log's thread, with a stderr that the test reads, or does not. */
#include "loop/log_writer.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_sink.h"
#include "loop/thread.h"

#define PATIENCE_MS 60000
#define LOGGERS     3
#define LINES       10000 /* of each logger: more than ring and pipe hold */

static int reading_end = -1;
static char text[8 << 20];
static size_t text_n;

static void open_pipe(void)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    reading_end = ends[0];
    hl_log_setup(HL_LOG_INFO, HL_LOG_JSON);
}

static void start(void)
{
    open_pipe();
    cr_assert_eq(hl_log_writer_start(), 0);
}

TestSuite(log_writer, .init = start, .timeout = 180);

/* Another description of the same pipe, which does not wait. */
static void fill_pipe(void)
{
    char path[64], line[4096];
    memset(line, '#', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    snprintf(path, sizeof(path), "/proc/self/fd/%d", STDERR_FILENO);
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    while (write(fd, line, sizeof(line)) > 0)
        continue;
    close(fd);
}

static bool has_read(const char *part)
{
    struct pollfd readable = {.fd = reading_end, .events = POLLIN};
    poll(&readable, 1, 10);
    ssize_t n = read(reading_end, text + text_n, sizeof(text) - 1 - text_n);
    text_n += n > 0 ? (size_t)n : 0;
    text[text_n] = '\0';
    return strstr(text, part) != NULL;
}

#define UNTIL(claim)                                                                               \
    do {                                                                                           \
        uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;                                       \
        while (!(claim))                                                                           \
            cr_assert_lt(hl_clock_mono_ms(), give_up, "%s", "never: " #claim);                     \
    } while (0)

static void log_lines(void *arg)
{
    const char *name = arg;
    for (int i = 0; i < LINES; i++)
        HL_LOG(INFO, "a line of one of many threads", HL_LOG_TEXT("by", name), HL_LOG_INT("n", i));
}

static void log_from_all(void)
{
    static char names[LOGGERS][2] = {"a", "b", "c"};
    struct hl_thread threads[LOGGERS];
    for (int i = 0; i < LOGGERS; i++)
        cr_assert_eq(hl_thread_start(&threads[i], "logger", log_lines, names[i]), 0);
    for (int i = 0; i < LOGGERS; i++)
        hl_thread_join(&threads[i]);
}

struct seen {
    uint64_t lines, said;
    int next[LOGGERS]; /* the least number that may come of each */
};

static void look_at(struct seen *seen, const char *line)
{
    char by;
    int n;
    unsigned long long dropped;
    const char *fields = strstr(line, "\"msg\":");
    if (fields &&
        sscanf(fields, "\"msg\":\"a line of one of many threads\",\"by\":\"%c\",\"n\":%d}", &by,
            &n) == 2) {
        cr_assert(by >= 'a' && by < 'a' + LOGGERS && n >= seen->next[by - 'a'], "%s", line);
        seen->next[by - 'a'] = n + 1;
        seen->lines++;
    } else if (fields && sscanf(fields,
                             "\"msg\":\"the log was not read: lines were dropped\",\"lines\":%llu}",
                             &dropped) == 1) {
        seen->said += dropped;
    } else {
        cr_assert(*line == '#' || strstr(line, "\"msg\":\"again\""), "torn: %s", line);
    }
}

static struct seen look_at_all(void)
{
    struct seen seen = {0};
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        look_at(&seen, line);
    return seen;
}

Test(log_writer, holds_nobody_up_and_counts_what_it_drops)
{
    fill_pipe();
    log_from_all();
    cr_assert_gt(hl_log_writer_dropped(), 0);
    UNTIL(has_read("lines were dropped"));
    HL_LOG(INFO, "again");
    UNTIL(has_read("\"msg\":\"again\""));
    hl_log_writer_stop(PATIENCE_MS);
    struct seen seen = look_at_all();
    cr_assert_eq(seen.said, hl_log_writer_dropped());
    cr_assert_eq(seen.lines + seen.said, LOGGERS * LINES);
}

Test(log_writer, writes_lines_whole_and_in_order_to_a_reader_that_keeps_up)
{
    unsigned last = LOGGERS * LINES;
    for (unsigned i = 0; i < last; i++) {
        HL_LOG(INFO, "a line of one of many threads", HL_LOG_TEXT("by", "a"), HL_LOG_INT("n", i));
        UNTIL(i % 100 != 0 || (has_read(""), hl_log_sink_has_room()));
    }
    UNTIL(has_read("\"n\":29999}"));
    hl_log_writer_stop(PATIENCE_MS);
    cr_assert_eq(look_at_all().lines, last);
    cr_assert_eq(hl_log_writer_dropped(), 0);
}

Test(log_writer, has_no_room_for_lines_that_may_be_left_out_when_half_full)
{
    fill_pipe();
    cr_assert(hl_log_sink_has_room());
    int lines = 0;
    for (; hl_log_sink_has_room(); lines++)
        HL_LOG(INFO, "again");
    cr_assert_eq(hl_log_writer_dropped(), 0);
    UNTIL((has_read(""), hl_log_sink_has_room()));
    hl_log_writer_stop(10); /* nobody reads the rest */
    cr_assert_gt(lines, 1000);
}

/* Rounds enough that some lie around the end of the ring. */
Test(log_writer, writes_a_line_longer_than_a_piece_whole_and_drops_one_longer_than_the_ring)
{
    static char line[HL_LOG_WRITER_BYTES + 1];
    const size_t n = 100 * 1024 + 1, rounds = 30;
    memset(line, '#', sizeof(line));
    line[n - 1] = line[sizeof(line) - 1] = '\n';
    hl_log_sink_put(line + n, sizeof(line) - n); /* fits */
    UNTIL((has_read(""), hl_log_sink_has_room()));
    for (size_t i = 0; i < rounds; i++) {
        hl_log_sink_put(line, n);
        HL_LOG(INFO, "again");
        UNTIL((has_read(""), hl_log_sink_has_room()));
    }
    cr_assert_eq(hl_log_writer_dropped(), 0);
    line[n - 1] = '#';
    hl_log_sink_put(line, sizeof(line));
    cr_assert_eq(hl_log_writer_dropped(), 1);
    HL_LOG(INFO, "the last");
    UNTIL(has_read("lines were dropped\",\"lines\":1}\n"));
    hl_log_writer_stop(PATIENCE_MS);
    size_t whole = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        whole += at >= text + n && at[-1] == '#';
    cr_assert_eq(whole, 1 + rounds);
}

Test(log_writer, stops_though_nobody_reads)
{
    fill_pipe();
    HL_LOG(INFO, "nobody will see it");
    hl_log_writer_stop(10);
    HL_LOG(INFO, "nor this");
    cr_assert_eq(hl_log_writer_dropped(), 1);
}

Test(log_writer, writes_what_is_there_before_it_stops)
{
    for (int i = 0; i < 300; i++)
        HL_LOG(INFO, "again");
    HL_LOG(INFO, "the last");
    hl_log_writer_stop(PATIENCE_MS);
    cr_assert(has_read("\"the last\"}\n"));
    HL_LOG(INFO, "written at once");
    cr_assert(has_read("\"written at once\"}\n"));
}

Test(log_writer, waits_where_others_have_made_stderr_non_blocking)
{
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    fill_pipe();
    HL_LOG(INFO, "again");
    UNTIL(has_read("\"again\"}\n"));
    cr_assert_eq(hl_log_writer_dropped(), 0);
    hl_log_writer_stop(PATIENCE_MS);
}

Test(log_writer, counts_what_a_reader_that_has_gone_does_not_get)
{
    signal(SIGPIPE, SIG_IGN);
    close(reading_end);
    HL_LOG(INFO, "for nobody");
    UNTIL(hl_log_writer_dropped() == 1);
    open_pipe();
    HL_LOG(INFO, "again");
    UNTIL(has_read("lines were dropped\",\"lines\":1}\n"));
    hl_log_writer_stop(PATIENCE_MS);
}

/* A file size limit does to one process what a full disk does to all. */
Test(log_writer, begins_a_new_line_behind_one_that_was_cut_off)
{
    struct rlimit limit, few;
    char path[] = "/tmp/hookline-test-log-XXXXXX";
    signal(SIGXFSZ, SIG_IGN);
    int fd = mkstemp(path);
    unlink(path);
    dup2(fd, STDERR_FILENO);
    getrlimit(RLIMIT_FSIZE, &limit);
    few = limit;
    few.rlim_cur = 20;
    setrlimit(RLIMIT_FSIZE, &few);
    HL_LOG(INFO, "a line that does not fit");
    UNTIL(hl_log_writer_dropped() == 1);
    setrlimit(RLIMIT_FSIZE, &limit);
    HL_LOG(INFO, "again");
    hl_log_writer_stop(PATIENCE_MS);
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    cr_assert_gt(n, 20);
    cr_assert_eq(text[20], '\n');
    cr_assert_eq(strncmp(text + 21, "{\"time\":", 8), 0);
    cr_assert(strstr(text, "lines were dropped"));
}

/* ---- a process that aborts ---- */

static int abort_in_a_child(bool is_read)
{
    int status;
    hl_log_writer_stop(PATIENCE_MS);
    pid_t pid = fork();
    if (pid == 0) {
        cr_assert_eq(hl_log_writer_start(), 0);
        if (!is_read)
            fill_pipe();
        HL_LOG(INFO, "what led to it");
        hl_assert_failed("one is two", "file.c", 12);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Test(log_writer, an_abort_is_the_last_line)
{
    cr_assert_eq(abort_in_a_child(true), SIGABRT);
    cr_assert(has_read("led to it"));
    const char *bug = strstr(text, "hookline: bug: file.c:12: assertion failed: one is two\n");
    cr_assert(bug && bug > strstr(text, "led to it"), "%s", text);
}

Test(log_writer, an_abort_does_not_wait_for_a_reader_for_ever)
{
    cr_assert_eq(abort_in_a_child(false), SIGABRT);
}
