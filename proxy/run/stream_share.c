/* stream_share.c - see stream_share.h.
 * Promise: parts go in order, one at a time, and never hold up the stream; one that the store refuses goes again.
 * Not here: what becomes of them (store/postgres/op_notice.c). */
#include "run/stream_share.h"

#include <stdlib.h>
#include <string.h>

#include "body/journal.h"
#include "body/journals.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "store/claim.h"
#include "store/store.h"

#define PART_MS     1000
#define PROGRESS_MS 5000

struct hl_stream_reading {
    uv_work_t work;
    struct hl_stream_share *share; /* NULL: it is over */
    struct hl_journal *journal;
    struct hl_keep_stream *part;
    size_t room;
    ptrdiff_t n;
};

static void on_parts(struct hl_timer *timer);
static void on_progress(struct hl_timer *timer);

void hl_stream_share_init(struct hl_stream_share *s, struct hl_run *run)
{
    *s = (struct hl_stream_share){.run = NULL};
    hl_timer_init(&s->parts, on_parts);
    hl_timer_init(&s->progress, on_progress);
    if (hl_store_is_shared(run->runs->service->store))
        s->run = run;
}

/* True: the store has it, and answers. */
static bool post(struct hl_stream_share *s, uint32_t type, struct hl_store_msg *m)
{
    m->msg.type = type;
    m->reply_to = s->run->runs->box;
    m->from = s->run->name;
    return hl_store_post(s->run->runs->service->store, m) == HL_OK;
}

static struct hl_journal *journal_of(const struct hl_stream_share *s)
{
    return s->run->stream->journal;
}

/* ---- parts of the stream ---- */

static void try_later(struct hl_stream_share *s)
{
    s->is_busy = false;
    hl_timer_arm(s->run->runs->wheel, &s->parts, PART_MS);
}

static void post_part(struct hl_stream_share *s, struct hl_keep_stream *part, size_t n)
{
    part->bytes.n = n;
    if ((n > 0 || part->answer_head.n > 0) && post(s, HL_STORE_KEEP_STREAM, &part->m))
        return;
    hl_keep_stream_free(part);
    try_later(s);
}

static void read_part(uv_work_t *work)
{
    struct hl_stream_reading *r = HL_CONTAINER_OF(work, struct hl_stream_reading, work);
    r->n = hl_journal_read_file(r->journal, r->part->at, r->part->bytes.p, r->room);
}

static void on_read(uv_work_t *work, int status)
{
    (void)status;
    struct hl_stream_reading *r = HL_CONTAINER_OF(work, struct hl_stream_reading, work);
    struct hl_stream_share *s = r->share;
    if (s) {
        s->reading = NULL;
        post_part(s, r->part, r->n > 0 ? (size_t)r->n : 0);
    } else {
        hl_keep_stream_free(r->part);
    }
    hl_journals_release(r->journal);
    free(r);
}

/* False: short of memory. The part is taken otherwise. */
static bool begin_reading(struct hl_stream_share *s, struct hl_keep_stream *part, size_t room)
{
    struct hl_stream_reading *r = calloc(1, sizeof(*r));
    if (!r)
        return false;
    r->share = s;
    r->part = part;
    r->room = room;
    r->journal = journal_of(s);
    hl_journals_hold(r->journal);
    if (uv_queue_work(s->run->runs->loop, &r->work, read_part, on_read) == 0) {
        s->reading = r;
        return true;
    }
    hl_journals_release(r->journal);
    free(r);
    return false;
}

/* The first part has it. */
static bool owes_head(const struct hl_stream_share *s)
{
    return s->run->terms.has_caller && !s->is_head_told && s->run->store.finish;
}

/* NULL: out of memory. */
static struct hl_keep_stream *make_part(const struct hl_stream_share *s, size_t room)
{
    const struct hl_run *run = s->run;
    struct hl_keep_stream *part = calloc(1, sizeof(*part));
    if (!part)
        return NULL;
    hl_buf_init(&part->bytes, 0);
    part->run_id = run->id;
    part->epoch = hl_run_epoch(run);
    part->attempt = run->store.claimed ? run->store.claimed->attempt : 1;
    part->at = s->at;
    enum hl_err err = hl_buf_reserve(&part->bytes, room);
    if (!err && owes_head(s))
        err = hl_buf_append_str(&part->answer_head, hl_buf_str(&run->store.finish->answer_head));
    if (!err)
        return part;
    hl_keep_stream_free(part);
    return NULL;
}

