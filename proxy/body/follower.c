/* follower.c - see follower.h.
 * Owns: a follower, which is at one of its three sources. Thread: the desk's loop.
 * Promise: bytes go out as fast as they are taken; whoever takes none costs none.
 * Not here: the sources (follow_journal.c, follow_store.c, follow_relay.c), where it is in the stream
 * (follow_cursor.c), who wakes it (follow_desk.c), who may follow at all (api/rest_result.c). */
#include "body/follower.h"

#include <stdlib.h>

#include "base/clock.h"
#include "body/desk_tap.h"
#include "body/follow_desk.h"
#include "body/follower_parts.h"
#include "body/journals.h"
#include "body/relay.h"

#define LOOK_MS 30000 /* between two looks at whether it may still follow */

/* ---- from source to source ---- */

static enum hl_follow_step fail(struct hl_follower *f)
{
    hl_follow_writer_fail(&f->writer, HL_FOLLOW_FAILED, f->grant->state);
    return HL_FOLLOW_STEP_GONE;
}

static void run_on(struct hl_follower *f);

static void on_piece(void *owner, struct hl_journal *j, bool is_read, struct hl_str piece)
{
    struct hl_follower *f = owner;
    struct hl_journal_look now;
    hl_journal_observe(j, &now);
    bool is_over = now.stage == HL_JOURNAL_ENDED;
    f->reading = NULL;
    if (!is_read)
        hl_follow_writer_fail(&f->writer, HL_FOLLOW_FAILED, now.state);
    else if (hl_follow_cursor_take(&f->cursor, piece, is_over, now.state))
        run_on(f);
}

static enum hl_follow_step read_file(struct hl_follower *f)
{
    f->reading =
        hl_journal_reading_begin(f->desk->loop, f->tap->tap.journal, f->cursor.offset, on_piece, f);
    return f->reading ? HL_FOLLOW_STEP_WAIT : fail(f);
}

static enum hl_follow_step step_store(struct hl_follower *f)
{
    return hl_follow_query_ask(&f->query, f->cursor.offset) ? HL_FOLLOW_STEP_WAIT : fail(f);
}

/* It is at the journal, or at the store: a relay has no steps. */
static enum hl_follow_step take_step(struct hl_follower *f)
{
    if (f->source == HL_FOLLOW_FROM_STORE)
        return step_store(f);
    enum hl_follow_step step = hl_follow_journal_step(f);
    return step == HL_FOLLOW_STEP_FILE ? read_file(f) : step;
}

/* Where the listener closes. Nothing that goes on here holds the end up for it: who was there when the run ended
 * takes the rest of it from wherever that is by then. */
static bool is_in_the_way(const struct hl_follower *f)
{
    struct hl_journal_look now;
    if (!f->desk->is_draining || f->grant->is_call)
        return false;
    if (!f->tap)
        return true;
    hl_journal_observe(f->tap->tap.journal, &now);
    return now.stage == HL_JOURNAL_AWAITED ||
           (now.stage == HL_JOURNAL_ENDED && hl_follow_writer_is_blocked(&f->writer));
}

static bool is_idle(const struct hl_follower *f)
{
    return !f->reading && !f->query.is_asking && !hl_follow_writer_is_blocked(&f->writer);
}

static void run_on(struct hl_follower *f)
{
    enum hl_follow_step step = HL_FOLLOW_STEP_MORE;
    if (is_in_the_way(f)) {
        fail(f);
        return;
    }
    if (f->relay) {
        if (!hl_follow_writer_is_blocked(&f->writer))
            hl_relay_resume(f->relay);
        return;
    }
    while (step == HL_FOLLOW_STEP_MORE && is_idle(f))
        step = take_step(f);
    if (step != HL_FOLLOW_STEP_GONE && is_in_the_way(f))
        fail(f);
}

void hl_follower_start(struct hl_follower *f)
{
    if (f->grant->has_begun)
        hl_follow_clock_set_beat(&f->clock);
    run_on(f);
}

void hl_follower_go_on(struct hl_follower *f)
{
    run_on(f);
}

/* ---- who may follow no longer ---- */

static bool may_follow(const struct hl_follower *f, int64_t now_ms)
{
    const struct hl_follow *grant = f->grant;
    const struct hl_follow_desk *desk = f->desk;
    if (grant->refused_from_ms > 0 && now_ms >= grant->refused_from_ms)
        return false;
    bool has_token = !hl_id_is_nil(&grant->account) || grant->key > 0;
    return !has_token || !desk->admits || desk->admits(desk->keeper, &grant->account, grant->key);
}

/* At the token's end, or sooner: the clock may be set meanwhile. */
static void set_look(struct hl_follower *f, int64_t now_ms)
{
    int64_t left_ms = f->grant->refused_from_ms - now_ms;
    if (f->grant->refused_from_ms > 0)
        hl_follow_clock_set_look(&f->clock, left_ms < 1         ? 1
                                            : left_ms < LOOK_MS ? (uint64_t)left_ms
                                                                : LOOK_MS);
}

