/* tee.h - the copy of a response that the store keeps, for its webhook and its result, and how long it may hold up
 * the caller who reads it. */
#ifndef HL_RUN_TEE_H
#define HL_RUN_TEE_H

#include "base/buf.h"
#include "base/err.h"
#include "loop/wheel.h"

struct hl_body;
struct hl_head;
struct hl_run;
struct hl_spool;
struct hl_spool_events;

/* What the copy has cost so far. Times are uv_now's, in ms. */
struct hl_tee {
    uint64_t paused_since; /* 0: the caller is not held up by it */
    uint64_t paused_ms;    /* by the pauses before that */
    uint64_t moved_at;     /* when the disk was last seen to have taken something */
    uint64_t written;      /* what it had taken then */
    struct hl_timer look;  /* at how it gets on; without on_fire there was no pause yet */
    bool keeps_front;      /* the answer says no, and may be too long to stay in memory: */
    struct hl_buf front;   /* as much of it as says what went wrong (http/error_line.h) */
};

/* The final head is there: what envelope and result say of the response is copied from it, and a
 * spool is made for its body. `events`: the response's, with hl_tee_end as their end. */
void hl_tee_begin(
    struct hl_run *run, const struct hl_head *head, const struct hl_spool_events *events);
/* Bytes of the body, for the run's spool. */
void hl_tee_take(struct hl_run *run, struct hl_str data);
/* hl_spool_events.on_done: the body is at rest, or dropped; the run's end is reported. */
void hl_tee_end(void *run, struct hl_spool *spool, enum hl_err err, struct hl_body *body);

/* Whether the run's response must wait for its spool; asked whenever that may have changed. */
bool hl_tee_lags(struct hl_run *run);

/* What it holds, when the run goes. */
static inline void hl_tee_fini(struct hl_tee *tee, struct hl_wheel *timers)
{
    if (tee->look.on_fire)
        hl_timer_fini(timers, &tee->look);
    hl_buf_fini(&tee->front);
}

#endif
