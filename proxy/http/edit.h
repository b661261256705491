/* edit.h - the head that goes on: field lines of the original as they came, minus hop-by-hop fields
 * and our own, plus ours. The start line, Host and the framing fields are always written here
 * (proxy/README.md, "The data plane's rules", 3). */
#ifndef HL_HTTP_EDIT_H
#define HL_HTTP_EDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "http/browser.h"
#include "http/head.h"

/* What changes on the way to the app. Slices are borrowed for the call. */
struct hl_request_edit {
    struct hl_str target;       /* origin-form, as the app gets it */
    const struct hl_id *run_id; /* X-Request-Id */
    struct hl_str via;          /* our name there */
    struct hl_str peer; /* the caller's address, for X-Forwarded-For; no port, no brackets */
    /* keep and extend X-Forwarded-*, Forwarded, X-Real-IP (contract 2); else replace them */
    bool is_peer_trusted;
    bool is_https;             /* X-Forwarded-Proto */
    struct hl_str client_cert; /* X-Forwarded-Client-Cert; empty: none */
    struct hl_str traceparent; /* empty: the caller's valid one goes on, with tracestate */
    bool keeps_tracestate;     /* it goes on with ours as well */
    bool wants_identity;       /* Accept-Encoding: identity instead of the caller's (contract 3) */
    bool drops_expect;         /* Expect has been answered here */
    bool keeps_authorization;  /* AUTH=none: the app's own */
    bool drops_token_protocol; /* of a WebSocket: `bearer.<token>` was for us */
    bool drops_preferences;    /* of Prefer those that are ours (prefer.h) */
    bool closes;               /* write Connection: close */
    bool is_stored; /* no framing fields, no final empty line: hl_edit_finish_stored adds them */
    enum hl_framing framing; /* what the app gets: NONE, LENGTH or CHUNKED */
    uint64_t content_length;
    size_t *deadline_at; /* X-Run-Deadline is written; its digits as below. NULL: it is not */
};

/* Writes the head for the app into out[0..cap). Returns its length, or 0 when it does not fit. A
 * websocket upgrade keeps `Connection: upgrade`, `Upgrade: websocket`; every other Upgrade goes.
 * Adds X-Request-Id, X-Forwarded-For/-Proto/-Host, traceparent if given, Via; counts Max-Forwards of
 * OPTIONS down. `TE: trailers` is passed on as ours when the caller sent it. */
size_t hl_edit_request(
    char *out, size_t cap, const struct hl_head *head, const struct hl_request_edit *edit);

/* What ends a stored head: X-Run-Attempt, X-Run-Deadline, Connection, Content-Length and the empty
 * line. */
struct hl_stored_end {
    uint32_t attempt;
    bool closes;
    bool has_body;
    uint64_t content_length; /* when it has one */
};

/* Returns the bytes written, 0: no room. The deadline's digits stand at `out + *deadline_at`, zeros
 * until hl_edit_set_deadline. */
size_t hl_edit_finish_stored(
    char *out, size_t cap, const struct hl_stored_end *end, size_t *deadline_at);

/* Unix seconds, rounded down, in the 10 digits that they have until 2286. */
#define HL_EDIT_DEADLINE_DIGITS 10
void hl_edit_set_deadline(char *digits, int64_t wall_ms);

struct hl_response_edit {
    const struct hl_id *run_id; /* X-Request-Id; an app's own is replaced */
    struct hl_str date;   /* written where the app sent none (RFC 9110 6.6.1); empty: nowhere */
    uint8_t caller_minor; /* HTTP/1.0 callers get no chunked coding and no 1xx */
    bool closes;          /* write Connection: close */
    bool is_head_request; /* Content-Length as the app said, no framing of ours */
    /* Add cache-control, x-accel-buffering, charset where the app set none (contract 3). */
    bool is_event_stream;
    bool preference_applied; /* Preference-Applied: respond-async */
    bool is_unkept;          /* X-Run-Kept: false */
    bool selects_own;    /* 101: Sec-WebSocket-Protocol: hookline, where the app selected none */
    struct hl_cors cors; /* with an origin, the app's own word on that goes */
    enum hl_framing framing; /* what the caller gets */
    uint64_t content_length;
    /* Keep the app's Trailer field: the caller gets chunked and said TE: trailers. */
    bool wants_trailers;
};

/* As above, for the head that goes to the caller (1xx, 101 and final). HTTP/1.1 is always written
 * as our version. An HTTP/1.0 caller whose connection stays open gets Connection: keep-alive. */
size_t hl_edit_response(
    char *out, size_t cap, const struct hl_head *head, const struct hl_response_edit *edit);

/* W3C Trace Context, level 1: of a version that is known or may come, no zero ids, lower case. */
bool hl_is_traceparent(struct hl_str value);

/* True when the value of Content-Type is text/event-stream, with or without parameters. */
bool hl_is_event_stream(struct hl_str content_type);

#endif