static void send_part(struct hl_stream_share *s, uint64_t pending)
{
    bool is_file = false;
    size_t room = pending < HL_STREAM_PART_MAX ? (size_t)pending : HL_STREAM_PART_MAX;
    struct hl_keep_stream *part = make_part(s, room);
    s->is_busy = true;
    if (!part) {
        try_later(s);
        return;
    }
    size_t n = room > 0 ? hl_journal_read(journal_of(s), s->at, part->bytes.p, room, &is_file) : 0;
    if (n == 0 && is_file && begin_reading(s, part, room))
        return;
    post_part(s, part, n);
}

/* How much the store does not have. */
static uint64_t pending(const struct hl_stream_share *s)
{
    struct hl_journal_look now;
    hl_journal_observe(journal_of(s), &now);
    return !now.is_dropped && now.size > s->at ? now.size - s->at : 0;
}

void hl_stream_share_head(struct hl_stream_share *s)
{
    if (s->run && !s->is_busy && owes_head(s))
        send_part(s, pending(s));
}

void hl_stream_share_note(struct hl_stream_share *s)
{
    if (!s->run || s->is_busy || !s->run->stream->is_kept)
        return;
    uint64_t n = pending(s);
    if (n >= HL_STREAM_PART_MAX)
        send_part(s, n);
    else if (!hl_timer_is_armed(&s->parts))
        hl_timer_arm(s->run->runs->wheel, &s->parts, PART_MS);
}

static void on_parts(struct hl_timer *timer)
{
    struct hl_stream_share *s = HL_CONTAINER_OF(timer, struct hl_stream_share, parts);
    uint64_t n = s->is_busy ? 0 : pending(s);
    if (n > 0 || (!s->is_busy && owes_head(s)))
        send_part(s, n);
    else if (!s->is_busy && s->run->spool && hl_spool_size(s->run->spool) > s->at)
        hl_timer_arm(s->run->runs->wheel, timer, PART_MS); /* the disk is slow */
}

static void on_kept(struct hl_stream_share *s, const struct hl_keep_stream *part)
{
    s->is_busy = false;
    if (part->m.rc == HL_ERR_STALE) {
        hl_stream_share_fini(s);
    } else if (part->m.rc == HL_OK) {
        s->at += part->bytes.n;
        s->is_head_told |= part->answer_head.n > 0;
        uint64_t n = pending(s);
        if (n > 0 && part->bytes.n == HL_STREAM_PART_MAX)
            send_part(s, n); /* it was there when that part went: its second is over */
        else if (n > 0)
            hl_stream_share_note(s);
    } else {
        try_later(s);
    }
}

/* ---- progress ---- */

/* What the store refuses comes with the next one. */
static void say(struct hl_stream_share *s)
{
    struct hl_say_progress *said = calloc(1, sizeof(*said));
    s->has_news = false;
    if (!said)
        return;
    said->run_id = s->run->id;
    said->epoch = hl_run_epoch(s->run);
    if (!hl_journal_get_progress(journal_of(s), said->json) ||
        !post(s, HL_STORE_SAY_PROGRESS, &said->m)) {
        free(said);
        return;
    }
    s->is_said = true;
    hl_timer_arm(s->run->runs->wheel, &s->progress, PROGRESS_MS);
}

void hl_stream_share_say(struct hl_stream_share *s)
{
    if (!s->run)
        return;
    s->has_news = true;
    if (!s->is_said)
        say(s);
}

static void on_progress(struct hl_timer *timer)
{
    struct hl_stream_share *s = HL_CONTAINER_OF(timer, struct hl_stream_share, progress);
    s->is_said = false;
    if (s->has_news)
        say(s);
}

/* ---- its end ---- */

void hl_stream_share_end(struct hl_stream_share *s)
{
    if (s->run && s->has_news)
        say(s);
}

void hl_stream_share_fini(struct hl_stream_share *s)
{
    if (!s->run)
        return;
    hl_timer_fini(s->run->runs->wheel, &s->parts);
    hl_timer_fini(s->run->runs->wheel, &s->progress);
    if (s->reading)
        s->reading->share = NULL;
    s->run = NULL;
}

void hl_stream_share_on_reply(struct hl_runs *runs, struct hl_store_msg *m)
{
    struct hl_run *run = hl_slot_find(runs->slots, m->from);
    if (m->msg.type == HL_STORE_SAY_PROGRESS) {
        free(m);
        return;
    }
    struct hl_keep_stream *part = (struct hl_keep_stream *)m;
    if (run && run->stream && run->stream->share.run)
        on_kept(&run->stream->share, part);
    hl_keep_stream_free(part);
}
