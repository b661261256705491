/* follower.c - see follower.h.
 * Owns: where each follower is, and what it waits for. Thread: the desk's loop; files are read in libuv's pool.
 * Promise: it is answered once; bytes go out in order, each event with its id, and nothing of ours stands inside
 * one; whoever takes no bytes costs none.
 * Not here: connections (worker/follow.c, api/admin_follow.c), where it begins (event_seek.c), who may follow at
 * all (api/rest_events.c). */
#include "body/follower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "body/desk_tap.h"
#include "body/event_seek.h"
#include "body/relay.h"
#include "http/chunked.h"
#include "http/edit.h"

#define TURN_MAX      32          /* followers that are served before the loop has another turn */
#define READ_SIZE     (8 * 1024)  /* of what is in memory */
#define WRITE_SIZE    (12 * 1024) /* framed and with ids */
#define ALL_ROOM      (WRITE_SIZE + 64)
#define POLL_MS       1000 /* where others write to the store, too */
#define LATE_ASKS     3    /* for an id, after which nothing like it is taken to be there */
#define PROGRESS_MS   500
#define EVENT_TEXT    256
#define PROGRESS_TEXT (HL_JOURNAL_PROGRESS + 64)

enum source {
    SOURCE_JOURNAL, /* the tap's, or nothing is there yet */
    SOURCE_STORE,   /* the run has ended, or is another process's */
    SOURCE_RELAY,   /* another replica writes it */
};

struct reading;

struct hl_follower {
    struct hl_follow_desk *desk;
    struct hl_follow *grant;
    const struct hl_follower_events *events;
    void *owner;
    struct hl_list in_all, in_tap, in_ready;
    struct hl_slot_name name;
    struct hl_desk_tap *tap;
    struct hl_timer timer;
    uint64_t beat_at, poll_at, progress_at; /* uv_now; 0: not due */

    enum source source;
    bool is_chunked, is_answered, is_seeking, has_origin;
    bool seeks_any;          /* is_seeking: whether there is an event at all */
    bool is_asking;          /* the store is asked for bytes */
    bool has_asked;          /* since it has a tap */
    bool has_spoken;         /* something of ours went out before the first byte */
    bool is_watching;        /* it has been told to say when the run ends */
    bool is_over;            /* and has said so */
    bool has_relayed;        /* another replica was asked */
    uint8_t late_asks;       /* for what it names, at the end of what the store has */
    struct hl_relay *relay;  /* NULL: none is just now */
    struct reading *reading; /* in the pool; NULL: none */

    uint32_t attempt; /* whose bytes they are; 0: not known */
    uint64_t before;
    uint64_t offset; /* of the byte that goes out next */
    struct hl_event_ids ids;
    struct hl_event_seek seek;
    uint32_t progress; /* the last one that was seen */
};

struct reading {
    uv_work_t work;
    struct hl_follower *follower; /* NULL: it has gone */
    struct hl_journal *journal;
    uint64_t offset;
    ptrdiff_t n;
    char piece[HL_FOLLOW_PIECE];
};

void hl_follow_free(struct hl_follow *f)
{
    if (f)
        hl_journals_leave(&f->place);
    free(f);
}

/* ---- the timer: whatever is due first ---- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a > 0 && (b == 0 || a < b) ? a : b;
}

static void arm(struct hl_follower *f)
{
    uint64_t at = sooner(f->beat_at, sooner(f->poll_at, f->progress_at));
    uint64_t now = uv_now(f->desk->loop);
    if (at > 0)
        hl_timer_arm(f->desk->wheel, &f->timer, at > now ? at - now : 1);
    else
        hl_timer_disarm(&f->timer);
}

static void set_beat(struct hl_follower *f)
{
    if (f->desk->beat_ms == 0)
        return;
    f->beat_at = uv_now(f->desk->loop) + f->desk->beat_ms;
    arm(f);
}

/* ---- writing ---- */

/* What stands in desk->out behind the room for a chunk's head. False: the follower is gone. */
static bool write_out(struct hl_follower *f, size_t n)
{
    char *body = f->desk->out + HL_CHUNK_HEAD_MAX, *from = body;
    if (f->is_chunked) {
        char head[HL_CHUNK_HEAD_MAX];
        size_t head_n = hl_chunk_head_write(head, n);
        from = body - head_n;
        memcpy(from, head, head_n);
        memcpy(body + n, "\r\n", 2);
        n += head_n + 2;
    }
    set_beat(f);
    return f->events->write(f->owner, (struct hl_str){from, n});
}

static bool write_text(struct hl_follower *f, struct hl_str text)
{
    f->has_spoken = f->has_spoken || f->offset == 0;
    memcpy(f->desk->out + HL_CHUNK_HEAD_MAX, text.p, text.n);
    return write_out(f, text.n);
}

