/* diary.h - what this replica has begun, ended and said of late: remembered for a database that does not know of it
 * (recall.c), in memory and as lines of its diary, from which the next process of its data directory has it. The
 * store's thread, unless said. */
#ifndef HL_STORE_POSTGRES_DIARY_H
#define HL_STORE_POSTGRES_DIARY_H

#include "store/claim.h"
#include "store/lease.h"
#include "store/postgres/op.h"
#include "store/postgres/state.h"

#define HL_PG_DIARY_MAX 8192 /* of runs, and of deliveries */
#define HL_PG_WORDS_MAX 1024 /* cancels and revocations */

/* A run that a worker has, or had when an earlier process of this directory ended. */
struct hl_pg_begun {
    struct hl_list node; /* in `past`, of an earlier process's */
    struct hl_id run_id, as;
    uint32_t epoch;
    uint64_t at_ms, line; /* CLOCK_MONOTONIC; in the diary, as below; 0: in no file */
};

/* A run that ended. */
struct hl_pg_ended {
    struct hl_list node;
    struct hl_pg_op op; /* as it was sent: the request is the copy */
    struct hl_finish finish;
    struct hl_id as; /* the replica that it was sent as */
    uint64_t line;
};

/* A delivery that is settled. */
struct hl_pg_settled {
    struct hl_list node;
    struct hl_id id;
    uint64_t at_ms;
    uint32_t round, n;
    enum hl_delivery_state state;
    enum hl_attempt_verdict verdict;
    uint16_t http_status;
    int64_t started_ms, ended_ms;
    uint64_t line;
};

/* A run that was cancelled, or an account that was revoked. */
struct hl_pg_word {
    struct hl_list node;
    struct hl_pg_op op;
    struct hl_run_ref ref; /* of an account: its id is `run_id` */
    int64_t revoked_ms;
    uint64_t line;
};

void hl_pg_diary_init(struct hl_pg_store *s);
void hl_pg_diary_fini(struct hl_pg_store *s);
/* Its diary, once `scratch` is there, and what an earlier process has left in it. Opener's thread; blocks. */
HL_MUST_CHECK enum hl_err hl_pg_diary_open(struct hl_pg_store *s, char *why, size_t why_len);

/* A worker has it from now on. */
void hl_pg_diary_begin(struct hl_pg_store *s, const struct hl_id *run_id, uint32_t epoch);
/* It goes back, and was not begun after all. */
void hl_pg_diary_undo(struct hl_pg_store *s, const struct hl_id *run_id, uint32_t epoch);
/* This replica counted as dead, and others have taken over what it had begun. */
void hl_pg_diary_undo_all(struct hl_pg_store *s);
/* It was committed: remembered, if it has ended a run or a delivery. */
void hl_pg_diary_note(struct hl_pg_store *s, const struct hl_pg_op *op);
/* Which replica this is, and what it has seen of which database, has changed. */
void hl_pg_diary_note_self(struct hl_pg_store *s);

void hl_pg_diary_turn(struct hl_pg_store *s, uint64_t now_ms);
uint64_t hl_pg_diary_due_ms(const struct hl_pg_store *s);

static inline struct hl_pg_begun *hl_pg_begun_of(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_pg_begun, node);
}

static inline struct hl_pg_ended *hl_pg_ended_of(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_pg_ended, node);
}

static inline struct hl_pg_settled *hl_pg_settled_of(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_pg_settled, node);
}

static inline struct hl_pg_word *hl_pg_word_of(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_pg_word, node);
}

#endif
