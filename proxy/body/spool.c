/* spool.c - collects a body at rest while it passes.
 * Owns: the bytes not yet written, and the file until its name is given to a record.
 * Thread: the worker's.
 * Promise: taking never fails, waits or calls back. With a source that pauses when it is full, memory
 * stays under 256 KiB a spool; those in a hurry share HL_SPOOL_BURST a process before they are full.
 * Not here: how pieces are written and hashed in libuv's pool (body_writer.c), how a file that nobody wants any more
 * goes (body_removal.c). */
#include "body/spool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "body/body_writer.h"
#include "body/journal.h"
#include "http/body_check.h"
#include "store/body_file.h"

/* A source is paused when this much waits behind a piece in flight. */
#define PIECE_SIZE   (64 * 1024)
#define HASH_NOW_MAX (16 * 1024) /* hashing this much on the loop takes 55 us at most */
#define GROW_FIRST   1024

/* Where the body is. */
enum spool_place {
    /* Everything is in `bytes`, until it outgrows HL_BODY_INLINE_MAX or a long body is announced; of a
     * body that others follow, in the journal. */
    SPOOL_MEMORY,
    SPOOL_FILE,      /* pieces go to the file; `bytes` waits for the piece in flight */
    SPOOL_JOURNALED, /* the same, and in the journal; if it is short it ends in MEMORY */
    SPOOL_DROPPED,   /* too long, or the disk failed: only the count goes on */
};

/* Who still wants it. */
enum spool_stage {
    SPOOL_TAKING,    /* more may come */
    SPOOL_ENDING,    /* no more comes; on_done is due */
    SPOOL_ABANDONED, /* nobody: it goes with its file when the pool lets go of it */
    SPOOL_LEFT,      /* the same, but the file stays */
};

struct hl_spool {
    struct hl_spool_home *home;
    const struct hl_spool_events *events;
    void *owner;
    enum spool_place place;
    enum spool_stage stage;
    enum hl_err err;         /* why it was dropped */
    bool checks, is_hurried; /* as it was told */
    bool is_waited_for;      /* on_room is due */
    uint64_t limit, size;

    char *bytes; /* waiting */
    size_t n, cap;
    size_t writing_cap;         /* of the piece in flight */
    size_t burst;               /* taken from home->burst_left, for what waits */
    size_t writing_burst;       /* and for the piece in flight */
    uint64_t memory;            /* taken from home->memory_left */
    struct hl_journal *journal; /* NULL: nobody follows */

    struct hl_body_writer writer;
    struct hl_body_check check;
};

static void on_written(struct hl_body_writer *writer);

/* ---- movers ---- */

static void move_place(struct hl_spool *s, enum spool_place to)
{
    static const unsigned moves[] = {
        [SPOOL_MEMORY] = 1U << SPOOL_FILE | 1U << SPOOL_JOURNALED | 1U << SPOOL_DROPPED,
        [SPOOL_FILE] = 1U << SPOOL_DROPPED,
        [SPOOL_JOURNALED] = 1U << SPOOL_MEMORY | 1U << SPOOL_FILE | 1U << SPOOL_DROPPED,
        [SPOOL_DROPPED] = 1U << SPOOL_DROPPED, /* for another reason */
    };
    HL_ASSERT(moves[s->place] >> to & 1U);
    s->place = to;
}

static void move_stage(struct hl_spool *s, enum spool_stage to)
{
    HL_ASSERT(s->stage < to && s->stage < SPOOL_ABANDONED);
    s->stage = to;
}

static bool is_in_file(const struct hl_spool *s)
{
    return s->place == SPOOL_FILE || s->place == SPOOL_JOURNALED;
}

/* ---- its life ---- */

struct hl_spool *hl_spool_new(struct hl_spool_home *home, uint64_t limit, bool checks,
    bool expects_json, const struct hl_spool_events *events, void *owner)
{
    struct hl_spool *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->home = home;
    s->events = events;
    s->owner = owner;
    s->limit = home->data_dir || limit < HL_BODY_MEMORY_MAX ? limit : HL_BODY_MEMORY_MAX;
    s->checks = checks;
    if (checks)
        hl_body_check_init(&s->check, expects_json);
    hl_body_writer_init(&s->writer, home->loop, home->data_dir, on_written);
    s->writer.wants_sha256 = home->wants_sha256;
    home->open++;
    return s;
}

