/* spool.h - collects a body at rest while it passes: in memory up to 256 KiB, beyond that in a file
 * of the data directory, written and hashed piece by piece in libuv's pool, at most one piece in
 * flight. Finds out meanwhile what the body is (http/body_check.h).
 *
 * One worker's thread. The spool frees itself: after on_done was called, or after hl_spool_abandon.
 */
#ifndef HL_BODY_SPOOL_H
#define HL_BODY_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "base/err.h"

struct hl_body;
struct hl_id;

/* What the spools of one worker share. */
struct hl_spool_home {
    uv_loop_t *loop;
    const char *data_dir; /* NULL: everything stays in memory */
    struct hl_id_source *ids;
    size_t burst_left; /* what spools in a hurry may still hold beyond their own bound */
    unsigned open;     /* spools alive */
    /* Without a data directory: what all workers' spools may hold beyond HL_BODY_INLINE_MAX each;
     * NULL: no limit. */
    _Atomic uint64_t *memory_left;
    bool wants_sha256; /* of all bodies: who reads them may know no other digest */
};

#define HL_SPOOL_BURST (16 * 1024 * 1024) /* a process: workers have equal parts */

struct hl_spool;
struct hl_journal;

struct hl_spool_events {
    /* There is room again after hl_spool_is_full said true, or the spool was given up. */
    void (*on_room)(void *owner);
    /* The body at rest, durable if in a file. `body` is the receiver's; with HL_OK or: TOO_LARGE
     * (where == DROPPED), IO or FULL (the disk), TIMEOUT (given up) or NOMEM (where == UNKEPT). Not
     * from inside hl_spool_end for files; possibly for small bodies. The spool is gone after it. */
    void (*on_done)(void *owner, struct hl_spool *spool, enum hl_err err, struct hl_body *body);
};

/* `limit`: a longer body is dropped (counted, not kept). `checks`: run hl_body_check;
 * `expects_json` as there. NULL: out of memory. */
struct hl_spool *hl_spool_new(struct hl_spool_home *home, uint64_t limit, bool checks,
    bool expects_json, const struct hl_spool_events *events, void *owner);

/* Before its first byte: the body is an event stream that others follow (borrowed until on_done or abandon).
 * With a data directory it is in the file `file` from its first byte on, and what is in it goes to the
 * journal; one that is short at its end is INLINE all the same, and the file stays: it is removed by the owner
 * when the body is recorded. */
void hl_spool_set_journal(struct hl_spool *s, struct hl_journal *journal, const struct hl_id *file);

/* Before its end: its digest is to be SHA-256 wherever it is (store/digest.h). */
void hl_spool_want_sha256(struct hl_spool *s);
/* The body's length is known: a long one goes to the file from the start. */
void hl_spool_expect(struct hl_spool *s, uint64_t size);

/* Takes a copy. Never fails and never waits: what cannot be kept is dropped, and on_done says so.
 */
void hl_spool_take(struct hl_spool *s, const char *p, size_t n);

/* Its source pauses until on_room, or until the spool is given up. */
bool hl_spool_is_full(struct hl_spool *s);
/* Somebody waits for its source: it is full only when the burst is used up. */
void hl_spool_set_hurried(struct hl_spool *s, bool is_hurried);
/* Drops what there is, with TIMEOUT: its source is held up for too long; or FULL: there is no more room for it.
 * If it was full, on_room follows before the return. */
void hl_spool_give_up(struct hl_spool *s, enum hl_err why);
/* How many bytes the disk has taken. */
uint64_t hl_spool_written(const struct hl_spool *s);

/* Nothing has been dropped. */
bool hl_spool_keeps(const struct hl_spool *s);
/* More than the limit has come. */
bool hl_spool_is_over(const struct hl_spool *s);
uint64_t hl_spool_size(const struct hl_spool *s);
const struct hl_body_check *hl_spool_check(const struct hl_spool *s);

/* No more comes: makes it durable, then on_done. */
void hl_spool_end(struct hl_spool *s);
/* Forgets it all, the file too. No event follows. NULL-safe. */
void hl_spool_abandon(struct hl_spool *s);

/* The same, but what is in the file stays there: the next process looks for it. */
void hl_spool_leave(struct hl_spool *s);

/* Removes a finished body's file, in the pool. */
void hl_spool_remove_file(struct hl_spool_home *home, const struct hl_id *file);

#endif
