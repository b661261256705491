/* tee.c - the copy of a response that the store keeps, and how long it may hold up the caller who reads it.
 * Owns: the outcome's fields that speak of the response; the clock of those pauses. Thread: the worker's.
 * Promise: fields and body are those that the caller was given; what cannot be kept is said, in the
 * log and in the outcome. A caller waits at most five seconds in all, one when the disk stands still, and is never
 * cut: the copy is given up for it, and the webhook says so. Without a caller the copy takes its time.
 * Not here: the copying itself (passage.c, spool.c), how much may wait before a pause (spool.c), the pausing
 * itself (respond.c). */
#include "run/tee.h"

#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/utf8.h"
#include "body/spool.h"
#include "config/config.h"
#include "http/body_check.h"
#include "http/error_line.h"
#include "http/head.h"
#include "run/report.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "store/body_file.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/store.h"

#define LOOK_MS       200
#define STILL_MAX_MS  1000
#define PAUSED_MAX_MS 5000

/* A field for the envelope and the result; one that is no UTF-8 or longer than anyone needs is left
 * out. */
static void keep_field(char out[HL_CONTENT_FIELD_MAX + 1], const struct hl_field *field)
{
    if (!field || field->value.n > HL_CONTENT_FIELD_MAX || !hl_utf8_is_valid(field->value))
        return;
    memcpy(out, field->value.p, field->value.n);
    out[field->value.n] = '\0';
}

/* A synchronous run may be recorded for a stream that is not kept after all. */
static bool is_wanted(const struct hl_run *run)
{
    return hl_run_is_async(run) || run->store.has_webhook || hl_run_stream_adds_ids(run);
}

/* Without memory for a spool the response is there, and not kept: that is not one without a body. */
static void note_unkept(struct hl_run *run, enum hl_err why)
{
    struct hl_outcome *o = &run->store.finish->outcome;
    o->body = (struct hl_body){.where = HL_BODY_UNKEPT};
    o->encoding = HL_ENCODING_NONE;
    hl_counter_add(&run->runs->metrics->responses_not_kept, 1);
    HL_LOG(WARN, "a response is not kept", HL_LOG_ID("run_id", &run->id),
        HL_LOG_TEXT("error", hl_err_text(why)));
}

/* What the envelope and the result will say of the response (contract 5), copied before the head's
 * bytes go. */
void hl_tee_begin(
    struct hl_run *run, const struct hl_head *head, const struct hl_spool_events *events)
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    const struct hl_field *coding = hl_head_field(head, HL_FIELD_CONTENT_ENCODING);
    struct hl_outcome *outcome = &run->store.finish->outcome;
    keep_field(outcome->content_type, type);
    keep_field(outcome->content_encoding, coding);
    outcome->http_status = head->status;
    if (head->framing == HL_FRAMING_NONE)
        return;
    run->spool = hl_spool_new(&run->runs->spools, run->runs->config->max_kept_response, true,
        type && hl_is_json_type(type->value.p, type->value.n), events, run);
    hl_run_stream_set_spool(run);
    if (!run->spool) {
        note_unkept(run, HL_ERR_NOMEM);
        return;
    }
    if (!is_wanted(run))
        hl_spool_give_up(run->spool, HL_ERR_UNAVAILABLE);
    if (head->framing == HL_FRAMING_LENGTH)
        hl_spool_expect(run->spool, head->content_length);
    run->tee.keeps_front =
        head->status >= 400 && !coding &&
        (head->framing != HL_FRAMING_LENGTH || head->content_length > HL_BODY_INLINE_MAX);
}

/* Without memory the answer's line is missing, and no more. */
static HL_COLD void keep_front(struct hl_tee *tee, struct hl_str data)
{
    size_t room = HL_ERROR_LINE_LOOKS - tee->front.n;
    enum hl_err err = hl_buf_append(&tee->front, data.p, data.n < room ? data.n : room);
    tee->keeps_front = !err && data.n < room;
}

void hl_tee_take(struct hl_run *run, struct hl_str data)
{
    hl_spool_take(run->spool, data.p, data.n);
    if (run->tee.keeps_front)
        keep_front(&run->tee, data);
}

/* How the body stands in the envelope: found while it passed (contract 5). */
static void describe_body(struct hl_outcome *o, const struct hl_body_check *check)
{
    switch (hl_body_check_end(check)) {
    case HL_BODY_JSON:
        o->encoding = HL_ENCODING_JSON;
        break;
    case HL_BODY_TEXT:
        o->encoding = HL_ENCODING_TEXT;
        o->escaped_size = check->escaped;
        break;
    case HL_BODY_BINARY:
        o->encoding = HL_ENCODING_BASE64;
        break;
    }
}