static void give_memory_back(struct hl_spool *s)
{
    if (s->memory > 0)
        atomic_fetch_add(s->home->memory_left, s->memory);
    s->memory = 0;
}

static void spool_free(struct hl_spool *s)
{
    s->home->burst_left += s->burst + s->writing_burst;
    s->home->open--;
    give_memory_back(s);
    hl_body_writer_fini(&s->writer);
    free(s->bytes);
    free(s);
}

static void drop(struct hl_spool *s, enum hl_err err)
{
    move_place(s, SPOOL_DROPPED);
    give_memory_back(s);
    s->err = err;
    free(s->bytes);
    s->bytes = NULL;
    s->n = s->cap = 0;
    s->home->burst_left += s->burst;
    s->burst = 0;
    if (s->journal)
        hl_journal_drop(s->journal);
}

static void begin_file(struct hl_spool *s)
{
    move_place(s, SPOOL_FILE);
    s->writer.file = hl_id_next(s->home->ids, hl_clock_wall_ms());
}

void hl_spool_set_journal(struct hl_spool *s, struct hl_journal *journal, const struct hl_id *file)
{
    s->journal = journal;
    if (!s->home->data_dir)
        return;
    move_place(s, SPOOL_JOURNALED);
    s->writer.file = *file;
}

void hl_spool_want_sha256(struct hl_spool *s)
{
    s->writer.wants_sha256 = true;
}

void hl_spool_expect(struct hl_spool *s, uint64_t size)
{
    if (size > s->limit)
        drop(s, HL_ERR_TOO_LARGE);
    else if (size > HL_BODY_INLINE_MAX && s->home->data_dir && s->place == SPOOL_MEMORY)
        begin_file(s);
}

/* If no more comes all of it is in the journal. */
static bool is_short(const struct hl_spool *s)
{
    return s->place == SPOOL_JOURNALED && s->size <= HL_BODY_INLINE_MAX;
}

/* Gives all that waits to the pool. */
static void submit(struct hl_spool *s)
{
    char *bytes = s->bytes;
    size_t n = s->n;
    bool is_last = s->stage == SPOOL_ENDING && !is_short(s);
    s->writing_burst = s->burst;
    s->burst = 0;
    s->writing_cap = s->cap;
    s->bytes = NULL;
    s->n = s->cap = 0;
    hl_body_writer_submit(&s->writer, bytes, n, is_in_file(s), is_last);
}

static void on_removed(struct hl_body_writer *writer)
{
    spool_free(HL_CONTAINER_OF(writer, struct hl_spool, writer));
}

/* The file goes, then the spool. */
static void discard(struct hl_spool *s)
{
    if (s->stage == SPOOL_LEFT || !hl_body_writer_remove(&s->writer, on_removed))
        spool_free(s);
}

/* Tells the owner what became of the body. */
static void conclude(struct hl_spool *s)
{
    struct hl_body body = {
        .where = s->err == HL_ERR_TOO_LARGE ? HL_BODY_DROPPED : HL_BODY_UNKEPT, .size = s->size};
    if (is_in_file(s)) {
        body.where = HL_BODY_FILE;
        body.file = s->writer.file;
    } else if (s->place == SPOOL_MEMORY) {
        body.where = HL_BODY_INLINE;
        body.bytes = s->bytes;
        s->bytes = NULL;
    }
    memcpy(body.digest, s->writer.digest, sizeof(body.digest));
    s->events->on_done(s->owner, s, s->err, &body);
    if (s->place == SPOOL_DROPPED)
        discard(s);
    else
        spool_free(s);
}

/* Those who follow see what is in the file, or all there is without one. */
static void publish(struct hl_spool *s, struct hl_str bytes)
{
    if (s->journal && bytes.n > 0 && s->place != SPOOL_DROPPED &&
        !hl_journal_add(s->journal, bytes, s->writer.fd))
        drop(s, HL_ERR_NOMEM);
}

