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
#include "run/page.h"
#include "run/progress.h"
#include "run/tee.h"
#include "store/claim.h"
#include "store/record.h"

struct hl_runs;

struct hl_client;
struct hl_recent;
struct hl_run_stream;
struct hl_source;
struct hl_span;

/* Monotonic, but for the last. */
struct hl_run_times {
    uint64_t started_us;
    uint64_t ended_us;   /* 0: it goes on */
    uint64_t first_us;   /* the app's head was there; 0: not before the loop turn of the end */
    uint64_t queued_us;  /* how long it has waited for its turn: at the gate, for a slot, stored */
    uint64_t waits_us;   /* since when it waits for it again; 0: it does not */
    uint64_t gate_us;    /* of queued_us, what it waited at the gate */
    uint64_t connect_us; /* how long it has waited for new connections */
    uint64_t connecting_from_us; /* since when it waits for one; 0: it does not */
    int64_t started_ms;          /* started_us by the wall clock */
};

/* What the caller can take. */
struct hl_run_caller {
    uint8_t minor; /* of its HTTP/1 */
    bool is_websocket;
    bool offers_hookline; /* the subprotocol `hookline` */
    bool is_preference_applied;
};

/* The run's place inside the app, and on the way there. */
struct hl_run_app {
    struct hl_gate_wait gate_wait;           /* AT_GATE */
    struct hl_limiter_wait slot_wait;        /* in the limiter's queue: QUEUED */
    void (*on_admitted)(struct hl_run *run); /* it has its slot */
    struct hl_upstream_wait wait;            /* at the pool: CONNECTING */
    struct hl_upstream *upstream;            /* CALLING */
    bool has_slot;
    uint64_t visit; /* in runs->visits: it is inside; 0: it is not, or nobody asks */
};

/* The request as it goes on. */
struct hl_run_request {
    struct hl_page page; /* kept until the final head, to be sent again */
    enum hl_request_half half;
    enum hl_framing framing;
    enum hl_method method;
    enum hl_run_repeat repeat; /* decided when it is first sent */
    bool is_whole;             /* the source has ended */
    bool is_unsent;            /* the socket took nothing of the page when it was written */
};

/* Comments in an event stream that is silent. */
enum hl_run_beats {
    HL_BEATS_NONE,    /* none may go out */
    HL_BEATS_ALLOWED, /* they may */
    HL_BEATS_FIRST,   /* one went out before the body's first byte */
};

/* The response as it comes and goes on. */
struct hl_run_response {
    struct hl_buf held; /* an incomplete head */
    struct hl_message_reader messages;
    struct hl_sse sse;
    enum hl_response_half half;
    enum hl_framing framing; /* to the caller */
    enum hl_run_beats beats;
    uint16_t status; /* of the final head; 0: none */
    bool has_begun;  /* a byte of an answer came: the request is never sent again */
    bool keeps_connection, is_event_stream;
    bool is_counted_long;    /* in its worker's figures of streams or tunnels */
    uint64_t size;           /* announced by the final head, or HL_RECENT_UNKNOWN */
    uint64_t heard_ms;       /* uv_now, when the app's event stream was last heard; 0: not yet */
    uint64_t retry_after_ms; /* the app's, where it may be tried again; 0: none */
};

/* What the store is told of it, or told us. */
struct hl_run_store {
    struct hl_accept *accept;   /* DUE: ACCEPT, or a webhook's RECORD */
    struct hl_claimed *claimed; /* asynchronous, inside the app */
    struct hl_finish *finish;   /* OPEN, KEEPING, AGAIN: its outcome */
    enum hl_run_record record;
    bool has_webhook;
};

/* What is told of its call of the app: call_span.c's. */
struct hl_run_trace {
    struct hl_span *call; /* NULL: it is not sampled; owned */
    uint8_t calls;        /* how often its request went out */
    bool has_ended;
};

struct hl_run {
    struct hl_runs *runs;
    struct hl_list node;      /* in runs->list */
    struct hl_slot_name name; /* in runs->slots, once the store is told of it */
    struct hl_id id;
    struct hl_run_times times;
    struct hl_call_parts parts; /* once it has ended */
    enum hl_run_stage stage;
    struct hl_run_caller caller;

    /* the source: one of the two, or neither when the caller has gone */
    struct hl_client *client;
    struct hl_source *source;

    struct hl_run_app app;
    struct hl_timer timer;    /* gate, queue, head, idle, heartbeat, FINISH again: one at a time */
    struct hl_timer deadline; /* until it is inside, then of its time inside: time_limit.c's */
    struct hl_allowance allowance;
    struct hl_run_terms terms; /* its two times: of this attempt, 0: none */
    char *tags;                /* of a caller's run that has some; owned; see hl_run_tags */

    struct hl_run_request request;
    struct hl_run_response response;

    struct hl_run_store store;
    struct hl_recent *recent; /* a synchronous run that the store does not know */
    struct hl_spool *spool;   /* ACCEPTING: the request's body; else the response's */
    struct hl_tee tee;
    struct hl_run_stream *stream; /* what others may follow; NULL: nothing, owned */
    bool is_pass;                 /* passed through: no run of the run list */
    struct hl_run_trace trace;
};

/* A new run of this worker, which began at `started_us`; NULL when out of memory. */
struct hl_run *hl_run_new(struct hl_runs *runs, uint64_t started_us);
/* Gives everything back; the memory goes at the end of the loop turn, so that whoever is inside an
 * event of the run can still see that it has ENDED. The client must have been detached. */
void hl_run_free(struct hl_run *run);

/* What a caller may stay inside with for as long as it likes, a stream or a tunnel, is told apart from other calls
 * (worker/left.h): its answer's head has come, harmless twice; it was counted, and has ended. */
void hl_run_count_long(struct hl_run *run);
void hl_run_uncount_long(struct hl_run *run);

static inline bool hl_run_has_ended(const struct hl_run *run)
{
    return run->stage == HL_STAGE_ENDED;
}

static inline bool hl_run_is_tunnel(const struct hl_run *run)
{
    return run->response.half == HL_RESPONSE_TUNNEL ||
           run->response.half == HL_RESPONSE_TUNNEL_HALF;
}

static inline bool hl_run_is_async(const struct hl_run *run)
{
    return run->store.claimed != NULL;
}

/* Empty: it has none. */
static inline struct hl_str hl_run_tags(const struct hl_run *run)
{
    return run->store.claimed ? run->store.claimed->tags : hl_str_from(run->tags);
}

/* Which claim of it this is; a synchronous run has one. */
static inline uint32_t hl_run_epoch(const struct hl_run *run)
{
    return run->store.claimed ? run->store.claimed->epoch : 1;
}

/* As far as it is known: before the app's head a stream or a tunnel is a synchronous call. */
static inline enum hl_mode hl_run_mode(const struct hl_run *run)
{
    return hl_run_is_async(run)            ? HL_MODE_ASYNC
           : run->response.status == 101   ? HL_MODE_TUNNEL
           : run->response.is_event_stream ? HL_MODE_STREAM
                                           : HL_MODE_SYNC;
}

#endif