static bool begins_with(const char *type, struct hl_str what)
{
    return strncasecmp(type, what.p, what.n) == 0;
}

/* What lists show of an answer that says no. One that is coded says nothing here, nor does one that was not kept. */
static void note_error(struct hl_outcome *o, const struct hl_tee *tee)
{
    bool is_inline = o->body.where == HL_BODY_INLINE;
    struct hl_str body =
        is_inline ? (struct hl_str){o->body.bytes, o->body.size} : hl_buf_str(&tee->front);
    if (o->state != HL_RUN_FAILURE || o->http_status < 400 || o->content_encoding[0] ||
        (!is_inline && o->body.where != HL_BODY_FILE))
        return;
    if (o->encoding == HL_ENCODING_JSON)
        hl_error_line_of_json(body, o->error);
    else if (begins_with(o->content_type, HL_STR("text/html")))
        hl_error_line_of_html(body, o->error);
    else if (o->encoding == HL_ENCODING_TEXT || begins_with(o->content_type, HL_STR("text/")))
        hl_error_line_of_text(body, o->error);
}

void hl_tee_end(void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body)
{
    struct hl_run *run = owner;
    struct hl_outcome *o = &run->store.finish->outcome;
    run->spool = NULL;
    o->body = *body;
    if (body->where == HL_BODY_DROPPED || body->where == HL_BODY_UNKEPT)
        o->encoding = HL_ENCODING_NONE;
    else
        describe_body(o, hl_spool_check(spool));
    note_error(o, &run->tee);
    if (body->where == HL_BODY_UNKEPT)
        hl_counter_add(&run->runs->metrics->responses_not_kept, 1);
    if (err != HL_OK)
        HL_LOG(WARN, "a response is not kept", HL_LOG_ID("run_id", &run->id),
            HL_LOG_TEXT("error", hl_err_text(err)), HL_LOG_INT("bytes", body->size));
    hl_run_stream_end(run, o->state, o->reason, false);
    hl_report_end(run);
}

/* ---- pauses ---- */

static void on_look(struct hl_timer *timer);

static void begin_pause(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_tee *tee = &run->tee;
    if (tee->paused_since)
        return;
    tee->paused_since = tee->moved_at = uv_now(runs->loop);
    tee->written = hl_spool_written(run->spool);
    if (!tee->look.on_fire)
        hl_timer_init(&tee->look, on_look);
    hl_timer_arm(runs->wheel, &tee->look, LOOK_MS);
}

static void end_pause(struct hl_run *run)
{
    struct hl_tee *tee = &run->tee;
    if (!tee->paused_since)
        return;
    tee->paused_ms += uv_now(run->runs->loop) - tee->paused_since;
    tee->paused_since = 0;
    hl_timer_disarm(&tee->look);
}

bool hl_tee_lags(struct hl_run *run)
{
    bool has_caller = run->client != NULL;
    hl_spool_set_hurried(run->spool, has_caller);
    bool is_full = hl_spool_is_full(run->spool);
    if (is_full && has_caller)
        begin_pause(run);
    else
        end_pause(run);
    return is_full;
}

/* A store on this disk that takes nothing will not take the copy either. */
static bool is_hopeless(const struct hl_run *run, uint64_t now)
{
    const struct hl_store_gauges *store = hl_store_get_gauges(run->runs->service->store);
    const struct hl_tee *tee = &run->tee;
    return now - tee->moved_at >= STILL_MAX_MS ||
           tee->paused_ms + (now - tee->paused_since) >= PAUSED_MAX_MS ||
           hl_counter_get(&store->is_full) || hl_service_store_fails(run->runs->service);
}

static void on_look(struct hl_timer *timer)
{
    struct hl_run *run = HL_CONTAINER_OF(timer, struct hl_run, tee.look);
    struct hl_tee *tee = &run->tee;
    uint64_t now = uv_now(run->runs->loop), written = hl_spool_written(run->spool);
    if (written != tee->written)
        tee->moved_at = now;
    tee->written = written;
    if (is_hopeless(run, now)) {
        hl_spool_give_up(run->spool, HL_ERR_TIMEOUT);
    } else {
        hl_timer_arm(run->runs->wheel, timer, LOOK_MS);
    }
}
