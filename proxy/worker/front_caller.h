/* front_caller.h - a caller at a front (HOOKLINE_ROLE=front), who waits for the app's own answer to a run that a worker
 * has: what he gets of it, and what becomes of the run without him (contract 17). The worker's thread. */
#ifndef HL_WORKER_FRONT_CALLER_H
#define HL_WORKER_FRONT_CALLER_H

#include <stdbool.h>

#include "base/buf.h"

struct hl_client;
struct hl_front_call;
struct hl_id;
struct hl_reply;
struct hl_worker;

/* Appends the head that this caller gets, made of the one that was kept (reply->head), and the body, unless that is in
 * a file. HL_ERR_NOMEM, or what was kept is none. */
HL_MUST_CHECK enum hl_err hl_front_caller_write(struct hl_client *c,
    const struct hl_front_call *front, const struct hl_reply *reply, struct hl_buf *out);
/* The same of an event stream, whose events follow, framed. */
HL_MUST_CHECK enum hl_err hl_front_caller_write_stream(
    struct hl_client *c, const struct hl_id *run_id, struct hl_str head, struct hl_buf *out);

/* He has left before his answer was whole, or it was broken off: his run is cancelled, unless it is to go on. Whoever has
 * joined it by its Idempotency-Key is told so. */
void hl_front_caller_left(
    struct hl_worker *w, const struct hl_front_call *front, const struct hl_id *run_id);

#endif
