/* job_act.h - what a job does to the items of one piece: a request for each, all at once. The control thread. */
#ifndef HL_API_JOB_ACT_H
#define HL_API_JOB_ACT_H

#include "api/inner_call.h"
#include "api/job_plan.h"
#include "store/job.h"

struct hl_job_errand;

struct hl_job_act {
    struct hl_rest_calls *calls;
    const struct hl_job_plan *plan; /* borrowed, as is the project */
    const char *project;
    /* Some of it may be done already: that is looked for. */
    bool looks;
    struct hl_job_item *items; /* those that wait get a fate, unless it is to be tried again */
    size_t n, most;            /* of these that wait so many are begun, the others later */
    size_t under_way;
    struct hl_job_errand *errands[HL_JOB_PIECE_ITEMS];
    /* Each has a fate, or is to be tried again later. */
    void (*on_end)(struct hl_job_act *act);
};

/* Possibly over before it returns. */
void hl_job_act_begin(struct hl_job_act *act);
void hl_job_act_fini(struct hl_job_act *act);

#endif
