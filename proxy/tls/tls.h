/* tls.h - TLS on connections that others accept or make: a stream is given to a seat and speaks TLS from then
 * on, and its owner notices nothing of it: what comes is plain, what goes is plain, back-pressure and the
 * end are as of a plain stream. Only what nobody can tell from a plain stream is asked for here.
 *
 * The public-key work of handshakes is done by threads (crew.h), everything else by the stream's loop. */
#ifndef HL_TLS_TLS_H
#define HL_TLS_TLS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/metric.h"
#include "base/str.h"

struct hl_stream;
struct hl_tls;
struct hl_tls_seat;
struct hl_wheel;

/* What TLS is spoken for: which decides on files, side and names. */
enum hl_tls_use {
    HL_TLS_CALLERS,  /* a server, on the run listener */
    HL_TLS_ADMINS,   /* a server, that asks for no certificates */
    HL_TLS_REPLICAS, /* a client of other replicas, who show the same certificate */
    HL_TLS_APP,      /* a client of the app */
    HL_TLS_USES
};

/* The files and what the settings are called that name them. */
struct hl_tls_files {
    bool is_client;
    const char *cert, *cert_option; /* NULL: none is shown; a server has one */
    const char *key, *key_option;
    const char *ca,
        *ca_option; /* of peers; NULL: no certificates are asked for; a client has one */
    /* `ca`: what is in it is not the operator's, and may hold what cannot be used */
    bool is_of_system;
};

/* ---- of the process. Control thread ---- */

/* Whether they can be used. If not, `why` has one line. */
HL_MUST_CHECK enum hl_err hl_tls_check(const struct hl_tls_files *files, char *why, size_t why_len);

/* Reads the files and starts the threads. `own` are for listeners, `app` for the app; NULL: none. On failure `why` has
 * one line. */
HL_MUST_CHECK enum hl_err hl_tls_open(struct hl_tls **out, const struct hl_tls_files *own,
    const struct hl_tls_files *app, char *why, size_t why_len);
/* No loop that has a seat runs any more, and none is closed (uv_loop_close): what the threads have goes back to
 * its seat. Harmless on NULL, as free is. */
void hl_tls_stop(struct hl_tls *tls);
void hl_tls_free(struct hl_tls *tls); /* its seats are gone */

/* Unix time when the present certificate of listeners expires; 0: there is none. Any thread. */
int64_t hl_tls_expires_s(const struct hl_tls *tls);

/* ---- of a loop ---- */

struct hl_tls_metrics {
    struct hl_counter done;    /* handshakes */
    struct hl_counter resumed; /* of those, by a client: without public-key work */
    struct hl_counter failed;  /* the peer's fault, or it left or was too slow */
    struct hl_counter refused; /* too many waited */
    struct hl_counter plain;   /* no TLS was spoken */
};

/* NULL: out of memory. A handshake has to be over `handshake_ms` after the stream was accepted. */
struct hl_tls_seat *hl_tls_seat_new(
    struct hl_tls *tls, uv_loop_t *loop, struct hl_wheel *wheel, uint64_t handshake_ms);
void hl_tls_seat_close(struct hl_tls_seat *seat); /* its handle; on the loop's thread */
/* After the loop has ended and hl_tls_stop. NULL-safe. */
void hl_tls_seat_free(struct hl_tls_seat *seat);
const struct hl_tls_metrics *hl_tls_seat_metrics(
    const struct hl_tls_seat *seat, enum hl_tls_use use);

/* ---- of a stream ---- */

/* As a server: a connected stream that nothing was read from. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_tls_accept(
    struct hl_tls_seat *seat, enum hl_tls_use use, struct hl_stream *stream);

/* As a client: a TCP stream that is about to be connected. Its HL_STREAM_CONNECTED comes when hands are shaken, or
 * with why not: libuv's code, or one of those below; who has no patience meanwhile closes it. `host`, whose
 * certificate the app's has to be, is a name or an address without brackets, and outlives the stream and the seat; NULL
 * for a replica.
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_tls_connect(
    struct hl_tls_seat *seat, enum hl_tls_use use, struct hl_stream *stream, const char *host);

/* Far from libuv's. */
enum hl_tls_fault {
    HL_TLS_FAULT_PLAIN = -20000, /* the server speaks no TLS */
    HL_TLS_FAULT_LEFT,           /* it ended the connection */
    HL_TLS_FAULT_REFUSED,        /* it said by an alert that it does not go on */
    HL_TLS_FAULT_UNTRUSTED,      /* its certificate: of none of the CAs, or not for servers */
    HL_TLS_FAULT_NAME,           /* for another host */
    HL_TLS_FAULT_DATES,          /* expired, or not valid yet */
    HL_TLS_FAULT_OTHER,          /* the log has it (debug) */
};

/* Of a code of HL_STREAM_CONNECTED, libuv's as well. Static. */
const char *hl_tls_error_text(int error);

/* It began with what looks like a request in plain text, and goes on as a plain stream: so that its owner
 * can say so. */
bool hl_tls_is_plain(const struct hl_stream *stream);

#define HL_TLS_PEER_MAX 8192
/* The certificate that its peer has shown and that is good, as X-Forwarded-Client-Cert says it; empty: there
 * is none. Valid until the stream is closed. */
struct hl_str hl_tls_peer(const struct hl_stream *stream);

/* Its peer has shown our own certificate, the present or the one before: it is another replica. Only where
 * certificates are asked for. */
bool hl_tls_is_twin(const struct hl_stream *stream);

#endif
