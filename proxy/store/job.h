/* job.h - bulk work that the server carries out: jobs, and what became of each thing that one is about. What a job does,
 * and how far it is, are texts of whoever carries it out (api/foreman.c). Messages as store.h has them.
 *
 * At any time one walks a job: each KEEP_JOB names the version that it knows, and makes another. Where the store is shared
 * it also renews a lease, after whose end another replica may take the job. */
#ifndef HL_STORE_JOB_H
#define HL_STORE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "store/listing.h"
#include "store/op.h"
#include "store/record.h"

#define HL_JOBS_OPEN_MAX   4   /* of a project, at once */
#define HL_JOB_PIECE_ITEMS 100 /* of one piece, at most */

/* ---- what became of each ---- */

#define HL_JOB_FATE_MAP(X)                                                                         \
    X(WAITING, "waiting")                                                                          \
    X(DONE, "done")                                                                                \
    X(SKIPPED, "skipped") /* there was nothing to do, or it cannot be done */                      \
    X(FAILED, "failed")

enum hl_job_fate {
#define X(name, text) HL_JOB_##name,
    HL_JOB_FATE_MAP(X)
#undef X
};
#define HL_JOB_FATES (HL_JOB_FAILED + 1)
const char *hl_job_fate_text(enum hl_job_fate fate);

/* Why: what a single request would have been refused with, in short. */
#define HL_JOB_WHY_MAP(X)                                                                          \
    X(NONE, "")                                                                                    \
    X(FINISHED, "finished")                                                                        \
    X(UNFINISHED, "unfinished")                                                                    \
    X(PENDING, "pending")                                                                          \
    X(GONE, "not_found")                                                                           \
    X(SYNCHRONOUS, "synchronous")                                                                  \
    X(NOT_KEPT, "request_not_kept")                                                                \
    X(DAMAGED, "request_damaged")                                                                  \
    X(REFUSED, "refused")

enum hl_job_why {
#define X(name, text) HL_JOB_WHY_##name,
    HL_JOB_WHY_MAP(X)
#undef X
};
#define HL_JOB_WHYS (HL_JOB_WHY_REFUSED + 1)
const char *hl_job_why_text(enum hl_job_why why);

struct hl_job_item {
    struct hl_id id;   /* of a run or a delivery */
    struct hl_id made; /* the run that is made of it; nil: none yet */
    /* of a delivery, as it was listed: only that one is ended by sending it again */
    uint32_t round;
    enum hl_job_fate fate;
    enum hl_job_why why;
};

/* As a piece keeps them. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_job_items_write(
    const struct hl_job_item *items, size_t n, struct hl_buf *out);
/* At most HL_JOB_PIECE_ITEMS. HL_ERR_CORRUPT. */
HL_MUST_CHECK enum hl_err hl_job_items_read(
    struct hl_str text, struct hl_job_item *items, size_t *n);

struct hl_job_piece {
    int64_t n;           /* from 0 */
    unsigned fates;      /* a bit for each that one of its items has; the writer's to say */
    struct hl_buf items; /* owned */
};

/* ---- messages ---- */

struct hl_job {
    struct hl_id id; /* its time is when the job was made */
    char project[HL_STORE_NAME_MAX + 1];
    int64_t version;  /* from 1 */
    int64_t ended_ms; /* 0: it goes on */
    bool is_stopping; /* somebody asked for that */
    bool is_free;     /* nobody walks it; always where the store is not shared */
    struct hl_buf plan, progress;
};

/* ADD_JOB. Reply BUSY: the project has HL_JOBS_OPEN_MAX that go on. */
struct hl_add_job {
    struct hl_store_msg m;
    struct hl_id job_id;
    char project[HL_STORE_NAME_MAX + 1];
    struct hl_buf plan, progress; /* owned by the message */
};

/* KEEP_JOB: how far it is, and up to two pieces with it. Reply OK: its version is one more; STALE: somebody else has it,
 * or it has ended: nothing was written. */
struct hl_keep_job {
    struct hl_store_msg m;
    struct hl_id job_id;
    int64_t version;
    bool takes;       /* only if it is free */
    bool gives_back;  /* it is free from then on; */
    int64_t lease_ms; /* or else so long from now on, unless it is written again */
    int64_t ended_ms;
    struct hl_buf progress; /* owned by the message, as are the pieces */
    struct hl_job_piece pieces[2];
    size_t n_pieces;
    bool is_stopping; /* reply */
};

/* STOP_JOB: whoever walks it is to end it. Reply CONFLICT: it has ended. */
struct hl_stop_job {
    struct hl_store_msg m;
    struct hl_id job_id;
    char project[HL_STORE_NAME_MAX + 1]; /* empty: any */
    bool was_wished;                     /* reply: it was to be stopped already */
};

/* LIST_JOBS: newest first, as the lists of question.h; or one. */
struct hl_list_jobs {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1]; /* empty: all */
    struct hl_id job_id;                 /* nil: any */
    bool only_open;
    uint32_t limit;
    struct hl_id before;

    HL_LISTING(struct hl_job); /* reply */
};

/* LIST_JOB_PIECES: in their order, those that have one of `fates`. */
struct hl_list_job_pieces {
    struct hl_store_msg m;
    struct hl_id job_id;
    int64_t from;   /* this piece is the first */
    unsigned fates; /* bits */
    uint32_t limit;

    HL_LISTING(struct hl_job_piece); /* reply */
};

void hl_add_job_fini(struct hl_add_job *a);
void hl_keep_job_fini(struct hl_keep_job *k);

/* For who answers: the next row, a copy; one beyond the limit only says that there is more. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_list_jobs_add(
    struct hl_list_jobs *l, const struct hl_job *job, struct hl_str plan, struct hl_str progress);
HL_MUST_CHECK enum hl_err hl_list_job_pieces_add(
    struct hl_list_job_pieces *l, int64_t n, unsigned fates, struct hl_str items);

#endif
