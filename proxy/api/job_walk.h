/* job_walk.h - one job as it is carried out: what matches is written down first, then it is done piece by piece, with a
 * pause between them. The control thread. */
#ifndef HL_API_JOB_WALK_H
#define HL_API_JOB_WALK_H

#include "api/job_act.h"
#include "api/job_listing.h"
#include "api/job_plan.h"
#include "api/rest_call.h"
#include "base/list.h"
#include "loop/wheel.h"
#include "store/job.h"

struct hl_foreman;

struct hl_job_walk {
    struct hl_list node;
    struct hl_foreman *foreman; /* the owner's */
    /* It has ended, or is another's, or was left: it may be freed inside. */
    void (*on_end)(struct hl_job_walk *walk);

    struct hl_rest_calls *calls;
    struct hl_rest_call call; /* asks the store */
    struct hl_timer timer;    /* then `resume` */
    void (*resume)(struct hl_job_walk *walk);
    struct hl_id job_id;
    char project[HL_NAME_MAX + 1];
    int64_t version, ended_ms;
    struct hl_job_plan plan;
    struct hl_job_progress progress;
    struct hl_job_listing listing;
    struct hl_job_act act;
    struct piece_now {
        bool is_there;
        int64_t n;
        struct hl_job_item items[HL_JOB_PIECE_ITEMS];
        size_t count;
    } now, past; /* that is done, or was gathered; the one before it, whose end is to be written */
    uint64_t pause_until_ms; /* monotonic */
    bool is_stopping;        /* somebody asked for that */
    bool is_leaving;         /* the process ends */
    uint64_t kept_ms;        /* monotonic: when it was written last, */
    size_t kept_waiting;     /* and how many waited then */
    void (*on_kept)(struct hl_job_walk *walk);
    struct hl_audit *audit; /* of its end, to go with what is written; NULL: none */
};

/* HL_ERR_NOMEM; HL_ERR_CORRUPT: it cannot be read, and is not to be stopped. */
HL_MUST_CHECK enum hl_err hl_job_walk_new(
    struct hl_rest_calls *calls, const struct hl_job *job, struct hl_job_walk **out);
void hl_job_walk_free(struct hl_job_walk *walk);
/* It may be gone when these return. */
void hl_job_walk_begin(struct hl_job_walk *walk);
void hl_job_walk_stop(struct hl_job_walk *walk);
void hl_job_walk_leave(struct hl_job_walk *walk);

#endif
