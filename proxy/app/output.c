/* output.c - the app's output as log lines.
 * Owns: the two pipes' handles, each freed in its close callback. Thread: control.
 * Promise: control does not wait for whoever reads the log; the app waits a second at the most.
 * Not here: how a line looks and what is escaped in it (base/log.c). */
#include "app/output.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv/unix.h>

#include "app/record.h"
#include "app/visits.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/log_sink.h"
#include "base/metric.h"

#define SECOND_MS      1000
#define RETRY_MS       20
#define PIECE_BYTES    (16 * 1024)
#define LINE_BYTES     HL_LOG_LINE_MAX /* the log cuts a line of this length, and marks it as cut */
#define CATCH_UP_READS 8               /* pieces */
#define FINISH_READS                                                                               \
    64 /* pieces taken from a pipe whose process has ended, for others may have it */

struct hl_output_source {
    uv_pipe_t pipe;
    struct hl_output *output;
    const char *name;
    size_t line_n; /* of a line that has not ended yet */
    size_t at, n;  /* of the piece: taken, read */
    struct hl_arrival_pipe arrival;
    uint64_t from_us, read_us; /* when the piece can have come, at the earliest and the latest */
    uint64_t line_from_us;     /* the beginning of the line that has not ended */
    char line[LINE_BYTES];
    char piece[PIECE_BYTES];
};

static void on_second(struct hl_timer *timer);
static void on_retry(struct hl_timer *timer);
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

void hl_output_init(struct hl_output *o, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_counter *lines_logged, struct hl_counter *lines_dropped)
{
    *o = (struct hl_output){.loop = loop,
        .wheel = wheel,
        .lines_left = HL_OUTPUT_LINES,
        .wait_left_ms = HL_OUTPUT_WAIT_MS,
        .bytes_left = HL_OUTPUT_BYTES,
        .lines_logged = lines_logged,
        .lines_dropped = lines_dropped};
    hl_timer_init(&o->second, on_second);
    hl_timer_init(&o->retry, on_retry);
}

void hl_output_attribute(struct hl_output *o, struct hl_visits *const *visits, uint32_t n)
{
    o->visits = visits;
    o->visits_n = n;
    hl_arrival_open(&o->arrival, o->loop);
}

static void on_closed(uv_handle_t *handle)
{
    free(HL_CONTAINER_OF((uv_pipe_t *)handle, struct hl_output_source, pipe));
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct hl_output_source *source =
        HL_CONTAINER_OF((uv_pipe_t *)handle, struct hl_output_source, pipe);
    (void)suggested;
    *buf = uv_buf_init(source->piece, sizeof(source->piece));
}

static struct hl_output_source *open_source(struct hl_output *o, int fd, const char *name)
{
    struct hl_output_source *source = malloc(sizeof(*source));
    if (!source || uv_pipe_init(o->loop, &source->pipe, 0) != 0) {
        free(source);
        close(fd);
        return NULL;
    }
    source->output = o;
    source->name = name;
    source->line_n = source->at = source->n = 0;
    source->arrival = (struct hl_arrival_pipe){.empty_us = hl_clock_mono_us()};
    if (uv_pipe_open(&source->pipe, fd) != 0) {
        close(fd);
        uv_close((uv_handle_t *)&source->pipe, on_closed);
        return NULL;
    }
    uv_read_start((uv_stream_t *)&source->pipe, on_alloc, on_read);
    return source;
}

bool hl_output_open(struct hl_output *o, const int fds[2])
{
    o->sources[0] = open_source(o, fds[0], "stdout");
    o->sources[1] = open_source(o, fds[1], "stderr");
    return o->sources[0] && o->sources[1];
}

/* ---- lines ---- */

static void begin_second(struct hl_output *o)
{
    if (!hl_timer_is_armed(&o->second))
        hl_timer_arm(o->wheel, &o->second, SECOND_MS);
}

/* Whether the next line waits for room in the log. */
static bool must_wait(struct hl_output *o)
{
    return !o->is_off && o->lines_left > 0 && o->wait_left_ms > 0 && !hl_log_sink_has_room();
}

static bool names_run(const struct hl_log_field *fields)
{
    while (fields->name && fields->kind != HL_LOG_KIND_ID)
        fields++;
    return fields->name != NULL;
}

