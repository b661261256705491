/* expect.h - what must come out of hookline for what went in, said once more and naively: which
 * fields go on, which are added, which target the app sees (contract 2 and 3, RFC 9110 7.6). Each
 * function returns NULL, or what the message that came out has wrong. */
#ifndef HL_FUZZ_EXPECT_H
#define HL_FUZZ_EXPECT_H

#include "base/str.h"

struct hl_config;
struct strict_message;

/* What a request's forwarding hangs on beside the request itself. */
struct expect_request {
    struct hl_str target; /* as the app must see it */
    struct hl_str peer;   /* the caller's address; empty: unknown */
    bool is_peer_trusted, wants_identity, drops_expect, keeps_authorization;
    bool makes_trace; /* a traceparent is made, the caller's is not kept */
    bool is_stored;   /* an asynchronous run */
};

/* The head `out` says what the head `in` said, and nothing else. Bodies: expect_same_body. */
const char *expect_request_head(const struct strict_message *in, const struct strict_message *out,
    const struct expect_request *e);

struct expect_response {
    unsigned caller_minor;
    bool preference_applied;
    bool is_dated; /* where the app has sent no Date */
};

const char *expect_response_head(const struct strict_message *in, const struct strict_message *out,
    const struct expect_response *e);

/* The same bytes, or with `is_cut` the first of them. Trailers of `out` are among those of `in`,
 * and none that a recipient could take for framing, routing or ours. */
const char *expect_same_body(
    const struct strict_message *in, const struct strict_message *out, bool is_cut);

/* The one valid traceparent of the request is passed on (W3C Trace Context 1). */
bool expect_has_trace(const struct strict_message *in);
/* An OPTIONS that may not be passed on any more (RFC 9110 7.6.2). */
bool expect_is_last(const struct strict_message *in);
/* RFC 6455 4.1. */
bool expect_is_websocket(const struct strict_message *in);

/* p[0..n) is empty, or ends with an empty line whose end cannot go on: a last CR may be half of CRLF
 * (WHATWG HTML 9.2.6: lines end with CRLF, LF or CR; an empty line dispatches). */
bool expect_is_between_events(const char *p, size_t n);

enum expect_route {
    EXPECT_RUN,
    EXPECT_PASS,
    EXPECT_REFUSED, /* or answered by hookline itself */
};

/* Where a request goes by its method and target. `out` has room for target.n plus the run path; the
 * result is in `*mapped`. Whether the parameters that are hookline's can be carried out is not
 * looked at: then a RUN is a refusal after all. */
enum expect_route expect_target(struct hl_str method, struct hl_str target,
    const struct hl_config *config, char *out, struct hl_str *mapped);

/* The raw value of the first parameter whose decoded name is `name`; false: there is none. */
bool expect_parameter(struct hl_str query, const char *name, struct hl_str *value);

#endif
