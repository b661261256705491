/* follow_writer.c - see follow_writer.h.
 * Owns: what the answer has come to. Thread: the desk's loop.
 * Promise: it is answered once; each event goes out with its id, and nothing of ours stands inside one.
 * Not here: which bytes (follow_cursor.c), the connection (worker/follow.c, api/admin_response.c). */
#include "body/follow_writer.h"

#include <stdio.h>
#include <string.h>

#include "body/follow_clock.h"
#include "http/sse.h"

#define EVENT_TEXT 256

bool hl_follow_writer_is_blocked(const struct hl_follow_writer *w)
{
    return w->is_answered && w->events->is_blocked(w->owner);
}

bool hl_follow_writer_is_between(const struct hl_follow_writer *w)
{
    return w->is_answered && hl_event_ids_is_between(&w->ids);
}

/* ---- the beginning ---- */

bool hl_follow_writer_answer(
    struct hl_follow_writer *w, enum hl_follow_answer what, enum hl_run_state state)
{
    if (w->is_answered) {
        if (what != HL_FOLLOW_OK)
            w->events->end(w->owner, what == HL_FOLLOW_NOTHING);
        return what == HL_FOLLOW_OK;
    }
    w->is_answered = true;
    bool goes_on = w->events->answer(w->owner, what, state);
    if (!goes_on || what != HL_FOLLOW_OK)
        return false;
    hl_follow_clock_set_beat(w->clock);
    return true;
}

/* ---- bytes ---- */

/* What stands in `out` behind the room for a chunk's head. False: the follower is gone. */
static bool write_out(struct hl_follow_writer *w, size_t n)
{
    char *body = w->out + HL_CHUNK_HEAD_MAX, *from = body;
    if (w->is_chunked) {
        char head[HL_CHUNK_HEAD_MAX];
        size_t head_n = hl_chunk_head_write(head, n);
        from = body - head_n;
        memcpy(from, head, head_n);
        memcpy(body + n, "\r\n", 2);
        n += head_n + 2;
    }
    hl_follow_clock_set_beat(w->clock);
    return w->events->write(w->owner, (struct hl_str){from, n});
}

bool hl_follow_writer_say(struct hl_follow_writer *w, struct hl_str text)
{
    w->has_spoken = true;
    memcpy(w->out + HL_CHUNK_HEAD_MAX, text.p, text.n);
    return write_out(w, text.n);
}

/* Of a byte order mark, which is none behind a comment of ours. */
static size_t count_mark(struct hl_follow_writer *w, uint64_t offset, struct hl_str bytes)
{
    size_t n = offset == 0 && w->has_spoken ? hl_sse_mark_n(bytes) : 0;
    hl_event_ids_pass(&w->ids, (struct hl_str){bytes.p, n});
    return n;
}

static size_t take_plain(struct hl_follow_writer *w, struct hl_str *bytes)
{
    size_t n = bytes->n < HL_FOLLOW_WRITE ? bytes->n : HL_FOLLOW_WRITE;
    memcpy(w->out + HL_CHUNK_HEAD_MAX, bytes->p, n);
    hl_event_ids_pass(&w->ids, (struct hl_str){bytes->p, n});
    *bytes = (struct hl_str){bytes->p + n, bytes->n - n};
    return n;
}

bool hl_follow_writer_pass(struct hl_follow_writer *w, uint64_t *offset, struct hl_str bytes)
{
    size_t mark_n = count_mark(w, *offset, bytes);
    *offset += mark_n;
    bytes = (struct hl_str){bytes.p + mark_n, bytes.n - mark_n};
    while (bytes.n > 0 && !hl_follow_writer_is_blocked(w)) {
        size_t had = bytes.n;
        size_t n = w->grant->is_plain ? take_plain(w, &bytes)
                                      : hl_event_ids_put(&w->ids, &bytes,
                                            w->out + HL_CHUNK_HEAD_MAX, HL_FOLLOW_WRITE);
        *offset += had - bytes.n;
        if (!write_out(w, n))
            return false;
    }
    return true;
}

/* ---- the end ---- */

void hl_follow_writer_end(struct hl_follow_writer *w, bool is_whole)
{
    w->events->end(w->owner, is_whole);
}

void hl_follow_writer_fail(
    struct hl_follow_writer *w, enum hl_follow_answer what, enum hl_run_state state)
{
    if (w->is_answered)
        hl_follow_writer_end(w, false);
    else
        hl_follow_writer_answer(w, what, state);
}

static bool write_run(
    struct hl_follow_writer *w, enum hl_run_state state, enum hl_run_reason reason)
{
    char text[EVENT_TEXT], id[HL_ID_TEXT + 1] = "";
    const char *why = hl_run_reason_text(reason), *quote = *why ? "\"" : "";
    hl_id_format(&w->grant->run_id, id);
    int n = snprintf(text, sizeof(text),
        "event: run\ndata: {\"run_id\":\"%s\",\"state\":\"%s\",\"reason\":%s%s%s}\n\n", id,
        hl_run_state_text(state), quote, *why ? why : "null", quote);
    return hl_follow_writer_say(w, (struct hl_str){text, (size_t)n});
}

/* Whether the app has ended its answer. */
static bool is_answer_whole(enum hl_run_state state, enum hl_run_reason reason)
{
    return state == HL_RUN_SUCCESS || (state == HL_RUN_FAILURE && reason == HL_REASON_APP_ERROR);
}

void hl_follow_writer_finish(
    struct hl_follow_writer *w, enum hl_run_state state, enum hl_run_reason reason)
{
    bool says_so =
        w->grant->wants_progress && hl_run_state_is_final(state) && hl_event_ids_is_whole(&w->ids);
    if (says_so && !write_run(w, state, reason))
        return;
    hl_follow_writer_end(w, !w->grant->is_call || is_answer_whole(state, reason));
}
