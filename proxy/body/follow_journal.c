/* follow_journal.c - a follower's steps through the journal of a run that is inside this process, or may come there.
 * Owns: the follower's tap, once it is at one. Thread: the desk's loop.
 * Promise: one step reads once, or says something once; whoever has all there is waits without cost.
 * Not here: reading the file (journals.c), who wakes it (follow_desk.c), how a run that is nowhere in this
 * process goes on (follow_store.c). */
#include "body/follower_parts.h"

#include <stdio.h>

#include "body/desk_tap.h"
#include "body/follow_desk.h"

#define PROGRESS_MS   500
#define PROGRESS_TEXT (HL_JOURNAL_PROGRESS + 64)

static enum hl_follow_step fail(struct hl_follower *f, enum hl_follow_answer what)
{
    hl_follow_writer_fail(&f->writer, what, f->grant->state);
    return HL_FOLLOW_STEP_GONE;
}

static enum hl_follow_step finish(struct hl_follower *f, const struct hl_journal_look *now)
{
    hl_follow_writer_finish(&f->writer, now->state, now->reason);
    return HL_FOLLOW_STEP_GONE;
}

static enum hl_follow_step go_to_store(struct hl_follower *f)
{
    f->source = HL_FOLLOW_FROM_STORE;
    return HL_FOLLOW_STEP_MORE;
}

/* The run is not inside this process. One that was running may have ended before there was a tap, or be inside
 * another process: the store knows. */
static enum hl_follow_step wait_for_start(struct hl_follower *f)
{
    struct hl_follow_query *query = &f->query;
    const struct hl_follow *grant = f->grant;
    if (query->is_over)
        return go_to_store(f);
    if (grant->state == HL_RUN_RUNNING && !f->has_asked) {
        f->has_asked = true;
        return hl_follow_query_ask(query, f->cursor.offset) ? HL_FOLLOW_STEP_WAIT
                                                            : fail(f, HL_FOLLOW_FAILED);
    }
    if (!hl_follow_cursor_begin_unseen(&f->cursor, grant->attempt + 1, grant->state))
        return HL_FOLLOW_STEP_GONE;
    hl_follow_query_watch(query);
    hl_follow_query_poll(query);
    return HL_FOLLOW_STEP_WAIT;
}

/* The attempt that it is at has ended before anything was said to it: another follows. */
static enum hl_follow_step move_on(struct hl_follower *f)
{
    struct hl_desk_tap *old = f->tap;
    hl_desk_tap_unlist(old);
    hl_desk_tap_leave(old, &f->in_tap);
    f->cursor.has_origin = false;
    f->grant->attempt++;
    f->tap = hl_desk_tap_join(f->desk, &f->grant->run_id, &f->in_tap);
    return f->tap ? HL_FOLLOW_STEP_MORE : fail(f, HL_FOLLOW_FAILED);
}

static enum hl_follow_step wait_for_progress(
    struct hl_follower *f, const struct hl_journal_look *now)
{
    char json[HL_JOURNAL_PROGRESS + 1], text[PROGRESS_TEXT];
    bool is_new = f->grant->wants_progress && now->progress != f->progress;
    if (!is_new || !hl_follow_writer_is_between(&f->writer))
        return HL_FOLLOW_STEP_WAIT;
    if (hl_follow_clock_awaits_progress(&f->clock))
        return HL_FOLLOW_STEP_WAIT; /* the timer is set */
    if (!hl_journal_get_progress(f->tap->tap.journal, json))
        return HL_FOLLOW_STEP_WAIT;
    f->progress = now->progress;
    hl_follow_clock_set_progress(&f->clock, PROGRESS_MS);
    int n = snprintf(text, sizeof(text), "event: progress\ndata: %s\n\n", json);
    bool goes_on = hl_follow_writer_say(&f->writer, (struct hl_str){text, (size_t)n});
    return goes_on ? HL_FOLLOW_STEP_WAIT : HL_FOLLOW_STEP_GONE;
}

/* ---- there is a stream ---- */

