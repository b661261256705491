/* follow_relay.c - a follower whose run another replica has: what that one writes goes out as it comes.
 * Owns: the follower's relay. Thread: the desk's loop.
 * Promise: one replica is asked once; if it fails before its first byte, the store is asked instead.
 * Not here: the connection to the other (relay.c). */
#include "body/follower_parts.h"

#include "body/follow_desk.h"
#include "body/relay.h"
#include "store/question.h"

/* What it has gone through is where it was: from the store, as far as that has it. */
static void leave(struct hl_follower *f)
{
    f->relay = NULL;
    f->source = HL_FOLLOW_FROM_JOURNAL;
    if (!f->query.is_asking && !hl_follow_query_ask(&f->query, f->cursor.offset))
        hl_follow_writer_fail(&f->writer, HL_FOLLOW_FAILED, f->grant->state);
}

static void on_answer(void *owner, uint16_t status, enum hl_run_state state)
{
    static const struct {
        uint16_t status;
        enum hl_follow_answer answer;
    } answers[] = {{204, HL_FOLLOW_NOTHING}, {400, HL_FOLLOW_BAD_ID}, {409, HL_FOLLOW_NO_STREAM},
        {410, HL_FOLLOW_GONE}};
    struct hl_follower *f = owner;
    if (status == 200) {
        if (!f->writer.is_answered)
            hl_follow_writer_answer(&f->writer, HL_FOLLOW_OK, state);
        return;
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(answers) && !f->writer.is_answered; i++)
        if (answers[i].status == status) {
            hl_follow_writer_answer(&f->writer, answers[i].answer, state);
            return;
        }
    hl_relay_drop(f->relay);
    leave(f);
}

/* Its bytes come with ids, heartbeats and all. */
static void on_bytes(void *owner, struct hl_str bytes)
{
    struct hl_follower *f = owner;
    f->cursor.has_origin = true; /* there is no going back */
    while (bytes.n > 0) {
        size_t n = bytes.n < HL_FOLLOW_WRITE ? bytes.n : HL_FOLLOW_WRITE;
        if (!hl_follow_writer_say(&f->writer, (struct hl_str){bytes.p, n}))
            return;
        bytes.p += n;
        bytes.n -= n;
    }
    if (hl_follow_writer_is_blocked(&f->writer))
        hl_relay_pause(f->relay);
}

static void on_end(void *owner, bool is_whole)
{
    struct hl_follower *f = owner;
    f->relay = NULL;
    if (f->writer.is_answered && (is_whole || f->cursor.has_origin))
        hl_follow_writer_end(&f->writer, is_whole);
    else
        leave(f);
}

static const struct hl_relay_events events = {
    .answer = on_answer, .bytes = on_bytes, .end = on_end};

bool hl_follow_relay_begin(struct hl_follower *f, const struct hl_get_run *g)
{
    struct hl_follow_desk *desk = f->desk;
    const struct hl_follow *grant = f->grant;
    struct hl_relay_parts parts = {.loop = desk->loop,
        .reader = desk->reader,
        .wheel = desk->wheel,
        .names = &desk->names,
        .tls = desk->tls,
        .store = desk->store,
        .silence_ms = 3 * desk->beat_ms,
        .events = &events,
        .owner = f};
    struct hl_relay_request request = {.home = hl_buf_str(&g->home),
        .project = g->run.project,
        .app = g->run.app,
        .run_id = grant->run_id,
        .wants_progress = grant->wants_progress,
        .as = grant->is_call ? grant->is_plain ? "plain" : "answer" : NULL};
    if (g->home.n == 0 || grant->is_relayed || f->has_relayed || f->cursor.has_origin)
        return false;
    if (f->cursor.is_seeking)
        request.last_event_id = (struct hl_str){grant->wanted, grant->wanted_n};
    f->has_relayed = true;
    f->relay = hl_relay_begin(&parts, &request);
    if (!f->relay)
        return false;
    f->source = HL_FOLLOW_FROM_RELAY;
    hl_follow_clock_drop_poll(&f->clock);
    hl_follow_query_leave_watch(&f->query);
    return true;
}