static bool is_blocked(const struct hl_follower *f)
{
    return f->is_answered && f->events->is_blocked(f->owner);
}

/* Where something of ours may stand. */
static bool is_between(const struct hl_follower *f)
{
    return f->is_answered && f->source != SOURCE_RELAY && hl_event_ids_is_between(&f->ids);
}

/* ---- the beginning and the end of the answer ---- */

/* False: the follower is gone, or has nothing more to do. One that another replica had answered before it was
 * lost hears nothing of that a second time. */
static bool answer(struct hl_follower *f, enum hl_follow_answer what, enum hl_run_state state)
{
    if (f->is_answered) {
        if (what != HL_FOLLOW_OK)
            f->events->end(f->owner, what == HL_FOLLOW_NOTHING);
        return what == HL_FOLLOW_OK;
    }
    f->is_answered = true;
    bool goes_on = f->events->answer(f->owner, what, state);
    if (!goes_on || what != HL_FOLLOW_OK)
        return false;
    set_beat(f);
    return true;
}

/* It is not answered yet, or it is broken off. */
static void fail(struct hl_follower *f, enum hl_follow_answer what, enum hl_run_state state)
{
    if (f->is_answered)
        f->events->end(f->owner, false);
    else
        answer(f, what, state);
}

static bool write_run(struct hl_follower *f, enum hl_run_state state, enum hl_run_reason reason)
{
    char text[EVENT_TEXT], id[HL_ID_TEXT + 1] = "";
    const char *why = hl_run_reason_text(reason), *quote = *why ? "\"" : "";
    hl_id_format(&f->grant->run_id, id);
    int n = snprintf(text, sizeof(text),
        "event: run\ndata: {\"run_id\":\"%s\",\"state\":\"%s\",\"reason\":%s%s%s}\n\n", id,
        hl_run_state_text(state), quote, *why ? why : "null", quote);
    return write_text(f, (struct hl_str){text, (size_t)n});
}

/* All of it went out. An event that was not finished is no place for ours. */
static void finish(struct hl_follower *f, enum hl_run_state state, enum hl_run_reason reason)
{
    bool says_so = f->grant->wants_progress && hl_run_state_is_final(state) && is_between(f);
    if (says_so && !write_run(f, state, reason))
        return;
    f->events->end(f->owner, true);
}

/* ---- bytes ---- */

/* The first attempt whose bytes there are. */
static void set_origin(struct hl_follower *f, uint32_t attempt, uint64_t before)
{
    if (f->has_origin)
        return;
    f->has_origin = true;
    f->attempt = attempt;
    f->before = before;
    hl_event_ids_init(&f->ids, before);
    if (f->is_seeking)
        hl_event_seek_init(&f->seek, (struct hl_str){f->grant->wanted, f->grant->wanted_n}, before);
}

/* What comes now is of a further attempt: whoever was answered ends, and who looks for its event looks through
 * that. False: it is gone. */
static bool begin_anew(struct hl_follower *f)
{
    if (f->is_answered) {
        finish(f, HL_RUN_RUNNING, HL_REASON_NONE);
        return false;
    }
    f->has_origin = false;
    f->offset = 0;
    return true;
}

static void begin_at(struct hl_follower *f, const struct hl_event_place *place)
{
    f->is_seeking = false;
    f->offset = place->offset;
    hl_event_ids_init(&f->ids, place->count);
    f->ids.is_first = place->offset == 0;
}

/* A byte order mark is one at the very beginning alone: behind a comment of ours it would be the name of a
 * field, and its event lost. */
static struct hl_str without_mark(struct hl_follower *f, struct hl_str bytes)
{
    struct hl_str mark = HL_STR("\xef\xbb\xbf");
    if (f->offset > 0 || !f->has_spoken || !hl_str_starts_with(bytes, mark))
        return bytes;
    hl_event_ids_pass(&f->ids, mark);
    f->offset = mark.n;
    return (struct hl_str){bytes.p + mark.n, bytes.n - mark.n};
}

/* As much as goes out now. False: the follower is gone. */
static bool pass(struct hl_follower *f, struct hl_str bytes)
{
    bytes = without_mark(f, bytes);
    while (bytes.n > 0 && !is_blocked(f)) {
        size_t had = bytes.n;
        size_t n = hl_event_ids_put(&f->ids, &bytes, f->desk->out + HL_CHUNK_HEAD_MAX, WRITE_SIZE);
        f->offset += had - bytes.n;
        if (!write_out(f, n))
            return false;
    }
    return true;
}

