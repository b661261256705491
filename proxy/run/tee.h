/* tee.h - how long the copy of a response for a webhook may hold up the caller who reads it. */
#ifndef HL_RUN_TEE_H
#define HL_RUN_TEE_H

#include "loop/wheel.h"

struct hl_run;

/* What the copy has cost so far. Times are uv_now's, in ms. */
struct hl_tee {
    uint64_t paused_since; /* 0: the caller is not held up by it */
    uint64_t paused_ms;    /* by the pauses before that */
    uint64_t moved_at;     /* when the disk was last seen to have taken something */
    uint64_t written;      /* what it had taken then */
    struct hl_timer look;  /* at how it gets on; without on_fire there was no pause yet */
};

/* Whether the run's response must wait for its spool; asked whenever that may have changed. */
bool hl_tee_lags(struct hl_run *run);

#endif
