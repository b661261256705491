/* run.h - one call of the app in flight: a source (a caller's live request, or a stored body), the
 * app, and sinks (the caller, a spool, or both). Modes differ only in what is attached.
 *
 *   request half: source ─▶ app          response half: app ─▶ caller and spool
 *
 * The two halves go on independently (full duplex); the run ends when the response half is done.
 * Thread: its worker's. */
#ifndef HL_RUN_RUN_H
#define HL_RUN_RUN_H

#include "http/chunked.h"
#include "http/sse.h"
#include "run/runs.h"
#include "run/tee.h"

/* What the app has been given of the request. */
enum hl_request_half {
    HL_REQUEST_HELD,    /* nothing: the head and first body bytes wait in `page` for more of them, a
                           slot and a connection */
    HL_REQUEST_SENDING, /* the head is sent, body bytes are still to come from the source */
    HL_REQUEST_SENT,    /* all of it */
    HL_REQUEST_BROKEN,  /* the app stopped reading: no more is sent, its answer may still come */
};

enum hl_response_half {
    HL_RESPONSE_HEAD,   /* not one final head yet; 1xx may have passed */
    HL_RESPONSE_BODY,   /* the head has gone on; body bytes are being passed */
    HL_RESPONSE_TUNNEL, /* 101: bytes are passed both ways until both sides have ended */
    HL_RESPONSE_DONE,   /* wholly received, or given up: the run is ending */
};

struct hl_client;
struct hl_recent;
struct hl_source;

struct hl_run {
    struct hl_runs *runs;
    struct hl_list node;      /* in runs->list */
    struct hl_slot_name name; /* in runs->slots, once the store is told of it */
    struct hl_id id;
    uint64_t started_us; /* monotonic */
    uint64_t ended_us;   /* 0: it goes on */
    int64_t started_ms;  /* the same by the wall clock */

    enum hl_request_half request;
    enum hl_response_half response;

    /* the source: one of the two, or neither when the caller has gone */
    struct hl_client *client;
    struct hl_source *source;
    bool has_whole_request; /* the source has ended */

    /* the app */
    struct hl_upstream *upstream;
    struct hl_upstream_wait wait;
    struct hl_limiter_wait slot_wait;
    bool has_slot;
    bool is_gathering;  /* body bytes join the page before a slot is asked for */
    bool is_page_grown; /* by them: it goes when it is sent, and is never sent again */
    bool is_page_whole; /* the page had all of the request when it was first sent */
    bool is_resent;
    bool has_answer_begun; /* a byte of an answer came: the request is never sent again */
    bool is_unsent;        /* the socket took nothing of the page when it was written */

    /* the request as it goes on */
    char *page; /* head and first body bytes; kept until the final head, to be sent again */
    size_t page_n, page_cap;
    size_t deadline_at; /* asynchronous: where in the page X-Run-Deadline's digits stand */
    enum hl_framing request_framing;
    enum hl_method method;

    /* what the caller can take */
    uint8_t caller_minor;
    bool is_websocket, preference_applied;
    bool is_pass;             /* passed through: no run of the run list */
    bool offers_own_protocol; /* the subprotocol `hookline` */

    /* the response as it comes and goes on */
    struct hl_buf held; /* an incomplete head */
    size_t held_scanned;
    enum hl_framing response_in, response_out;
    uint64_t response_left;
    struct hl_chunk_reader chunks;
    bool app_keeps_connection, is_event_stream, beats;
    struct hl_sse sse;
    uint16_t status;        /* of the final head; 0: none */
    uint64_t response_size; /* announced by it, or HL_RECENT_UNKNOWN */
    bool tunnel_app_ended, tunnel_caller_ended;

    struct hl_timer timer;    /* queue, connect, head, idle, heartbeat: one at a time */
    struct hl_timer deadline; /* asynchronous: the whole run; else tee.c's */
    struct hl_tee tee;

    struct hl_recent *recent; /* a synchronous run that the store does not know */

    /* runs that the store knows */
    struct hl_claimed *claimed; /* asynchronous, inside the app */
    struct hl_accept *accept;   /* until it is posted: ACCEPT, or a webhook's RECORD */
    struct hl_spool *spool;     /* accepting: the request's body; else the response's */
    struct hl_finish *finish;   /* its outcome while the spool ends */
    bool has_webhook;
    uint32_t epoch;
};

/* A new run of this worker, which began at `started_us`; NULL when out of memory. */
struct hl_run *hl_run_new(struct hl_runs *runs, uint64_t started_us);
/* Gives everything back; the memory goes at the end of the loop turn, so that whoever is inside an
 * event of the run can still see that it is DONE. The client must have been detached. */
void hl_run_free(struct hl_run *run);

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