static void write_line(
    struct hl_output_source *source, enum hl_log_level level, const struct hl_log_field *fields)
{
    const struct hl_output *o = source->output;
    struct hl_id run_id;
    bool is_lone =
        o->visits && !names_run(fields) &&
        hl_visits_find_lone(o->visits, o->visits_n, source->line_from_us, source->read_us, &run_id);
    if (is_lone)
        hl_log_write_of(&run_id, level, "app", fields);
    else
        hl_log_write(level, "app", fields);
}

static void log_line(struct hl_output_source *source, struct hl_str line)
{
    struct hl_output *o = source->output;
    if (line.n == 0 || o->is_off)
        return;
    begin_second(o);
    if (o->lines_left == 0 || !hl_log_sink_has_room()) {
        o->dropped++;
        return;
    }
    o->lines_left--;
    hl_counter_add(o->lines_logged, 1);
    /* Whatever the least level is: only the app knows how bad a line is. */
    struct hl_record record;
    if (hl_record_read(&record, source->name, line))
        write_line(source, record.level, record.fields);
    else
        write_line(source, HL_LOG_INFO,
            (const struct hl_log_field[]){
                HL_LOG_TEXT("stream", source->name), HL_LOG_STR("line", line), {.name = NULL}});
}

/* Of a line that is too long the beginning is kept: the log cuts it anyway. */
static void hold(struct hl_output_source *source, struct hl_str part)
{
    size_t room = sizeof(source->line) - source->line_n;
    size_t n = part.n < room ? part.n : room;
    if (source->line_n == 0)
        source->line_from_us = source->from_us;
    if (n > 0)
        memcpy(source->line + source->line_n, part.p, n);
    source->line_n += n;
}

static void end_line(struct hl_output_source *source, struct hl_str part)
{
    if (source->line_n == 0) {
        source->line_from_us = source->from_us;
        log_line(source, part);
        return;
    }
    hold(source, part);
    log_line(source, (struct hl_str){source->line, source->line_n});
    source->line_n = 0;
}

/* Takes lines off the piece. False: the rest waits. A carriage return ends a line as well: progress
 * bars write nothing else. */
static bool take(struct hl_output_source *source, bool (*waits)(struct hl_output *o))
{
    for (size_t i = source->at; i < source->n; i++) {
        if (source->piece[i] != '\n' && source->piece[i] != '\r')
            continue;
        struct hl_str part = {source->piece + source->at, i - source->at};
        if (part.n + source->line_n > 0 && waits(source->output))
            return false;
        end_line(source, part);
        source->at = i + 1;
    }
    hold(source, (struct hl_str){source->piece + source->at, source->n - source->at});
    source->at = source->n = 0;
    return true;
}

/* ---- reading ---- */

/* `n` bytes were read into the piece. */
static void note_read(struct hl_output_source *source, size_t n)
{
    struct hl_output *o = source->output;
    source->n = n;
    if (!o->visits)
        return;
    source->from_us = hl_arrival_of(&o->arrival, &source->arrival, n < PIECE_BYTES);
    source->read_us = hl_clock_mono_us();
}

static void stop_reading(struct hl_output_source *source)
{
    source->arrival.is_behind = true;
    uv_read_stop((uv_stream_t *)&source->pipe);
}

static void spend_wait(struct hl_output *o)
{
    o->wait_left_ms -= o->wait_left_ms < RETRY_MS ? o->wait_left_ms : RETRY_MS;
}

static void retry_later(struct hl_output *o)
{
    begin_second(o);
    if (hl_timer_is_armed(&o->retry))
        return;
    spend_wait(o);
    hl_timer_arm(o->wheel, &o->retry, RETRY_MS);
}

/* Reads on if nothing stops that. */
static void read_on(struct hl_output_source *source)
{
    struct hl_output *o = source->output;
    if (o->bytes_left == 0)
        return; /* on_second goes on */
    if (source->at < source->n && !take(source, must_wait))
        retry_later(o);
    else
        uv_read_start((uv_stream_t *)&source->pipe, on_alloc, on_read);
}

static void read_all_on(struct hl_output *o)
{
    for (int i = 0; i < 2; i++)
        if (o->sources[i])
            read_on(o->sources[i]);
}

