/* callers.h - the callers of one worker: who may connect, and all connections together. */
#ifndef HL_CALLER_CALLERS_H
#define HL_CALLER_CALLERS_H

#include "base/slab.h"
#include "caller/departure.h"
#include "caller/stranger.h"
#include "http/head.h"
#include "http/message.h"

struct hl_listener;
struct hl_tls_seat;

struct hl_client;

struct hl_callers {
    /* the worker's */
    const struct hl_config *config;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_tls_seat *tls; /* connections speak TLS; NULL: they do not */
    struct hl_id_source *ids;
    struct hl_trouble *trouble;
    struct hl_worker_metrics *metrics;
    /* Of all workers: when it was last said that all places are taken; 0: never. */
    _Atomic uint64_t *full_noted_ms;
    /* A request's head is in `head`; `rest` is what was read behind it. Returns how many bytes of
     * `rest` were used, or HL_CALL_LATER (client.h). */
    size_t (*on_head)(struct hl_client *c, struct hl_str rest);
    /* A connection is closed: its place is free. */
    void (*on_closed)(struct hl_callers *callers);

    struct hl_slab memory;
    struct hl_list list;
    struct hl_list idle;     /* by struct hl_client's `idle`: the longest idle one first */
    struct hl_list answered; /* by the same: spare ones that have had what they came for */
    struct hl_departures departures;
    struct hl_strangers strangers; /* their end is the worker's, before its wheel's */
    uint32_t count, max;           /* all in `list`; how many may be open */
    int fd_max; /* callers have descriptors below this one, calls need the others; 0: any */
    uint32_t places_taken, spares_taken; /* of those that are not being closed */
    struct hl_message_rules rules;       /* of requests */
    bool has_access_log;                 /* its setting, looked at for each call */
    bool is_draining;                    /* every response closes its connection */
    bool is_closed;                      /* no new ones come */
    struct hl_head head;                 /* valid within one event */
};

/* What the worker lends is set. */
void hl_callers_init(struct hl_callers *callers);
void hl_callers_fini(struct hl_callers *callers); /* all are closed */

/* Whether one more may be accepted. With all places taken, the connection that has been idle for
 * longest is closed for it; with none idle, a few more are accepted for health checks. */
bool hl_callers_have_room(struct hl_callers *callers);
/* Closes the connection that is needed least of those without a call. False: there is none. */
bool hl_callers_make_room(struct hl_callers *callers);
/* Accepts a waiting connection. */
void hl_callers_accept(struct hl_callers *callers, struct hl_listener *listener);
/* Takes a connected socket. */
void hl_callers_adopt(struct hl_callers *callers, int fd);
/* No new ones come: those between calls are closed, the others after their call. */
void hl_callers_close(struct hl_callers *callers);
/* The worker ends now. */
void hl_callers_cut(struct hl_callers *callers);

#endif
