/* job_plan.h - what a job does and how far it is, as its row keeps it (store/job.h) and as it is shown. The control
 * thread. */
#ifndef HL_API_JOB_PLAN_H
#define HL_API_JOB_PLAN_H

#include <jansson.h>

#include "base/buf.h"
#include "base/id.h"
#include "http/refusal.h"
#include "store/job.h"
#include "worker/inquiry.h"

#define HL_JOB_PAUSE_MS     100
#define HL_JOB_PAUSE_MAX_MS 60000

enum hl_job_what {
    HL_JOB_CANCEL,
    HL_JOB_RERUN,
    HL_JOB_REDELIVER,
    HL_JOB_UNREADABLE, /* its row is damaged, or of a newer hookline */
};
const char *hl_job_what_text(enum hl_job_what what);

struct hl_job_plan {
    enum hl_job_what what;
    int64_t pause_ms;
    int64_t expected;      /* -1: not said */
    bool only_counts;      /* of a request: nothing is made */
    json_t *filter;        /* owned; as it was asked */
    json_t *author;        /* owned; audit.h */
    struct hl_asker asker; /* of it: whose the new runs are */
};

/* From a request's body, which is an object. NONE: it is one, and `*out` is filled but for the author and the asker. In any
 * case hl_job_plan_fini. */
enum hl_refusal_cause hl_job_plan_read(const json_t *body, struct hl_job_plan *out);
/* As it is kept, and from there. HL_ERR_NOMEM; HL_ERR_CORRUPT. */
HL_MUST_CHECK enum hl_err hl_job_plan_write(const struct hl_job_plan *plan, struct hl_buf *out);
HL_MUST_CHECK enum hl_err hl_job_plan_load(struct hl_str text, struct hl_job_plan *out);
void hl_job_plan_fini(struct hl_job_plan *plan);

/* The state that a list is to be asked for, where the filter names none: a cancel is of what waits, and then of what runs.
 * NULL: as the filter says; `pass` from 0. */
const char *hl_job_plan_state(const struct hl_job_plan *plan, unsigned pass);
bool hl_job_plan_has_pass(const struct hl_job_plan *plan, unsigned pass);
/* Appends the filter as a query. */
HL_MUST_CHECK enum hl_err hl_job_plan_query(const struct hl_job_plan *plan, struct hl_buf *out);

/* ---- how far it is ---- */

enum hl_job_phase {
    HL_JOB_NEW,       /* nobody has begun it */
    HL_JOB_GATHERING, /* what matches is written down */
    HL_JOB_RUNNING,   /* that is done, piece by piece */
    HL_JOB_ENDED,     /* all of it */
    HL_JOB_STOPPED,   /* somebody asked for that */
    HL_JOB_BROKEN,    /* its filter is refused */
};

struct hl_job_progress {
    enum hl_job_phase phase;
    unsigned pass;                  /* GATHERING: of hl_job_plan_state */
    struct hl_id cursor;            /* likewise: of the list's next page; nil: the first */
    int64_t pieces, next;           /* how many there are; which is done now */
    bool is_acting;                 /* that one has begun: some of it may be done already */
    uint64_t total;                 /* that match */
    uint64_t settled[HL_JOB_FATES]; /* of the pieces before `next` */
    uint64_t shown[HL_JOB_FATES];   /* and of that one, as far as it was written */
    int64_t began_ms;
};

HL_MUST_CHECK enum hl_err hl_job_progress_write(
    const struct hl_job_progress *progress, struct hl_buf *out);
HL_MUST_CHECK enum hl_err hl_job_progress_load(struct hl_str text, struct hl_job_progress *out);

/* A job as it is shown, whether it can be read or not. A new reference; NULL: out of memory. */
json_t *hl_job_json(const struct hl_job *job);
json_t *hl_job_item_json(const struct hl_job_item *item, enum hl_job_what what);

#endif