/* The room of a small piece is the next one's: a stream has one for each event. */
static void reuse(struct hl_spool *s, char *bytes)
{
    if (s->bytes || s->place == SPOOL_DROPPED || s->writing_cap != GROW_FIRST) {
        free(bytes);
        return;
    }
    s->bytes = bytes;
    s->cap = s->writing_cap;
}

/* The piece is no longer the pool's. */
static void take_back(struct hl_spool *s)
{
    struct hl_body_writer *writer = &s->writer;
    if (s->place == SPOOL_MEMORY && writer->is_last) {
        s->bytes = writer->bytes; /* only hashed: they are still the body */
        s->n = writer->n;
        writer->bytes = NULL;
        return;
    }
    if (writer->err == HL_OK)
        publish(s, (struct hl_str){writer->bytes, writer->n});
    reuse(s, writer->bytes);
    writer->bytes = NULL;
}

/* All of it is in the journal. */
static void take_from_journal(struct hl_spool *s)
{
    char *bytes = s->size > 0 ? hl_journal_take(s->journal) : NULL;
    bool is_there = bytes || s->size == 0;
    if (s->place == SPOOL_JOURNALED)
        move_place(s, is_there ? SPOOL_MEMORY : SPOOL_FILE);
    else if (!is_there)
        drop(s, HL_ERR_NOMEM);
    if (!is_there)
        return;
    free(s->bytes);
    s->bytes = bytes;
    s->n = s->cap = (size_t)s->size;
}

/* Nothing is in the pool, and no more comes. */
static void end(struct hl_spool *s)
{
    if (s->n == 0 && is_short(s))
        take_from_journal(s);
    if (is_in_file(s) || (s->place == SPOOL_MEMORY && s->n > HASH_NOW_MAX)) {
        submit(s);
        return;
    }
    if (s->place == SPOOL_MEMORY)
        hl_body_writer_hash(&s->writer, s->bytes, s->n);
    conclude(s);
}

/* What was dropped in the middle need not stay on the disk until the end. */
static void clear_file(struct hl_spool *s)
{
    if (s->place == SPOOL_DROPPED && !s->writer.is_running)
        hl_body_writer_drop(&s->writer);
}

/* So many bytes are worth a write: of a body that others follow any, at least one. */
static size_t piece_size(const struct hl_spool *s)
{
    return s->journal ? 1 : PIECE_SIZE;
}

static void tell_room(struct hl_spool *s)
{
    if (!s->is_waited_for)
        return;
    s->is_waited_for = false;
    s->events->on_room(s->owner);
}

static void on_written(struct hl_body_writer *writer)
{
    struct hl_spool *s = HL_CONTAINER_OF(writer, struct hl_spool, writer);
    bool was_last = writer->is_last;
    s->home->burst_left += s->writing_burst;
    s->writing_burst = 0;
    if (s->stage >= SPOOL_ABANDONED) {
        free(writer->bytes);
        writer->bytes = NULL;
        discard(s);
        return;
    }
    take_back(s);
    if (writer->err != HL_OK && is_in_file(s)) {
        HL_LOG(ERROR, "a body cannot be written to the data directory",
            HL_LOG_TEXT("error", hl_err_text(writer->err)));
        drop(s, writer->err);
    }
    if (s->stage == SPOOL_ENDING) {
        if (was_last || s->place == SPOOL_DROPPED)
            conclude(s);
        else
            end(s);
        return;
    }
    if (is_in_file(s) && s->n >= piece_size(s))
        submit(s);
    clear_file(s);
    if (s->is_waited_for && !hl_spool_is_full(s))
        tell_room(s);
}

/* Makes room for n more bytes; false: out of memory. */
static bool reserve(struct hl_spool *s, size_t n)
{
    size_t need = s->n + n;
    if (need <= s->cap)
        return true;
    size_t cap = s->cap ? s->cap : GROW_FIRST;
    while (cap < need)
        cap *= 2;
    char *bytes = realloc(s->bytes, cap);
    if (!bytes)
        return false;
    s->bytes = bytes;
    s->cap = cap;
    return true;
}