/* Whoever comes again is told why. */
void hl_follower_look(struct hl_follower *f)
{
    int64_t now_ms = hl_clock_wall_ms();
    if (may_follow(f, now_ms))
        set_look(f, now_ms);
    else
        fail(f);
}

/* ---- what it has waited for ---- */

static void on_watch(struct hl_follower *f, const struct hl_watch *watch)
{
    bool asks = hl_follow_query_hear(&f->query, watch);
    if (asks && f->source == HL_FOLLOW_FROM_JOURNAL && !f->reading)
        step_store(f);
}

void hl_follower_hear(struct hl_follower *f, const struct hl_store_msg *m)
{
    if (m->msg.type != HL_STORE_GET_RUN)
        on_watch(f, (const struct hl_watch *)m);
    else if (hl_follow_store_take(f, (const struct hl_get_run *)m))
        run_on(f);
}

static void on_time(struct hl_timer *timer)
{
    struct hl_follower *f = HL_CONTAINER_OF(timer, struct hl_follower, clock.timer);
    struct hl_follow_due due = hl_follow_clock_take_due(&f->clock);
    struct hl_follow_writer *w = &f->writer;
    if (due.look && !may_follow(f, hl_clock_wall_ms())) {
        fail(f);
        return;
    }
    if (due.look)
        set_look(f, hl_clock_wall_ms());
    bool beats = due.beat && f->source != HL_FOLLOW_FROM_RELAY; /* a relay brings its own */
    if (beats && hl_follow_writer_is_between(w) && !hl_follow_writer_is_blocked(w) &&
        !hl_follow_writer_say(w, HL_STR(": keep-alive\n\n")))
        return;
    bool asks = due.poll && !f->query.is_asking && !f->reading;
    if (!asks || step_store(f) != HL_FOLLOW_STEP_GONE)
        run_on(f);
}

/* ---- its life ---- */

static void assemble(
    struct hl_follower *f, bool is_chunked, const struct hl_follower_events *events, void *owner)
{
    struct hl_follow_desk *desk = f->desk;
    const struct hl_follow *grant = f->grant;
    hl_follow_clock_init(&f->clock, desk->wheel, desk->beat_ms, on_time);
    f->writer = (struct hl_follow_writer){.events = events,
        .owner = owner,
        .grant = grant,
        .clock = &f->clock,
        .out = desk->out,
        .is_answered = grant->has_begun,
        .is_chunked = is_chunked};
    f->cursor = (struct hl_follow_cursor){
        .writer = &f->writer, .grant = grant, .is_seeking = grant->wanted_n > 0};
    f->query = (struct hl_follow_query){
        .store = desk->store, .reply_to = &desk->mail.box, .grant = grant, .clock = &f->clock};
}

/* A run that has ended has no tap. False: out of memory. */
static bool sit_down(struct hl_follower *f)
{
    struct hl_follow_desk *desk = f->desk;
    bool has_ended = hl_run_state_is_final(f->grant->state);
    f->source = has_ended ? HL_FOLLOW_FROM_STORE : HL_FOLLOW_FROM_JOURNAL;
    f->query.name = hl_slot_add(&desk->slots, f);
    if (f->query.name.generation == 0)
        return false;
    if (!has_ended)
        f->tap = hl_desk_tap_join(desk, &f->grant->run_id, &f->in_tap);
    if (has_ended || f->tap)
        return true;
    hl_slot_remove(&desk->slots, f->query.name);
    return false;
}

struct hl_follower *hl_follower_new(struct hl_follow_desk *desk, struct hl_follow *grant,
    bool is_chunked, const struct hl_follower_events *events, void *owner)
{
    struct hl_follower *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->desk = desk;
    f->grant = grant;
    hl_list_init(&f->in_all);
    hl_list_init(&f->in_tap);
    hl_list_init(&f->in_ready);
    assemble(f, is_chunked, events, owner);
    if (!sit_down(f)) {
        free(f);
        return NULL;
    }
    hl_list_push_back(&desk->followers, &f->in_all);
    set_look(f, hl_clock_wall_ms());
    return f;
}

void hl_follower_free(struct hl_follower *f)
{
    if (!f)
        return;
    hl_journal_reading_leave(f->reading);
    hl_follow_query_leave_watch(&f->query);
    hl_relay_drop(f->relay);
    hl_follow_clock_fini(&f->clock);
    hl_list_remove(&f->in_all);
    hl_list_remove(&f->in_ready);
    if (f->tap)
        hl_desk_tap_leave(f->tap, &f->in_tap);
    hl_slot_remove(&f->desk->slots, f->query.name);
    hl_follow_free(f->grant);
    free(f);
}