/* Of a run that has ended somebody gets from the first event on, if there is one. */
static void seek_any(struct hl_follower *f)
{
    f->is_seeking = f->seeks_any = true;
    hl_event_seek_init(&f->seek, HL_STR(""), f->before);
}

/* False: the follower is gone, or has nothing more to do. */
static bool begin_if_any(struct hl_follower *f, enum hl_run_state state)
{
    struct hl_event_place start = {0, f->before};
    if (f->seek.ids.count == f->before)
        return true;
    begin_at(f, &start);
    return answer(f, HL_FOLLOW_OK, state);
}

/* Bytes from f->offset on. `is_over`: no more than the store has will come. */
static bool take(struct hl_follower *f, struct hl_str bytes, bool is_over, enum hl_run_state state)
{
    if (is_over && !f->is_seeking && !f->is_answered)
        seek_any(f);
    if (!f->is_seeking)
        return (f->is_answered || answer(f, HL_FOLLOW_OK, state)) && pass(f, bytes);
    f->offset += bytes.n;
    bool is_found = hl_event_seek_feed(&f->seek, bytes);
    if (f->seeks_any)
        return begin_if_any(f, state);
    if (is_found && (!is_over || f->seek.has_more)) {
        begin_at(f, &f->seek.found);
        return answer(f, HL_FOLLOW_OK, state);
    }
    return true;
}

/* All there is has been looked through. False: it is answered otherwise. */
static bool end_seek(struct hl_follower *f, bool is_over, enum hl_run_state state)
{
    struct hl_event_place place;
    if (f->seeks_any) {
        answer(f, HL_FOLLOW_NOTHING, state);
        return false;
    }
    switch (hl_event_seek_end(&f->seek, is_over, f->attempt > 1, &place)) {
    case HL_SEEK_BEGIN:
        begin_at(f, &place);
        return answer(f, HL_FOLLOW_OK, state);
    case HL_SEEK_NOTHING:
        answer(f, HL_FOLLOW_NOTHING, state);
        return false;
    case HL_SEEK_BAD_ID:
        break;
    }
    answer(f, HL_FOLLOW_BAD_ID, state);
    return false;
}

/* There is nothing of the stream yet: whoever names an event of an earlier attempt, or one by its number,
 * begins with the first. */
static bool begin_unseen(struct hl_follower *f, uint32_t attempt, enum hl_run_state state)
{
    const struct hl_follow *grant = f->grant;
    struct hl_event_seek seek;
    if (f->is_answered)
        return true;
    hl_event_seek_init(&seek, (struct hl_str){grant->wanted, grant->wanted_n}, 0);
    if (f->is_seeking && !seek.is_number && attempt <= 1) {
        answer(f, HL_FOLLOW_BAD_ID, state);
        return false;
    }
    f->is_seeking = false;
    return answer(f, HL_FOLLOW_OK, state);
}

/* ---- reading the file ---- */

static void run_on(struct hl_follower *f);

static void on_read_work(uv_work_t *work)
{
    struct reading *r = HL_CONTAINER_OF(work, struct reading, work);
    r->n = hl_journal_read_file(r->journal, r->offset, r->piece, sizeof(r->piece));
}

static void on_read_done(uv_work_t *work, int status)
{
    (void)status;
    struct reading *r = HL_CONTAINER_OF(work, struct reading, work);
    struct hl_follower *f = r->follower;
    struct hl_journal_look now;
    hl_journal_look(r->journal, &now);
    bool is_over = now.stage == HL_JOURNAL_ENDED;
    if (f) {
        f->reading = NULL;
        if (r->n < 0)
            fail(f, HL_FOLLOW_FAILED, now.state);
        else if (take(f, (struct hl_str){r->piece, (size_t)r->n}, is_over, now.state))
            run_on(f);
    }
    hl_journals_release(r->journal);
    free(r);
}

static bool read_file(struct hl_follower *f)
{
    struct reading *r = malloc(sizeof(*r));
    if (!r)
        return false;
    r->follower = f;
    r->journal = f->tap->tap.journal;
    r->offset = f->offset;
    hl_journals_hold(r->journal);
    if (uv_queue_work(f->desk->loop, &r->work, on_read_work, on_read_done) == 0) {
        f->reading = r;
        return true;
    }
    hl_journals_release(r->journal);
    free(r);
    return false;
}

/* ---- the store ---- */

