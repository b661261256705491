/* follow_store.c - what the store's answers come to for a follower: a run that has ended, or one that is not inside
 * this process.
 * Owns: nothing of its own. Thread: the desk's loop.
 * Promise: what the store kept of a stream goes out whole, or the follower is told why not.
 * Not here: asking (follow_query.c), the replica that has the run (follow_relay.c). */
#include "body/follower_parts.h"

#include <string.h>

#include "body/desk_tap.h"
#include "http/edit.h"
#include "store/attempt.h"
#include "store/question.h"

#define LATE_ASKS 3 /* for an id, after which nothing like it is taken to be there */

static bool fail(struct hl_follower *f, enum hl_follow_answer what)
{
    hl_follow_writer_fail(&f->writer, what, f->grant->state);
    return false;
}

static void set_origin(struct hl_follower *f, const struct hl_run_row *run)
{
    hl_follow_cursor_set_origin(&f->cursor, run->attempt, hl_attempt_log_events(run->attempt_log));
}

/* ---- the run has ended ---- */

static bool is_stream(const struct hl_outcome *o)
{
    return o->http_status == 200 && hl_is_event_stream(hl_str_from(o->content_type)) &&
           (!*o->content_encoding || strcmp(o->content_encoding, "identity") == 0);
}

static bool has_bytes(const struct hl_outcome *o)
{
    return o->body.where == HL_BODY_INLINE || o->body.where == HL_BODY_FILE;
}

/* Nothing of a stream is kept of it. */
static void end_without(struct hl_follower *f, const struct hl_get_run *g)
{
    const struct hl_outcome *o = &g->outcome;
    enum hl_run_state state = g->run.state;
    if (f->writer.is_answered)
        hl_follow_writer_finish(&f->writer, state, o->reason);
    else if (o->http_status == 0 || (is_stream(o) && o->body.where == HL_BODY_NONE))
        hl_follow_writer_fail(&f->writer, HL_FOLLOW_NOTHING, state);
    else
        hl_follow_writer_fail(
            &f->writer, is_stream(o) ? HL_FOLLOW_GONE : HL_FOLLOW_NO_STREAM, state);
}

static bool read_ended(struct hl_follower *f, const struct hl_get_run *g)
{
    const struct hl_outcome *o = &g->outcome;
    enum hl_run_state state = g->run.state;
    struct hl_follow_cursor *c = &f->cursor;
    f->source = HL_FOLLOW_FROM_STORE;
    if (hl_follow_cursor_is_of_other(c, g->run.attempt))
        return hl_follow_cursor_begin_anew(c);
    if (!is_stream(o) || !has_bytes(o)) {
        end_without(f, g);
        return false;
    }
    set_origin(f, &g->run);
    if (g->range.n > 0)
        return hl_follow_cursor_take(c, hl_buf_str(&g->range), true, state);
    if (c->offset < o->body.size)
        return fail(f, HL_FOLLOW_FAILED);
    if (c->is_seeking)
        return hl_follow_cursor_end_seek(c, true, state);
    if (f->writer.is_answered)
        hl_follow_writer_finish(&f->writer, state, o->reason);
    else
        hl_follow_writer_fail(&f->writer, HL_FOLLOW_NOTHING, state);
    return false;
}

/* ---- another process has it, or nobody yet ---- */

/* What it names may be on its way to the store, which is behind the one that has the run. */
static bool awaits_id(struct hl_follower *f)
{
    if (f->late_asks >= LATE_ASKS || !hl_follow_cursor_has_missed(&f->cursor))
        return false;
    f->late_asks++;
    hl_follow_query_poll(&f->query);
    return true;
}

static bool read_unfinished(struct hl_follower *f, const struct hl_get_run *g)
{
    struct hl_follow_cursor *c = &f->cursor;
    f->query.is_over = false;
    f->grant->state = g->run.state;
    f->grant->attempt = g->run.attempt;
    f->source = HL_FOLLOW_FROM_JOURNAL;
    if (!f->tap)
        f->tap = hl_desk_tap_join(f->desk, &f->grant->run_id, &f->in_tap);
    if (!f->tap)
        return fail(f, HL_FOLLOW_FAILED);
    if (hl_follow_cursor_is_of_other(c, g->run.attempt)) {
        f->source = HL_FOLLOW_FROM_STORE;
        return hl_follow_cursor_begin_anew(c);
    }
    if (hl_follow_relay_begin(f, g))
        return true;
    if (g->range.n == 0 && c->has_origin && c->is_seeking)
        return !awaits_id(f) && hl_follow_cursor_end_seek(c, false, g->run.state);
    if (g->range.n > 0) {
        set_origin(f, &g->run);
        if (!hl_follow_cursor_take(c, hl_buf_str(&g->range), false, g->run.state))
            return false;
        f->source = HL_FOLLOW_FROM_STORE;
    }
    return true;
}

bool hl_follow_store_take(struct hl_follower *f, const struct hl_get_run *g)
{
    f->query.is_asking = false;
    if (g->m.rc == HL_ERR_NOT_FOUND)
        return fail(f, HL_FOLLOW_GONE);
    if (g->m.rc != HL_OK)
        return fail(f, HL_FOLLOW_FAILED);
    return hl_run_state_is_final(g->run.state) ? read_ended(f, g) : read_unfinished(f, g);
}
