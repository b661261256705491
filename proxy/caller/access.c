/* access.c - what each request of a caller came to.
 * Owns: the figures of callers' requests; of each connection what is known of its present one.
 * Thread: the worker's.
 * Promise: each request whose head was there, or was refused, is counted once, by how it ended for
 * its caller, whatever becomes of its run; without HOOKLINE_ACCESS_LOG nothing is kept of it.
 * Not here: the figures of runs (ending.c), what a line looks like (access_line.c). */
#include "caller/access.h"

#include <stdlib.h>
#include <string.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "http/start_line.h"

static const char *const mode_texts[HL_MODE_COUNT] = {
    [HL_MODE_SYNC] = "sync",
    [HL_MODE_STREAM] = "stream",
    [HL_MODE_ASYNC] = "async",
    [HL_MODE_TUNNEL] = "tunnel",
    [HL_MODE_OTHER] = "other",
};

const char *hl_mode_text(enum hl_mode mode)
{
    return mode_texts[mode];
}

void hl_access_open_line(struct hl_client *c, const struct hl_head *head)
{
    c->line = hl_access_line_new(c->peer, head, &c->callers->config->trusted_proxies);
}

void hl_access_begin_unread(struct hl_client *c, struct hl_str head)
{
    struct hl_head *line = &c->callers->head;
    struct hl_refusal why;
    bool is_good = c->callers->config->access_log &&
                   hl_start_line_read_request(head.p, head.p + head.n, line, &why);
    if (is_good)
        line->field_count = 0;
    hl_access_begin(c, is_good ? line : NULL);
}

void hl_access_set_caller(struct hl_client *c, const struct hl_principal *who)
{
    if (!who || who->subject.n > HL_SUBJECT_MAX)
        return;
    memcpy(c->line->subject, who->subject.p, who->subject.n);
    c->line->subject[who->subject.n] = '\0';
}

void hl_access_add_answer(struct hl_client *c, struct hl_str answer)
{
    if (!c->line)
        return;
    const char *end = memmem(answer.p, answer.n, "\r\n\r\n", 4);
    if (end)
        c->line->bytes += answer.n - (size_t)(end + 4 - answer.p);
}

void hl_access_drop_line(struct hl_client *c)
{
    free(c->line);
    c->line = NULL;
}

static HL_COLD void close_line(struct hl_client *c, enum hl_access_end how, uint64_t us)
{
    static const char *const ends[] = {
        [HL_ACCESS_WHOLE] = NULL, [HL_ACCESS_CUT] = "cut", [HL_ACCESS_LEFT] = "caller_left"};
    struct hl_access_outcome outcome = {.status = c->status,
        .mode = mode_texts[c->mode],
        .end = ends[how],
        .us = us,
        .unsent = how == HL_ACCESS_WHOLE ? 0 : hl_stream_unsent(&c->stream)};
    hl_access_line_write(c->line, &outcome);
    hl_access_drop_line(c);
}

void hl_access_end(struct hl_client *c, enum hl_access_end how)
{
    if (c->begun_us == 0)
        return;
    uint64_t us = (c->ended_us ? c->ended_us : hl_clock_mono_us()) - c->begun_us;
    struct hl_worker_metrics *metrics = c->callers->metrics;
    unsigned class = how == HL_ACCESS_CUT ? HL_CODE_CLASS_CUT : c->status / 100U; /* below 600 */
    c->begun_us = c->ended_us = 0;
    hl_counter_add(&metrics->requests[c->method][c->mode][class], 1);
    if (c->line)
        close_line(c, how, us);
    hl_histogram_add(&metrics->duration[c->mode], us);
}
