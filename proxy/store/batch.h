/* batch.h - one transaction's worth of requests: applied in order, then runs and deliveries are
 * handed out by credit, then one commit, then replies and pushes. The store's thread owns it. */
#ifndef HL_STORE_BATCH_H
#define HL_STORE_BATCH_H

#include "store/credit.h"
#include "base/id_map.h"
#include "store/lease.h"

struct hl_backlog;
struct hl_driver;
struct hl_list_runs;
struct hl_store_msg;

#define HL_BATCH_MAX_OPS    256
#define HL_BATCH_MAX_WEIGHT (4u << 20)
#define HL_BATCH_MAX_PUSHES HL_BATCH_MAX_OPS

struct hl_batch_op {
    struct hl_store_msg *m;
    size_t weight; /* as it was posted */
    enum hl_err rc;
    bool is_held;            /* not decided: there was no space even for this */
    bool has_more;           /* REDELIVER: goes on in a later batch */
    bool is_running;         /* CANCEL: the worker is to be told */
    bool is_parked;          /* OUTCOME */
    bool is_wished;          /* KEEP_JOB, STOP_JOB: its end was asked for */
    bool is_void;            /* it is OK, and changed nothing: nothing is said of it (audit.h) */
    struct hl_id existing;   /* ACCEPT, EXISTS */
    enum hl_run_state state; /* FINISH: as its worker said, as is `reason` */
    enum hl_run_reason reason;
    char error;         /* its first byte, which a cancel takes away */
    int64_t revoked_ms; /* REVOKE_ACCOUNT */
    uint64_t count;     /* REDELIVER: before this batch */
    struct hl_redeliver_mark mark;
};

struct hl_batch_push {
    struct hl_msg *msg; /* CLAIMED or LEASED */
    struct hl_credit_book *book;
    struct hl_credit_note note;
};

struct hl_batch {
    struct hl_driver *driver;
    struct hl_backlog *backlog;
    struct hl_credit_book workers, senders;
    struct hl_id_map live; /* run id → mailbox of the worker that has it */
    int64_t now_ms;

    size_t max_ops, max_weight; /* at most those above; pushes are bounded as operations are */
    struct hl_batch_op ops[HL_BATCH_MAX_OPS];
    size_t n_ops, weight;
    struct hl_batch_push pushes[HL_BATCH_MAX_PUSHES];
    size_t n_pushes, pushed_weight;
    bool has_begun;
    bool is_short; /* set by who runs it: the volume is full, and all at once need not be tried */
    enum hl_err short_of; /* why handing out stopped although the transaction is good */
};

void hl_batch_init(struct hl_batch *b, struct hl_driver *driver, struct hl_backlog *backlog);
void hl_batch_fini(struct hl_batch *b);

bool hl_batch_is_full(const struct hl_batch *b);
void hl_batch_add(struct hl_batch *b, struct hl_store_msg *m, size_t weight);
/* Whether a request does not wait until something can be written again, which `why` prevents. */
bool hl_batch_refuses(const struct hl_store_msg *m, enum hl_err why);
/* Whether anything can be handed out. */
bool hl_batch_can_serve(const struct hl_batch *b);

/* Applies and commits. Each operation has its `rc` then, and nothing was sent.
 *   OK           committed (`*has_committed`), or there was nothing to commit
 *   FULL         the volume is full: accepts have that rc; what `is_held` is to be tried again
 *   UNAVAILABLE  somebody else holds the database: likewise
 *   IO, CORRUPT  the store has failed: what is not decided and may be refused has that rc, the rest is
 *                to be tried again once the driver has it anew
 *   other        the operations are decided, but handing out failed: not again at once */
enum hl_err hl_batch_run(struct hl_batch *b, bool serves, int64_t now_ms, bool *has_committed);

/* The runs that workers have, in no order, for the driver to choose from: as `picked`. */
HL_MUST_CHECK enum hl_err hl_batch_pick_running(const struct hl_batch *b, struct hl_list_runs *l);

/* After a commit, before the replies: remembers who has which run, tells who is to cancel. */
void hl_batch_note(struct hl_batch *b);
/* After the replies: sends what was handed out. */
/* Before it is told what is queued: who has runs on their way counts them. */
void hl_batch_count_claims(const struct hl_batch *b);
void hl_batch_send_pushes(struct hl_batch *b);

#endif
