/* field.h - field lines: the names that hookline knows, and the strict reading of one line. */
#ifndef HL_HTTP_FIELD_H
#define HL_HTTP_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

/* Every field name that some part of hookline looks at, sets or removes. */
#define HL_FIELD_MAP(X)                                                                            \
    X(HOST, "host")                                                                                \
    X(CONNECTION, "connection")                                                                    \
    X(CONTENT_LENGTH, "content-length")                                                            \
    X(TRANSFER_ENCODING, "transfer-encoding")                                                      \
    X(TE, "te")                                                                                    \
    X(TRAILER, "trailer")                                                                          \
    X(UPGRADE, "upgrade")                                                                          \
    X(HTTP2_SETTINGS, "http2-settings")                                                            \
    X(EXPECT, "expect")                                                                            \
    X(KEEP_ALIVE, "keep-alive")                                                                    \
    X(PROXY_CONNECTION, "proxy-connection")                                                        \
    X(PROXY_AUTHENTICATE, "proxy-authenticate")                                                    \
    X(PROXY_AUTHORIZATION, "proxy-authorization")                                                  \
    X(VIA, "via")                                                                                  \
    X(MAX_FORWARDS, "max-forwards")                                                                \
    X(DATE, "date")                                                                                \
    X(CONTENT_TYPE, "content-type")                                                                \
    X(CONTENT_ENCODING, "content-encoding")                                                        \
    X(CACHE_CONTROL, "cache-control")                                                              \
    X(X_ACCEL_BUFFERING, "x-accel-buffering")                                                      \
    X(ACCEPT_ENCODING, "accept-encoding")                                                          \
    X(AUTHORIZATION, "authorization")                                                              \
    X(ORIGIN, "origin")                                                                            \
    X(PREFER, "prefer")                                                                            \
    X(IDEMPOTENCY_KEY, "idempotency-key")                                                          \
    X(X_WEBHOOK_SECRET, "x-webhook-secret")                                                        \
    X(X_REQUEST_ID, "x-request-id")                                                                \
    X(X_RUN, "x-run-*")                   /* any name that begins with x-run- */                   \
    X(X_FORWARDED_OTHER, "x-forwarded-*") /* any other name that begins with x-forwarded- */       \
    X(X_FORWARDED_FOR, "x-forwarded-for")                                                          \
    X(X_FORWARDED_PROTO, "x-forwarded-proto")                                                      \
    X(X_FORWARDED_HOST, "x-forwarded-host")                                                        \
    X(FORWARDED, "forwarded")                                                                      \
    X(X_REAL_IP, "x-real-ip")                                                                      \
    X(TRACEPARENT, "traceparent")                                                                  \
    X(TRACESTATE, "tracestate")                                                                    \
    X(SEC_WEBSOCKET_PROTOCOL, "sec-websocket-protocol")                                            \
    X(ACCESS_CONTROL_ALLOW_ORIGIN, "access-control-allow-origin")                                  \
    X(ACCEPT, "accept")                                                                            \
    X(UNDERSCORE, "(one of ours with _ for -)") /* spoofs a name of ours: never goes on */

enum hl_field_id {
    HL_FIELD_OTHER,
#define X(name, text) HL_FIELD_##name,
    HL_FIELD_MAP(X)
#undef X
        HL_FIELD_ID_COUNT
};

struct hl_field {
    struct hl_str name, value; /* value without optional white space around it */
    struct hl_str line;        /* the whole line with its CRLF, as it came */
    uint8_t id;                /* enum hl_field_id */
    bool is_hop; /* hop-by-hop: by definition, or nominated by Connection (RFC 9110 7.6.1) */
};

/* Which of our names this is, case folded; constant time in the number of names. `name` is a token.
 */
enum hl_field_id hl_field_lookup(struct hl_str name);
/* Lower-case text of an id. */
const char *hl_field_text(enum hl_field_id id);

/* Reads the lines from p on, whose names are where llhttp sees them, without a gap between: a token, a
 * colon at once, a value of field characters (HTAB, SP, VCHAR, obs-text), CRLF; no fold, no bare CR, no
 * NUL (RFC 9112 5). Returns the byte after the last one; NULL when a line is anything else. `end` is
 * behind an LF, and no byte from there on is looked at. Sets all. */
HL_MUST_CHECK const char *hl_field_read_lines(
    struct hl_field *fields, size_t count, const char *p, const char *end);

/* The same for one line alone, p[0..n) with its CRLF: llhttp is asked for the name first. */
HL_MUST_CHECK bool hl_field_parse_line(const char *p, size_t n, struct hl_field *out);

/* RFC 9110 5.6.2; false for the empty string. */
bool hl_str_is_token(struct hl_str s);

/* Whether a field may appear in a trailer section that we pass on (RFC 9110 6.5.1): not framing,
 * routing, authentication, nor any name of ours. */
bool hl_field_is_trailer_safe(const struct hl_field *field);

#endif
