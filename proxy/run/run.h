/* run.h - one call of the app in flight: a source (a caller's live request, or a stored body), the
 * app, and sinks (the caller, a spool, or both). Modes differ only in what is attached.
 *
 *   request half: source ─▶ app          response half: app ─▶ caller and spool
 *
 * The two halves go on independently (full duplex); the run ends when the response half is done.
 * Thread: its worker's. */
#ifndef HL_RUN_RUN_H
#define HL_RUN_RUN_H

#include "app/gate.h"
#include "app/limiter.h"
#include "app/upstream_wait.h"
#include "caller/metrics.h"
#include "http/message.h"
#include "http/sse.h"
#include "loop/slot.h"
#include "run/allowance.h"
#include "run/progress.h"
#include "run/tee.h"

struct hl_runs;

struct hl_client;
struct hl_recent;
struct hl_run_stream;
struct hl_source;

struct hl_run {
    struct hl_runs *runs;
    struct hl_list node;      /* in runs->list */
    struct hl_slot_name name; /* in runs->slots, once the store is told of it */
    struct hl_id id;
    uint64_t started_us; /* monotonic */
    uint64_t ended_us;   /* 0: it goes on */
    uint64_t first_us;   /* the app's head was there; 0: not before the loop turn of the end */
    uint64_t queued_us;  /* how long it has waited for its turn: at the gate, for a slot, stored */
    uint64_t waits_us;   /* since when it waits for it again; 0: it does not */
    int64_t started_ms;  /* the same by the wall clock */

    enum hl_run_stage stage;
    enum hl_request_half request;
    enum hl_response_half response;
    enum hl_run_record record;

    /* the source: one of the two, or neither when the caller has gone */
    struct hl_client *client;
    struct hl_source *source;
    bool has_whole_request; /* the source has ended */

    /* what the caller can take */
    uint8_t caller_minor;
    bool is_websocket, preference_applied;
    bool is_pass;             /* passed through: no run of the run list */
    bool offers_own_protocol; /* the subprotocol `hookline` */

    /* the app */
    struct hl_gate_wait gate_wait;           /* AT_GATE */
    struct hl_limiter_wait slot_wait;        /* in the limiter's queue: QUEUED */
    void (*on_admitted)(struct hl_run *run); /* it has its slot */
    struct hl_upstream_wait wait;            /* at the pool: CONNECTING */
    struct hl_upstream *upstream;            /* CALLING */
    bool has_slot;
    uint64_t visit;           /* in runs->visits: it is inside; 0: it is not, or nobody asks */
    struct hl_timer timer;    /* gate, queue, head, idle, heartbeat, FINISH again: one at a time */
    struct hl_timer deadline; /* until it is inside, then of its time inside: time_limit.c's */
    struct hl_allowance allowance;
    struct hl_run_terms terms; /* its two times: of this attempt, 0: none */

    /* the request as it goes on */
    char *page; /* head and first body bytes; kept until the final head, to be sent again */
    size_t page_n, page_cap;
    size_t deadline_at; /* where in the page X-Run-Deadline's digits stand; 0: nowhere */
    enum hl_framing request_framing;
    enum hl_method method;
    enum hl_run_repeat repeat; /* decided when it is first sent */
    bool is_page_grown;        /* by GATHERING: it goes when it is sent */
    bool is_unsent;            /* the socket took nothing of the page when it was written */

    /* the response as it comes and goes on */
    struct hl_buf held; /* an incomplete head */
    struct hl_message_reader messages;
    enum hl_framing response_out;
    struct hl_sse sse;
    uint16_t status;        /* of the final head; 0: none */
    uint64_t response_size; /* announced by it, or HL_RECENT_UNKNOWN */
    bool has_answer_begun;  /* a byte of an answer came: the request is never sent again */
    uint64_t heard_ms;      /* uv_now, when the app's event stream was last heard; 0: not yet */
    bool app_keeps_connection, is_event_stream;
    bool beats, beat_first; /* heartbeats may go out; one did before the body's first byte */

    /* what the store is told, or the list of recent runs */
    struct hl_recent *recent;   /* a synchronous run that the store does not know */
    struct hl_accept *accept;   /* DUE: ACCEPT, or a webhook's RECORD */
    struct hl_claimed *claimed; /* asynchronous, inside the app */
    struct hl_spool *spool;     /* ACCEPTING: the request's body; else the response's */
    struct hl_finish *finish;   /* OPEN, KEEPING, AGAIN: its outcome */
    struct hl_tee tee;
    bool has_webhook;
    struct hl_run_stream *stream; /* what others may follow; NULL: nothing, owned */
    uint32_t epoch;
    uint64_t retry_after_ms; /* the app's, with an answer that may be tried again; 0: none */
};

/* A new run of this worker, which began at `started_us`; NULL when out of memory. */
struct hl_run *hl_run_new(struct hl_runs *runs, uint64_t started_us);
/* Gives everything back; the memory goes at the end of the loop turn, so that whoever is inside an
 * event of the run can still see that it has ENDED. The client must have been detached. */
void hl_run_free(struct hl_run *run);

static inline bool hl_run_has_ended(const struct hl_run *run)
{
    return run->stage == HL_STAGE_ENDED;
}

static inline bool hl_run_is_tunnel(const struct hl_run *run)
{
    return run->response == HL_RESPONSE_TUNNEL || run->response == HL_RESPONSE_TUNNEL_HALF;
}

static inline bool hl_run_is_async(const struct hl_run *run)
{
    return run->claimed != NULL;
}

/* As far as it is known: before the app's head a stream or a tunnel is a synchronous call. */
static inline enum hl_mode hl_run_mode(const struct hl_run *run)
{
    return hl_run_is_async(run)   ? HL_MODE_ASYNC
           : run->status == 101   ? HL_MODE_TUNNEL
           : run->is_event_stream ? HL_MODE_STREAM
                                  : HL_MODE_SYNC;
}

#endif