static enum hl_follow_step read_on(struct hl_follower *f, const struct hl_journal_look *now)
{
    bool is_file, is_over = now->stage == HL_JOURNAL_ENDED;
    char *in = f->desk->in;
    size_t n = hl_journal_read(f->tap->tap.journal, f->cursor.offset, in, HL_FOLLOW_READ, &is_file);
    if (n > 0) {
        struct hl_str bytes = {in, n};
        bool goes_on = hl_follow_cursor_take(&f->cursor, bytes, is_over, now->state);
        return goes_on ? HL_FOLLOW_STEP_MORE : HL_FOLLOW_STEP_GONE;
    }
    if (is_file)
        return HL_FOLLOW_STEP_FILE;
    return now->is_closed ? go_to_store(f) : HL_FOLLOW_STEP_WAIT;
}

/* It has all of what is there. */
static enum hl_follow_step wait_at_edge(struct hl_follower *f, const struct hl_journal_look *now)
{
    struct hl_follow_writer *w = &f->writer;
    bool is_over = now->stage == HL_JOURNAL_ENDED, is_seeking = f->cursor.is_seeking;
    if (is_over && !now->is_closed)
        return HL_FOLLOW_STEP_WAIT; /* it is told no end that a kill can still turn into another */
    if (is_seeking && !is_over && now->size < now->coming)
        return HL_FOLLOW_STEP_WAIT; /* what it names may be on its way */
    if (is_seeking) {
        bool goes_on = hl_follow_cursor_end_seek(&f->cursor, is_over, now->state);
        return goes_on ? HL_FOLLOW_STEP_MORE : HL_FOLLOW_STEP_GONE;
    }
    if (!w->is_answered && is_over && now->size == 0) {
        hl_follow_writer_answer(w, HL_FOLLOW_NOTHING, now->state);
        return HL_FOLLOW_STEP_GONE;
    }
    if (!w->is_answered && !hl_follow_writer_answer(w, HL_FOLLOW_OK, now->state))
        return HL_FOLLOW_STEP_GONE;
    return is_over ? finish(f, now) : wait_for_progress(f, now);
}

static enum hl_follow_step step_stream(struct hl_follower *f, const struct hl_journal_look *now)
{
    struct hl_follow_cursor *c = &f->cursor;
    if (hl_follow_cursor_is_of_other(c, now->attempt) && !hl_follow_cursor_begin_anew(c))
        return HL_FOLLOW_STEP_GONE;
    hl_follow_cursor_set_origin(c, now->attempt, now->before);
    return c->offset < now->size ? read_on(f, now) : wait_at_edge(f, now);
}

/* ---- something else than a stream, or nothing at all, came of it ---- */

static enum hl_follow_step step_other(struct hl_follower *f, const struct hl_journal_look *now)
{
    bool is_answered = f->writer.is_answered;
    if (now->is_dropped)
        return fail(f, HL_FOLLOW_GONE);
    if (now->stage == HL_JOURNAL_OPEN) {
        bool goes_on = hl_follow_cursor_begin_unseen(&f->cursor, now->attempt, HL_RUN_RUNNING);
        return goes_on ? wait_for_progress(f, now) : HL_FOLLOW_STEP_GONE;
    }
    if (now->stage == HL_JOURNAL_OTHER)
        return is_answered ? wait_for_progress(f, now) : fail(f, HL_FOLLOW_NO_STREAM);
    if (!now->is_closed)
        return HL_FOLLOW_STEP_WAIT;
    return is_answered ? finish(f, now) : go_to_store(f);
}

enum hl_follow_step hl_follow_journal_step(struct hl_follower *f)
{
    struct hl_journal_look now;
    hl_journal_observe(f->tap->tap.journal, &now);
    if (now.stage == HL_JOURNAL_AWAITED)
        return wait_for_start(f);
    hl_follow_query_leave_watch(&f->query);
    hl_follow_clock_drop_poll(&f->clock);
    if (now.stage == HL_JOURNAL_ENDED && now.is_again && !f->writer.is_answered)
        return now.is_closed ? move_on(f)
                             : HL_FOLLOW_STEP_WAIT; /* until then it would find the same one */
    return now.is_stream ? step_stream(f, &now) : step_other(f, &now);
}
