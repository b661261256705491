/* keep.h - the copy of a response that the store keeps: for its webhook and its result. */
#ifndef HL_RUN_KEEP_H
#define HL_RUN_KEEP_H

#include "base/err.h"

struct hl_body;
struct hl_run;
struct hl_spool;
struct hl_spool_events;

struct hl_head;

/* The final head is there: what envelope and result say of the response is copied from it, and a
 * spool is made for its body. `events`: the response's, with hl_keep_end as their end. */
void hl_keep_begin(
    struct hl_run *run, const struct hl_head *head, const struct hl_spool_events *events);
/* hl_spool_events.on_done: the body is at rest, or dropped; the run's end is reported. */
void hl_keep_end(void *run, struct hl_spool *spool, enum hl_err err, struct hl_body *body);

#endif
