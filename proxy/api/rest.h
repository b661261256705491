/* rest.h - the REST interface (contract 8) on the control thread: one implementation, whatever
 * front a request came by: the run listener (rest.c), the admin listener or the control
 * socket (admin_connection.c), or the command line without a running sidecar (cli/).
 *
 * A front fills a struct hl_rest_call and begins it. */
#ifndef HL_API_REST_H
#define HL_API_REST_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct hl_auth;
struct hl_auth_seat;
struct hl_rest;
struct hl_rest_call;
struct hl_rest_parts;

/* On failure NULL: out of memory. */
struct hl_rest *hl_rest_new(uv_loop_t *loop, const struct hl_rest_parts *parts);
/* After the workers and the store have ended, the loop still runs once more for the close callback,
 * and then hl_rest_free. No calls are open. */
void hl_rest_close(struct hl_rest *rest);
void hl_rest_free(struct hl_rest *rest); /* NULL-safe */

/* Where the fronts of this thread ask who calls; NULL: no token is asked for. */
struct hl_auth_seat *hl_rest_seat(struct hl_rest *rest);
/* Who signs tokens; NULL: nobody. */
struct hl_auth *hl_rest_auth(struct hl_rest *rest);
/* Where those sit who follow events on the same thread. */
struct hl_follow_desk *hl_rest_desk(struct hl_rest *rest);
/* Where workers send HL_WORKER_INQUIRY. */
struct hl_mailbox *hl_rest_mailbox(struct hl_rest *rest);
/* Whether its mailbox alone keeps the loop running. */
void hl_rest_keep_loop(struct hl_rest *rest, bool keeps);
/* A worker asks and answers nothing more: who waits for it goes on without. */
void hl_rest_worker_ended(struct hl_rest *rest, uint32_t index);

/* What this start has changed of the settings is told (store/audit.h): once, when the store is open and hl_auth_is_complete. */
void hl_rest_tell_start(struct hl_rest *rest);
/* It begins to end, and why: "signal", "idle"; `name` of the signal, or NULL. */
void hl_rest_tell_drain(struct hl_rest *rest, const char *via, const char *name);

/* Nobody waits for a run's end from now on: whoever does is answered. */
void hl_rest_end_waits(struct hl_rest *rest);
/* All that ran has ended: whoever waits for that is answered. */
void hl_rest_tell_drained(struct hl_rest *rest);

void hl_rest_begin(struct hl_rest *rest, struct hl_rest_call *call);

#endif
