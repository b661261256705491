/* access.c - what each request of a caller came to.
 * Owns: the figures of callers' requests; of each connection what is known of its present one.
 * Thread: the worker's.
 * Promise: each request whose head was there, or was refused, is counted once, by how it ended for
 * its caller, whatever becomes of its run; without HOOKLINE_ACCESS_LOG nothing is kept of it. No query, no field and
 * no body is in a line; what is as long as the caller likes stands last, so that it pushes nothing else out of it.
 * Not here: the figures of runs (ending.c), escaping (base/log.c). */
#include "caller/access.h"

#include <stdlib.h>
#include <string.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "http/field.h"
#include "http/head.h"
#include "http/refusal.h"
#include "http/start_line.h"
#include "http/url.h"
#include "trace/span.h"

/* ---- a line of the log, from its call's head to its end ---- */

/* The comma-separated element at the end of `*list`, which is cut off it. */
static struct hl_str take_last(struct hl_str *list)
{
    const char *comma = memrchr(list->p, ',', list->n);
    size_t at = comma ? (size_t)(comma - list->p) + 1 : 0;
    struct hl_str last = {list->p + at, list->n - at};
    list->n = comma ? at - 1 : 0;
    return hl_str_trim(last);
}

/* From the nearest hop on, as long as those who added them are trusted. */
void hl_access_find_client(
    char client[HL_IP_TEXT], const struct hl_head *head, const struct hl_cidr_list *trusted)
{
    struct hl_ip peer;
    if (!hl_ip_parse(hl_str_from(client), &peer) || !hl_cidr_list_has(trusted, &peer))
        return;
    for (size_t i = head->field_count; i-- > 0;) {
        if (head->fields[i].id != HL_FIELD_X_FORWARDED_FOR)
            continue;
        struct hl_str list = head->fields[i].value;
        while (list.n > 0) {
            struct hl_ip ip;
            if (!hl_ip_parse(take_last(&list), &ip))
                return;
            hl_ip_format(&ip, client);
            if (!hl_cidr_list_has(trusted, &ip))
                return;
        }
    }
}

static struct hl_str path_of(const struct hl_head *head)
{
    struct hl_target target;
    if (!head || !hl_target_split(head->target, &target))
        return HL_STR("");
    return target.path;
}

static size_t cut(size_t n, size_t max)
{
    return n < max ? n : max;
}

struct hl_access_line *hl_access_line_new(
    const char *peer, const struct hl_head *head, const struct hl_cidr_list *trusted)
{
    struct hl_str path = path_of(head);
    size_t path_n = cut(path.n, HL_ACCESS_PATH);
    struct hl_access_line *line = malloc(sizeof(*line) + path_n);
    if (!line)
        return NULL;
    memset(line, 0, sizeof(*line));
    hl_str_put(line->client, sizeof(line->client), peer);
    if (head)
        hl_access_find_client(line->client, head, trusted);
    if (head)
        memcpy(line->method, head->method.p, cut(head->method.n, HL_ACCESS_METHOD));
    line->path_n = path_n;
    if (path_n > 0)
        memcpy(line->path, path.p, path_n);
    return line;
}

void hl_access_line_free(struct hl_access_line *line)
{
    if (line)
        free(line->tags);
    free(line);
}

void hl_access_line_write(
    const struct hl_access_line *line, const struct hl_access_outcome *outcome)
{
    uint64_t unsent = cut(outcome->unsent, line->bytes);
    struct hl_log_field fields[14];
    char reason[HL_REFUSAL_REASON];
    hl_refusal_reason(line->cause, reason);
    size_t n = 0;
    fields[n++] = HL_LOG_TEXT("client", line->client);
    if (*line->subject)
        fields[n++] = HL_LOG_TEXT("subject", line->subject);
    fields[n++] = HL_LOG_TEXT("method", line->method);
    fields[n++] = HL_LOG_INT("status", outcome->status);
    if (*reason)
        fields[n++] = HL_LOG_TEXT("reason", reason);
    fields[n++] = HL_LOG_INT("bytes", line->bytes - unsent);
    fields[n++] = HL_LOG_INT("ms", outcome->us / 1000);
    if (!hl_id_is_nil(&line->run_id))
        fields[n++] = HL_LOG_ID("run_id", &line->run_id);
    fields[n++] = HL_LOG_HEX("trace_id", outcome->trace_id);
    fields[n++] = HL_LOG_TEXT("mode", outcome->mode);
    if (outcome->end)
        fields[n++] = HL_LOG_TEXT("end", outcome->end);
    if (line->tags)
        fields[n++] = HL_LOG_TEXT("tags", line->tags);
    fields[n++] = HL_LOG_STR("path", ((struct hl_str){line->path, line->path_n}));
    fields[n] = (struct hl_log_field){.name = NULL};
    hl_log_write(HL_LOG_INFO, HL_LOG_CALL, fields);
}

/* ---- a request ---- */

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
    bool is_good = c->callers->has_access_log &&
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

void hl_access_set_tags(struct hl_client *c, struct hl_str tags)
{
    if (c->line && !c->line->tags)
        c->line->tags = hl_str_dup(tags);
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
    hl_access_line_free(c->line);
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
        .trace_id = c->span ? &c->span->context.trace_id : NULL,
        .unsent = how == HL_ACCESS_WHOLE ? 0 : hl_stream_unsent(&c->stream)};
    hl_access_line_write(c->line, &outcome);
    hl_access_drop_line(c);
}

/* Who has gone is no fault of the server's. */
static HL_COLD void end_span(struct hl_client *c, enum hl_access_end how, uint64_t us)
{
    struct hl_span *span = c->span;
    c->span = NULL;
    hl_span_add_text(span, "hookline.mode", hl_str_from(mode_texts[c->mode]));
    hl_span_add_status(span, c->status, 500);
    if (how == HL_ACCESS_CUT)
        hl_span_fail(span, HL_STR("cut"));
    hl_span_end(span, span->began_us + us);
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
    if (c->span)
        end_span(c, how, us);
    hl_histogram_add(&metrics->duration[c->mode], us);
}
