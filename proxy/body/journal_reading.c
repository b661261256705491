/* journal_reading.c - see journal_reading.h.
 * Owns: the bytes that were read, and itself: it goes when the pool has done with it. Thread: its loop; the file is
 * read in libuv's pool.
 * Promise: the journal outlives it.
 * Not here: what is in memory still (journal.c). */
#include "body/journal_reading.h"

#include <stdlib.h>

#include "body/journal.h"
#include "body/journals.h"

#define PIECE (16 * 1024)

struct hl_journal_reading {
    uv_work_t work;
    struct hl_journal *journal;
    hl_journal_piece *on_piece;
    void *owner; /* NULL: it has gone */
    uint64_t offset;
    ptrdiff_t n;
    char piece[PIECE];
};

static void on_work(uv_work_t *work)
{
    struct hl_journal_reading *r = HL_CONTAINER_OF(work, struct hl_journal_reading, work);
    r->n = hl_journal_read_file(r->journal, r->offset, r->piece, sizeof(r->piece));
}

static void on_done(uv_work_t *work, int status)
{
    (void)status;
    struct hl_journal_reading *r = HL_CONTAINER_OF(work, struct hl_journal_reading, work);
    bool is_read = r->n >= 0;
    if (r->owner)
        r->on_piece(
            r->owner, r->journal, is_read, (struct hl_str){r->piece, is_read ? (size_t)r->n : 0});
    hl_journals_release(r->journal);
    free(r);
}

struct hl_journal_reading *hl_journal_reading_begin(
    uv_loop_t *loop, struct hl_journal *j, uint64_t offset, hl_journal_piece *on_piece, void *owner)
{
    struct hl_journal_reading *r = malloc(sizeof(*r));
    if (!r)
        return NULL;
    r->journal = j;
    r->on_piece = on_piece;
    r->owner = owner;
    r->offset = offset;
    hl_journals_hold(j);
    if (uv_queue_work(loop, &r->work, on_work, on_done) == 0)
        return r;
    hl_journals_release(j);
    free(r);
    return NULL;
}

void hl_journal_reading_leave(struct hl_journal_reading *r)
{
    if (r)
        r->owner = NULL;
}