static void on_retry(struct hl_timer *timer)
{
    read_all_on(HL_CONTAINER_OF(timer, struct hl_output, retry));
}

static void close_source(struct hl_output *o, struct hl_output_source *source)
{
    for (int i = 0; i < 2; i++)
        if (o->sources[i] == source)
            o->sources[i] = NULL;
    end_line(source, (struct hl_str){NULL, 0});
    uv_close((uv_handle_t *)&source->pipe, on_closed);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct hl_output_source *source =
        HL_CONTAINER_OF((uv_pipe_t *)stream, struct hl_output_source, pipe);
    struct hl_output *o = source->output;
    (void)buf; /* the source's piece */
    if (n < 0) {
        close_source(o, source);
        return;
    }
    if (n == 0)
        return;
    begin_second(o);
    note_read(source, (size_t)n);
    o->bytes_left -= (uint64_t)n < o->bytes_left ? (uint64_t)n : o->bytes_left;
    bool is_taken = take(source, must_wait);
    if (!is_taken)
        retry_later(o);
    if (!is_taken || o->bytes_left == 0)
        stop_reading(source);
}

/* As on_read, without waiting for the loop. */
static void catch_up(struct hl_output_source *source)
{
    struct hl_output *o = source->output;
    uv_os_fd_t fd;
    if (source->at < source->n || uv_fileno((uv_handle_t *)&source->pipe, &fd) != 0)
        return;
    for (int i = 0; i < CATCH_UP_READS && o->bytes_left > 0; i++) {
        ssize_t n = read(fd, source->piece, sizeof(source->piece));
        if (n <= 0)
            return;
        begin_second(o);
        note_read(source, (size_t)n);
        o->bytes_left -= (uint64_t)n < o->bytes_left ? (uint64_t)n : o->bytes_left;
        if (!take(source, must_wait)) {
            retry_later(o);
            stop_reading(source);
            return;
        }
    }
}

void hl_output_catch_up(struct hl_output *o)
{
    for (int i = 0; i < 2; i++)
        if (o->sources[i])
            catch_up(o->sources[i]);
}

static void report_dropped(struct hl_output *o)
{
    if (o->dropped == 0)
        return;
    hl_counter_add(o->lines_dropped, o->dropped);
    if (hl_log_sink_has_room())
        HL_LOG(WARN, "the app writes more than can be logged: lines were dropped",
            HL_LOG_INT("lines", o->dropped));
    o->dropped = 0;
}

static void on_second(struct hl_timer *timer)
{
    struct hl_output *o = HL_CONTAINER_OF(timer, struct hl_output, second);
    report_dropped(o);
    o->lines_left = HL_OUTPUT_LINES;
    o->wait_left_ms = HL_OUTPUT_WAIT_MS;
    o->bytes_left = HL_OUTPUT_BYTES;
    read_all_on(o);
}

/* ---- the end ---- */

/* As must_wait, but waits here. Only control waits meanwhile; the last words of a process that died
 * are those that its owner looks for. */
static bool wait_here(struct hl_output *o)
{
    const struct timespec pause = {.tv_nsec = RETRY_MS * 1000000L};
    for (; must_wait(o); spend_wait(o))
        nanosleep(&pause, NULL);
    return false;
}

/* What the pipe holds still. */
static void drain(struct hl_output_source *source)
{
    uv_os_fd_t fd;
    take(source, wait_here);
    if (uv_fileno((uv_handle_t *)&source->pipe, &fd) != 0)
        return;
    for (int i = 0; i < FINISH_READS; i++) {
        ssize_t n = read(fd, source->piece, sizeof(source->piece));
        if (n <= 0)
            return;
        note_read(source, (size_t)n);
        take(source, wait_here);
    }
}

void hl_output_finish(struct hl_output *o)
{
    hl_timer_disarm(&o->retry);
    for (int i = 0; i < 2; i++) {
        if (!o->sources[i])
            continue;
        drain(o->sources[i]);
        close_source(o, o->sources[i]);
    }
}

void hl_output_close(struct hl_output *o)
{
    hl_output_finish(o);
    report_dropped(o);
    hl_arrival_close(&o->arrival);
    hl_timer_fini(o->wheel, &o->second);
    hl_timer_fini(o->wheel, &o->retry);
}
