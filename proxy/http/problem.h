/* problem.h - answers that are not the app's but our own: RFC 9457 problem+json, the 202, health;
 * and what a function host answers. */
#ifndef HL_HTTP_PROBLEM_H
#define HL_HTTP_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "http/browser.h"
#include "http/refusal.h"

struct hl_id;

struct hl_answer {
    const struct hl_refusal *refusal; /* application/problem+json; NULL: what the next three say */
    uint16_t status;
    struct hl_str content_type;
    struct hl_str body;
    const struct hl_id *run_id; /* X-Request-Id, and the problem's member run_id; NULL: neither */
    struct hl_cors cors;
    const char *extra_fields;  /* whole lines with CRLF, or NULL */
    const char *cache_control; /* NULL: no-store */
    bool closes;               /* Connection: close */
    bool is_head_request;      /* no body bytes, same Content-Length */
    bool has_own_type;         /* content_type stands without a body, too, where one could be */
    bool has_unknown_length;   /* to HEAD: nobody knows how long the body would be (RFC 9110 8.6) */
    uint8_t caller_minor;      /* HTTP/1.0 and !closes: Connection: keep-alive */
    /* The head alone, of a body that follows in chunks; HTTP/1.0: until the close, `closes` must be
     * set. */
    bool is_stream;
};

static inline uint16_t hl_answer_status(const struct hl_answer *answer)
{
    return answer->refusal ? answer->refusal->status : answer->status;
}

/* Writes head and body. Returns the length, 0 when it does not fit. A problem's `type` is
 * "about:blank", its `title` the status's standard phrase. */
size_t hl_answer_write(char *out, size_t cap, const struct hl_answer *answer);

/* The body alone of a problem; `run_id` may be NULL. */
size_t hl_problem_write(
    char *out, size_t cap, const struct hl_refusal *why, const struct hl_id *run_id);

/* "Not Found"; "" for unknown codes. */
const char *hl_status_phrase(uint16_t status);

#endif