static void post(struct hl_follower *f, uint32_t type, struct hl_store_msg *m)
{
    m->msg.type = type;
    m->reply_to = &f->desk->mail.box;
    m->from = f->name;
    enum hl_err err = hl_store_post(f->desk->store, m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

static bool ask(struct hl_follower *f)
{
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g)
        return false;
    const struct hl_follow *grant = f->grant;
    g->run_id = grant->run_id;
    memcpy(g->project, grant->project, sizeof(g->project));
    memcpy(g->app, grant->app, sizeof(g->app));
    g->range_from = f->offset;
    g->range_max = HL_FOLLOW_PIECE;
    f->is_asking = true;
    f->poll_at = 0;
    post(f, HL_STORE_GET_RUN, &g->m);
    return true;
}

static const struct hl_id nobody;

/* The answer to an UNWATCH of nobody comes after the store has the WATCH: no end is missed from then on. */
static void post_watch(struct hl_follower *f, enum hl_store_op op, const struct hl_id *run_id)
{
    struct hl_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return; /* it hears of the end late: when the store is asked anew */
    watch->run_id = *run_id;
    post(f, op, &watch->m);
}

static void watch(struct hl_follower *f)
{
    if (f->is_watching || f->is_over)
        return;
    f->is_watching = true;
    post_watch(f, HL_STORE_WATCH, &f->grant->run_id);
    post_watch(f, HL_STORE_UNWATCH, &nobody);
}

static void leave_watch(struct hl_follower *f)
{
    if (f->is_watching)
        post_watch(f, HL_STORE_UNWATCH, &f->grant->run_id);
    f->is_watching = false;
}

static void set_poll(struct hl_follower *f)
{
    if (!hl_store_is_shared(f->desk->store) || f->poll_at > 0)
        return;
    f->poll_at = uv_now(f->desk->loop) + POLL_MS;
    arm(f);
}

/* ---- through the replica that has the run ---- */

static void run_on(struct hl_follower *f);

/* What it has gone through is where it was: from the store, as far as that has it. */
static void leave_relay(struct hl_follower *f)
{
    f->relay = NULL;
    f->source = SOURCE_JOURNAL;
    if (!f->is_asking && !ask(f))
        fail(f, HL_FOLLOW_FAILED, f->grant->state);
}

static void on_relay_answer(void *owner, uint16_t status, enum hl_run_state state)
{
    static const struct {
        uint16_t status;
        enum hl_follow_answer answer;
    } answers[] = {{204, HL_FOLLOW_NOTHING}, {400, HL_FOLLOW_BAD_ID}, {409, HL_FOLLOW_NO_STREAM},
        {410, HL_FOLLOW_GONE}};
    struct hl_follower *f = owner;
    if (status == 200) {
        if (!f->is_answered)
            answer(f, HL_FOLLOW_OK, state);
        return;
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(answers) && !f->is_answered; i++)
        if (answers[i].status == status) {
            answer(f, answers[i].answer, state);
            return;
        }
    hl_relay_drop(f->relay);
    leave_relay(f);
}

static void on_relay_bytes(void *owner, struct hl_str bytes)
{
    struct hl_follower *f = owner;
    f->has_origin = true; /* there is no going back */
    while (bytes.n > 0) {
        size_t n = bytes.n < WRITE_SIZE ? bytes.n : WRITE_SIZE;
        if (!write_text(f, (struct hl_str){bytes.p, n}))
            return;
        bytes.p += n;
        bytes.n -= n;
    }
    if (is_blocked(f))
        hl_relay_pause(f->relay);
}

static void on_relay_end(void *owner, bool is_whole)
{
    struct hl_follower *f = owner;
    f->relay = NULL;
    if (f->is_answered && (is_whole || f->has_origin))
        f->events->end(f->owner, is_whole);
    else
        leave_relay(f);
}

static const struct hl_relay_events relay_events = {
    .answer = on_relay_answer, .bytes = on_relay_bytes, .end = on_relay_end};

/* Its bytes come with ids, heartbeats and all. False: it goes by the store. */
static bool begin_relay(struct hl_follower *f, const struct hl_get_run *g)
{
    struct hl_follow_desk *desk = f->desk;
    const struct hl_follow *grant = f->grant;
    struct hl_relay_parts parts = {.loop = desk->loop,
        .reader = desk->reader,
        .wheel = desk->wheel,
        .names = &desk->names,
        .store = desk->store,
        .silence_ms = 3 * desk->beat_ms,
        .events = &relay_events,
        .owner = f};
    struct hl_relay_request request = {.home = hl_buf_str(&g->home),
        .project = g->run.project,
        .app = g->run.app,
        .run_id = grant->run_id,
        .wants_progress = grant->wants_progress};
    if (g->home.n == 0 || grant->is_relayed || f->has_relayed || f->has_origin)
        return false;
    if (f->is_seeking)
        request.last_event_id = (struct hl_str){grant->wanted, grant->wanted_n};
    f->has_relayed = true;
    f->relay = hl_relay_begin(&parts, &request);
    if (!f->relay)
        return false;
    f->source = SOURCE_RELAY;
    f->poll_at = 0;
    leave_watch(f);
    return true;
}

/* ---- step by step ---- */

enum step { STEP_MORE, STEP_WAIT, STEP_GONE };

static enum step fail_step(struct hl_follower *f, enum hl_follow_answer what)
{
    fail(f, what, f->grant->state);
    return STEP_GONE;
}

/* The run is not inside this process. One that was running may have ended before there was a tap, or be inside
 * another process: the store knows. */
static enum step wait_for_start(struct hl_follower *f)
{
    if (f->is_over) {
        f->source = SOURCE_STORE;
        return STEP_MORE;
    }
    if (f->grant->state == HL_RUN_RUNNING && !f->has_asked) {
        f->has_asked = true;
        return ask(f) ? STEP_WAIT : fail_step(f, HL_FOLLOW_FAILED);
    }
    if (!begin_unseen(f, f->grant->attempt + 1, f->grant->state))
        return STEP_GONE;
    watch(f);
    set_poll(f);
    return STEP_WAIT;
}

/* The attempt that it is at has ended before anything was said to it: another follows. */
static enum step move_on(struct hl_follower *f)
{
    struct hl_desk_tap *old = f->tap;
    hl_desk_tap_unlist(old);
    hl_desk_tap_leave(old, &f->in_tap);
    f->has_origin = false;
    f->grant->attempt++;
    f->tap = hl_desk_tap_join(f->desk, &f->grant->run_id, &f->in_tap);
    return f->tap ? STEP_MORE : fail_step(f, HL_FOLLOW_FAILED);
}

static enum step wait_for_progress(struct hl_follower *f, const struct hl_journal_look *now)
{
    char json[HL_JOURNAL_PROGRESS + 1], text[PROGRESS_TEXT];
    uint64_t now_ms = uv_now(f->desk->loop);
    if (!f->grant->wants_progress || now->progress == f->progress || !is_between(f))
        return STEP_WAIT;
    if (f->progress_at > now_ms)
        return STEP_WAIT; /* the timer is set */
    if (!hl_journal_get_progress(f->tap->tap.journal, json))
        return STEP_WAIT;
    f->progress = now->progress;
    f->progress_at = now_ms + PROGRESS_MS;
    int n = snprintf(text, sizeof(text), "event: progress\ndata: %s\n\n", json);
    arm(f);
    return write_text(f, (struct hl_str){text, (size_t)n}) ? STEP_WAIT : STEP_GONE;
}

static enum step read_journal(struct hl_follower *f, const struct hl_journal_look *now)
{
    bool is_file;
    size_t n = hl_journal_read(f->tap->tap.journal, f->offset, f->desk->in, READ_SIZE, &is_file);
    if (n > 0) {
        bool is_over = now->stage == HL_JOURNAL_ENDED;
        return take(f, (struct hl_str){f->desk->in, n}, is_over, now->state) ? STEP_MORE
                                                                             : STEP_GONE;
    }
    if (is_file)
        return read_file(f) ? STEP_WAIT : fail_step(f, HL_FOLLOW_FAILED);
    if (!now->is_closed)
        return STEP_WAIT;
    f->source = SOURCE_STORE;
    return STEP_MORE;
}

/* It has all of what is there. */
static enum step wait_at_edge(struct hl_follower *f, const struct hl_journal_look *now)
{
    bool is_over = now->stage == HL_JOURNAL_ENDED;
    if (is_over && !now->is_closed)
        return STEP_WAIT; /* it is told no end that a kill can still turn into another */
    if (f->is_seeking && !is_over && now->size < now->coming)
        return STEP_WAIT; /* what it names may be on its way */
    if (f->is_seeking)
        return end_seek(f, is_over, now->state) ? STEP_MORE : STEP_GONE;
    if (!f->is_answered && is_over && now->size == 0) {
        answer(f, HL_FOLLOW_NOTHING, now->state);
        return STEP_GONE;
    }
    if (!f->is_answered && !answer(f, HL_FOLLOW_OK, now->state))
        return STEP_GONE;
    if (!is_over)
        return wait_for_progress(f, now);
    finish(f, now->state, now->reason);
    return STEP_GONE;
}

static enum step step_stream(struct hl_follower *f, const struct hl_journal_look *now)
{
    bool is_other = f->has_origin && f->attempt != now->attempt; /* it had bytes from elsewhere */
    if (is_other && !begin_anew(f))
        return STEP_GONE;
    set_origin(f, now->attempt, now->before);
    return f->offset < now->size ? read_journal(f, now) : wait_at_edge(f, now);
}

/* Something else than a stream, or nothing at all, came of it. */
static enum step step_other(struct hl_follower *f, const struct hl_journal_look *now)
{
    if (now->is_dropped)
        return fail_step(f, HL_FOLLOW_GONE);
    if (now->stage == HL_JOURNAL_OPEN)
        return begin_unseen(f, now->attempt, HL_RUN_RUNNING) ? wait_for_progress(f, now)
                                                             : STEP_GONE;
    if (now->stage == HL_JOURNAL_OTHER)
        return f->is_answered ? wait_for_progress(f, now) : fail_step(f, HL_FOLLOW_NO_STREAM);
    if (!now->is_closed)
        return STEP_WAIT;
    if (f->is_answered) {
        finish(f, now->state, now->reason);
        return STEP_GONE;
    }
    f->source = SOURCE_STORE;
    return STEP_MORE;
}

static enum step step_journal(struct hl_follower *f)
{
    struct hl_journal_look now;
    hl_journal_look(f->tap->tap.journal, &now);
    if (now.stage == HL_JOURNAL_AWAITED)
        return wait_for_start(f);
    leave_watch(f);
    f->poll_at = 0;
    if (now.stage == HL_JOURNAL_ENDED && now.is_again && !f->is_answered)
        return now.is_closed ? move_on(f) : STEP_WAIT; /* until then it would find the same one */
    return now.is_stream ? step_stream(f, &now) : step_other(f, &now);
}

static enum step step_store(struct hl_follower *f)
{
    return ask(f) ? STEP_WAIT : fail_step(f, HL_FOLLOW_FAILED);
}

/* Nothing that goes on here holds the end up for it. Who was there when the run ended takes the rest of it
 * from wherever that is by then. */
static bool is_in_the_way(const struct hl_follower *f)
{
    struct hl_journal_look now;
    if (!f->tap)
        return true;
    hl_journal_look(f->tap->tap.journal, &now);
    return now.stage == HL_JOURNAL_AWAITED || (now.stage == HL_JOURNAL_ENDED && is_blocked(f));
}

static void run_on(struct hl_follower *f)
{
    enum step step = STEP_MORE;
    if (f->desk->is_draining && is_in_the_way(f)) {
        fail(f, HL_FOLLOW_FAILED, f->grant->state);
        return;
    }
    if (f->relay) {
        if (!is_blocked(f))
            hl_relay_resume(f->relay);
        return;
    }
    while (step == STEP_MORE && !f->reading && !f->is_asking && !is_blocked(f))
        step = f->source == SOURCE_JOURNAL ? step_journal(f) : step_store(f);
    if (step != STEP_GONE && f->desk->is_draining && is_in_the_way(f))
        fail(f, HL_FOLLOW_FAILED, f->grant->state);
}

/* ---- the store's answers ---- */

static bool is_stream(const struct hl_outcome *o)
{
    return o->http_status == 200 && hl_is_event_stream(hl_str_from(o->content_type)) &&
           (!*o->content_encoding || strcmp(o->content_encoding, "identity") == 0);
}

/* The run has ended: what is kept of it, if it was a stream. */
static bool read_stored(struct hl_follower *f, const struct hl_get_run *g)
{
    const struct hl_outcome *o = &g->outcome;
    enum hl_run_state state = g->run.state;
    bool is_kept = o->body.where == HL_BODY_INLINE || o->body.where == HL_BODY_FILE;
    f->source = SOURCE_STORE;
    if (f->has_origin && f->attempt != g->run.attempt)
        return begin_anew(f);
    if (!is_stream(o) || !is_kept) {
        if (f->is_answered)
            finish(f, state, o->reason);
        else if (o->http_status == 0 || (is_stream(o) && o->body.where == HL_BODY_NONE))
            fail(f, HL_FOLLOW_NOTHING, state);
        else
            fail(f, is_stream(o) ? HL_FOLLOW_GONE : HL_FOLLOW_NO_STREAM, state);
        return false;
    }
    set_origin(f, g->run.attempt, hl_attempt_log_events(g->run.attempt_log));
    if (g->range.n > 0)
        return take(f, hl_buf_str(&g->range), true, state);
    if (f->offset < o->body.size)
        return fail_step(f, HL_FOLLOW_FAILED) == STEP_MORE;
    if (f->is_seeking)
        return end_seek(f, true, state);
    if (f->is_answered)
        finish(f, state, o->reason);
    else
        fail(f, HL_FOLLOW_NOTHING, state);
    return false;
}

/* What it names may be on its way to the store, which is behind the one that has the run. */
static bool awaits_id(struct hl_follower *f)
{
    struct hl_event_place place;
    if (f->late_asks >= LATE_ASKS ||
        hl_event_seek_end(&f->seek, false, f->attempt > 1, &place) != HL_SEEK_BAD_ID)
        return false;
    f->late_asks++;
    set_poll(f);
    return true;
}

/* Another process has it, or nobody yet. */
static bool read_unfinished(struct hl_follower *f, const struct hl_get_run *g)
{
    f->is_over = false;
    f->grant->state = g->run.state;
    f->grant->attempt = g->run.attempt;
    f->source = SOURCE_JOURNAL;
    if (!f->tap)
        f->tap = hl_desk_tap_join(f->desk, &f->grant->run_id, &f->in_tap);
    if (!f->tap)
        return fail_step(f, HL_FOLLOW_FAILED) == STEP_MORE;
    if (f->has_origin && f->attempt != g->run.attempt) {
        f->source = SOURCE_STORE;
        return begin_anew(f);
    }
    if (begin_relay(f, g))
        return true;
    if (g->range.n == 0 && f->has_origin && f->is_seeking)
        return !awaits_id(f) && end_seek(f, false, g->run.state);
    if (g->range.n > 0) {
        set_origin(f, g->run.attempt, hl_attempt_log_events(g->run.attempt_log));
        if (!take(f, hl_buf_str(&g->range), false, g->run.state))
            return false;
        f->source = SOURCE_STORE;
    }
    return true;
}

static void on_run(struct hl_follower *f, const struct hl_get_run *g)
{
    f->is_asking = false;
    bool goes_on = false;
    if (g->m.rc == HL_ERR_NOT_FOUND)
        fail(f, HL_FOLLOW_GONE, f->grant->state);
    else if (g->m.rc != HL_OK)
        fail(f, HL_FOLLOW_FAILED, f->grant->state);
    else if (hl_run_state_is_final(g->run.state))
        goes_on = read_stored(f, g);
    else
        goes_on = read_unfinished(f, g);
    if (goes_on)
        run_on(f);
}

/* The run has ended, or the store is closing: it says which. */
static void on_watch(struct hl_follower *f, const struct hl_watch *w)
{
    bool is_barrier = w->m.msg.type == HL_STORE_UNWATCH;
    if (is_barrier && (!hl_id_is_nil(&w->run_id) || f->is_asking))
        return;
    if (!is_barrier) {
        f->is_watching = false;
        f->is_over = w->m.rc == HL_OK;
    }
    if (!is_barrier && w->m.rc == HL_ERR_CANCELLED)
        return;
    bool looks = f->source == SOURCE_JOURNAL && !f->is_asking && !f->reading;
    if (looks && !ask(f))
        fail(f, HL_FOLLOW_FAILED, f->grant->state);
}

static void take_reply(struct hl_follow_desk *desk, struct hl_store_msg *m)
{
    struct hl_follower *f = hl_slot_find(&desk->slots, m->from);
    if (m->msg.type == HL_STORE_GET_RUN) {
        struct hl_get_run *g = (struct hl_get_run *)m;
        if (f)
            on_run(f, g);
        hl_get_run_fini(g);
    } else if (f) {
        on_watch(f, (struct hl_watch *)m);
    }
    free(m);
}

/* ---- waking ---- */

static void make_ready(struct hl_follow_desk *desk, struct hl_follower *f)
{
    hl_list_remove(&f->in_ready);
    hl_list_push_back(&desk->ready, &f->in_ready);
}

/* Several taps may be heard in one turn of the loop. */
static void serve_ready(struct hl_follow_desk *desk)
{
    struct hl_list *node = NULL;
    if (desk->turn != desk->reader->turn) {
        desk->turn = desk->reader->turn;
        desk->served = 0;
    }
    while (desk->served < TURN_MAX && (node = hl_list_pop_front(&desk->ready)) != NULL) {
        desk->served++;
        run_on(HL_CONTAINER_OF(node, struct hl_follower, in_ready));
    }
    if (hl_list_is_empty(&desk->ready) || desk->is_again_posted)
        return;
    desk->is_again_posted = true;
    desk->again.type = HL_DESK_AGAIN;
    hl_mailbox_post(&desk->mail.box, &desk->again);
}

static void wake_tap(struct hl_follow_desk *desk, struct hl_desk_tap *tap)
{
    if (!hl_desk_tap_heard(tap))
        return;
    HL_LIST_EACH (node, &tap->followers)
        make_ready(desk, HL_CONTAINER_OF(node, struct hl_follower, in_tap));
    serve_ready(desk);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_follow_desk *desk = self;
    switch (msg->type) {
    case HL_DESK_TAP:
        wake_tap(desk, HL_CONTAINER_OF(msg, struct hl_desk_tap, tap.msg));
        break;
    case HL_DESK_AGAIN:
        desk->is_again_posted = false;
        serve_ready(desk);
        break;
    default:
        take_reply(desk, HL_CONTAINER_OF(msg, struct hl_store_msg, msg));
    }
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_follower *f = HL_CONTAINER_OF(timer, struct hl_follower, timer);
    uint64_t now = uv_now(f->desk->loop);
    bool is_poll_due = f->poll_at > 0 && f->poll_at <= now;
    bool is_beat_due = f->beat_at > 0 && f->beat_at <= now;
    if (is_beat_due)
        set_beat(f);
    if (is_poll_due)
        f->poll_at = 0;
    if (f->progress_at > 0 && f->progress_at <= now)
        f->progress_at = 0;
    arm(f);
    if (is_beat_due && is_between(f) && !is_blocked(f) &&
        !write_text(f, HL_STR(": keep-alive\n\n")))
        return;
    if (is_poll_due && !f->is_asking && !f->reading && !ask(f)) {
        fail(f, HL_FOLLOW_FAILED, f->grant->state);
        return;
    }
    run_on(f);
}

/* ---- one follower ---- */

struct hl_follower *hl_follower_new(struct hl_follow_desk *desk, struct hl_follow *grant,
    bool is_chunked, const struct hl_follower_events *events, void *owner)
{
    struct hl_follower *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->desk = desk;
    f->events = events;
    f->owner = owner;
    f->is_chunked = is_chunked;
    f->is_seeking = grant->wanted_n > 0;
    hl_list_init(&f->in_all);
    hl_list_init(&f->in_tap);
    hl_list_init(&f->in_ready);
    hl_timer_init(&f->timer, on_timer);
    f->name = hl_slot_add(&desk->slots, f);
    if (hl_run_state_is_final(grant->state))
        f->source = SOURCE_STORE;
    else
        f->tap = hl_desk_tap_join(desk, &grant->run_id, &f->in_tap);
    if (f->name.generation == 0 || (f->source == SOURCE_JOURNAL && !f->tap)) {
        if (f->tap)
            hl_desk_tap_leave(f->tap, &f->in_tap);
        hl_slot_remove(&desk->slots, f->name);
        free(f);
        return NULL;
    }
    f->grant = grant;
    hl_list_push_back(&desk->followers, &f->in_all);
    return f;
}

void hl_follower_start(struct hl_follower *f)
{
    run_on(f);
}

void hl_follower_go_on(struct hl_follower *f)
{
    run_on(f);
}

void hl_follower_free(struct hl_follower *f)
{
    if (!f)
        return;
    struct hl_follow_desk *desk = f->desk;
    if (f->reading)
        f->reading->follower = NULL;
    leave_watch(f);
    hl_relay_drop(f->relay);
    hl_timer_fini(desk->wheel, &f->timer);
    hl_list_remove(&f->in_all);
    hl_list_remove(&f->in_ready);
    if (f->tap)
        hl_desk_tap_leave(f->tap, &f->in_tap);
    hl_slot_remove(&desk->slots, f->name);
    hl_follow_free(f->grant);
    free(f);
}

/* ---- the desk ---- */

int hl_follow_desk_init(struct hl_follow_desk *desk)
{
    hl_relay_names_init(&desk->names, desk->loop);
    hl_slot_table_init(&desk->slots);
    hl_id_map_init(&desk->taps);
    hl_list_init(&desk->followers);
    hl_list_init(&desk->ready);
    desk->in = malloc(READ_SIZE);
    desk->out = malloc(HL_CHUNK_HEAD_MAX + ALL_ROOM);
    if (!desk->in || !desk->out)
        return UV_ENOMEM;
    return hl_uv_mailbox_init(&desk->mail, desk->loop, on_message, desk);
}

void hl_follow_desk_drain(struct hl_follow_desk *desk)
{
    desk->is_draining = true;
    HL_LIST_EACH_SAFE (node, &desk->followers)
        run_on(HL_CONTAINER_OF(node, struct hl_follower, in_all));
}

void hl_follow_desk_close(struct hl_follow_desk *desk)
{
    hl_relay_names_close(&desk->names);
    hl_uv_mailbox_close(&desk->mail);
}

void hl_follow_desk_fini(struct hl_follow_desk *desk)
{
    struct hl_msg *next;
    for (struct hl_msg *msg = hl_mailbox_take(&desk->mail.box); msg; msg = next) {
        next = msg->next;
        if (msg->type != HL_DESK_AGAIN)
            on_message(desk, msg);
    }
    hl_slot_table_fini(&desk->slots);
    hl_id_map_fini(&desk->taps);
    free(desk->in);
    free(desk->out);
}