/* A body that stays in memory has its share of what the store may take there, for it ends up in it.
 * False: there is none left. */
static bool take_memory(struct hl_spool *s)
{
    _Atomic uint64_t *left = s->home->memory_left;
    if (!left || s->home->data_dir || s->place != SPOOL_MEMORY || s->size > s->limit)
        return true;
    while (s->size > HL_BODY_INLINE_MAX + s->memory) {
        uint64_t now = atomic_load(left);
        if (now < PIECE_SIZE)
            return false;
        if (!atomic_compare_exchange_weak(left, &now, now - PIECE_SIZE))
            continue;
        s->memory += PIECE_SIZE;
    }
    return true;
}

void hl_spool_take(struct hl_spool *s, const char *p, size_t n)
{
    if (n == 0)
        return;
    s->size += n;
    if (!take_memory(s))
        drop(s, HL_ERR_FULL);
    if (s->checks)
        hl_body_check_feed(&s->check, p, n);
    if (s->place == SPOOL_DROPPED)
        return;
    if (s->size > s->limit) {
        drop(s, HL_ERR_TOO_LARGE);
        clear_file(s);
        return;
    }
    if (s->journal && s->place == SPOOL_MEMORY) {
        publish(s, (struct hl_str){p, n});
        return;
    }
    if (!reserve(s, n)) {
        drop(s, HL_ERR_NOMEM);
        return;
    }
    memcpy(s->bytes + s->n, p, n);
    s->n += n;
    if (s->place == SPOOL_MEMORY && s->size > HL_BODY_INLINE_MAX && s->home->data_dir)
        begin_file(s);
    if (is_in_file(s) && s->n >= piece_size(s) && !s->writer.is_running)
        submit(s);
}

/* One more piece of what the spools in a hurry share. */
static bool take_burst(struct hl_spool *s)
{
    if (!s->is_hurried || s->home->burst_left < PIECE_SIZE)
        return false;
    s->home->burst_left -= PIECE_SIZE;
    s->burst += PIECE_SIZE;
    return true;
}

bool hl_spool_is_full(struct hl_spool *s)
{
    if (!is_in_file(s) || !s->writer.is_running || s->n < PIECE_SIZE + s->burst || take_burst(s))
        return false;
    s->is_waited_for = true;
    return true;
}

void hl_spool_set_hurried(struct hl_spool *s, bool is_hurried)
{
    s->is_hurried = is_hurried;
}

void hl_spool_give_up(struct hl_spool *s, enum hl_err why)
{
    if (s->place == SPOOL_DROPPED || s->stage != SPOOL_TAKING)
        return;
    drop(s, why);
    clear_file(s);
    tell_room(s);
}

uint64_t hl_spool_written(const struct hl_spool *s)
{
    return atomic_load_explicit(&s->writer.written, memory_order_relaxed);
}

bool hl_spool_keeps(const struct hl_spool *s)
{
    return s->place != SPOOL_DROPPED;
}

bool hl_spool_is_over(const struct hl_spool *s)
{
    return s->size > s->limit || (s->place == SPOOL_DROPPED && s->err == HL_ERR_TOO_LARGE);
}

uint64_t hl_spool_size(const struct hl_spool *s)
{
    return s->size;
}

const struct hl_body_check *hl_spool_check(const struct hl_spool *s)
{
    return &s->check;
}

void hl_spool_end(struct hl_spool *s)
{
    move_stage(s, SPOOL_ENDING);
    if (s->journal && s->place == SPOOL_MEMORY)
        take_from_journal(s);
    if (!s->writer.is_running) /* else on_written goes on */
        end(s);
}

static void forget(struct hl_spool *s, enum spool_stage stage)
{
    if (!s)
        return;
    move_stage(s, stage);
    if (!s->writer.is_running)
        discard(s);
}

void hl_spool_abandon(struct hl_spool *s)
{
    forget(s, SPOOL_ABANDONED);
}

void hl_spool_leave(struct hl_spool *s)
{
    forget(s, SPOOL_LEFT);
}
