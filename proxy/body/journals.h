/* journals.h - the journals of all runs that are inside this process, or that somebody waits for, by run;
 * and how many may follow them. One a process.
 *
 * Thread: any; it has a lock, held for a look-up. A journal's own lock is taken inside of it, never the
 * other way round. */
#ifndef HL_BODY_JOURNALS_H
#define HL_BODY_JOURNALS_H

#include <pthread.h>
#include <uv.h>

#include "base/id_map.h"
#include "base/list.h"
#include "base/str.h"

struct hl_journal;
struct hl_journal_tap;
struct hl_mailbox;

#define HL_FOLLOWERS_OF_RUN 100

struct hl_journals {
    pthread_mutex_t lock;
    struct hl_id_map map;            /* those that are listed */
    struct hl_id_map runs, subjects; /* how many follow each: struct hl_audience, owned */
    uint64_t key[2];                 /* of the second's hashes */
    struct hl_id_map said;           /* struct hl_said, owned */
    struct hl_list said_last;        /* the same, the one that was said longest ago first */
    uint32_t followers, max;
};

/* `max`: HOOKLINE_MAX_FOLLOWERS. */
void hl_journals_init(struct hl_journals *all, uint32_t max);
/* Nobody follows or writes any more. */
void hl_journals_fini(struct hl_journals *all);

/* The run is inside this process from now on: whoever waits for it hears so. NULL: out of memory. Given
 * back with hl_journals_close. */
struct hl_journal *hl_journals_open(
    struct hl_journals *all, const struct hl_id *run_id, uint32_t attempt, uint64_t before);
/* Whose run it is, for those who ask before the store knows of it. */
void hl_journals_set_place(struct hl_journal *j, struct hl_str project, struct hl_str app);
/* Whether such a run is inside this process, and was placed there. Empty: any. */
bool hl_journals_has_run(
    struct hl_journals *all, const struct hl_id *run_id, const char *project, const char *app);
/* The store has all there is of it. NULL-safe. */
void hl_journals_close(struct hl_journal *j);

/* Opens a tap on the run's journal, as it is or will be; from then on it is woken. False: out of memory. */
HL_MUST_CHECK bool hl_journals_tap(struct hl_journals *all, const struct hl_id *run_id,
    struct hl_journal_tap *tap, struct hl_mailbox *box, uint32_t msg_type);
/* False: a message of it is on its way, and its memory goes when that comes. */
HL_MUST_CHECK bool hl_journals_untap(struct hl_journal_tap *tap);
/* One more owner, for a read that may outlast the tap; and one fewer. */
void hl_journals_hold(struct hl_journal *j);
void hl_journals_release(struct hl_journal *j);

/* How far a run is, as it says: JSON of at most HL_JOURNAL_PROGRESS bytes, which whoever follows it hears. Of
 * the last HL_PROGRESS_KEPT runs that said so it is known, after their ends, too. */
#define HL_PROGRESS_KEPT 1000
void hl_journals_set_progress(
    struct hl_journals *all, const struct hl_id *run_id, struct hl_str json);
/* As hl_journal_get_progress. */
bool hl_journals_get_progress(struct hl_journals *all, const struct hl_id *run_id, char *out);

/* ---- places ---- */

enum hl_follow_verdict {
    HL_FOLLOW_GRANTED,
    HL_FOLLOW_FULL,         /* HOOKLINE_MAX_FOLLOWERS */
    HL_FOLLOW_RUN_FULL,     /* HL_FOLLOWERS_OF_RUN */
    HL_FOLLOW_SUBJECT_FULL, /* a quarter of all */
};

/* A follower's place; the two ids name what it counts for. */
struct hl_follow_place {
    struct hl_journals *all; /* NULL: it has none */
    struct hl_id run_id, subject;
};

/* `subject` may be empty: it counts for none. */
HL_MUST_CHECK enum hl_follow_verdict hl_journals_enter(struct hl_journals *all,
    const struct hl_id *run_id, struct hl_str subject, struct hl_follow_place *place);
void hl_journals_leave(struct hl_follow_place *place); /* twice is harmless */
uint32_t hl_journals_followers(struct hl_journals *all);

/* ---- one read of a journal's file, in libuv's pool: of what is in its memory no more. Thread: its loop ---- */

struct hl_journal_reading;

/* What came of it; not of a reading that was left. `piece` is valid within the call; not `is_read`: it could not be. */
typedef void hl_journal_piece(void *owner, struct hl_journal *j, bool is_read, struct hl_str piece);

/* What stands at `offset`; calls back after the return. The journal stays until then. NULL: it cannot be read now. */
struct hl_journal_reading *hl_journal_reading_begin(uv_loop_t *loop, struct hl_journal *j,
    uint64_t offset, hl_journal_piece *on_piece, void *owner);
/* Its owner goes: it ends without a word. NULL-safe. */
void hl_journal_reading_leave(struct hl_journal_reading *r);

#endif
