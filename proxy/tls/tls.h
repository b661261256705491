/* tls.h - TLS on connections that others accept: a stream is given to a seat and speaks TLS from then on,
 * and its owner notices nothing of it: what comes is plain, what goes is plain, back-pressure and the
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

/* The files and what the settings are called that name them. */
struct hl_tls_files {
    const char *cert, *cert_option;
    const char *key, *key_option;
    const char *ca, *ca_option; /* of clients; NULL: no certificates are asked for */
};

/* ---- of the process. Control thread ---- */

/* Whether they can be used. If not, `why` has one line. */
HL_MUST_CHECK enum hl_err hl_tls_check(const struct hl_tls_files *files, char *why, size_t why_len);

/* Reads the files and starts the threads. On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_tls_open(
    struct hl_tls **out, const struct hl_tls_files *files, char *why, size_t why_len);
/* No loop that has a seat runs any more. Harmless on NULL, as free is. */
void hl_tls_stop(struct hl_tls *tls);
void hl_tls_free(struct hl_tls *tls); /* its seats are gone */

/* Unix time when the present certificate expires. Any thread. */
int64_t hl_tls_expires_s(const struct hl_tls *tls);

/* ---- of a loop ---- */

struct hl_tls_metrics {
    struct hl_counter done;    /* handshakes */
    struct hl_counter failed;  /* the peer's fault, or it left or was too slow */
    struct hl_counter refused; /* too many waited */
    struct hl_counter plain;   /* no TLS was spoken */
};

/* NULL: out of memory. A handshake has to be over `handshake_ms` after it was accepted. */
struct hl_tls_seat *hl_tls_seat_new(
    struct hl_tls *tls, uv_loop_t *loop, struct hl_wheel *wheel, uint64_t handshake_ms);
void hl_tls_seat_close(struct hl_tls_seat *seat); /* its handle; on the loop's thread */
/* After the loop has ended and hl_tls_stop. NULL-safe. */
void hl_tls_seat_free(struct hl_tls_seat *seat);
const struct hl_tls_metrics *hl_tls_seat_metrics(const struct hl_tls_seat *seat);

/* ---- of a stream ---- */

/* A connected stream that nothing was read from. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_tls_accept(struct hl_tls_seat *seat, struct hl_stream *stream);

/* It began with what looks like a request in plain text, and goes on as a plain stream: so that its owner
 * can say so. */
bool hl_tls_is_plain(const struct hl_stream *stream);

#define HL_TLS_PEER_MAX 8192
/* The certificate that its peer has shown and that is good, as X-Forwarded-Client-Cert says it; empty: there
 * is none. Valid until the stream is closed. */
struct hl_str hl_tls_peer(const struct hl_stream *stream);

#endif
