/* problem.h - answers that are not an app's but ours: RFC 9457 problem+json, the 202, health; and
 * what a function host answers. */
#ifndef HL_HTTP_PROBLEM_H
#define HL_HTTP_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "http/cors.h"

struct hl_answer {
    uint16_t status;
    struct hl_str content_type; /* empty: application/problem+json, with the members below */
    struct hl_str body;         /* with content_type */
    const char *detail;         /* problem: what was wrong and what to do */
    const struct hl_id *run_id; /* X-Request-Id, and member run_id; NULL: neither */
    struct hl_cors cors;
    const char *extra_fields;  /* whole lines with CRLF ("Allow: POST\r\n"), or NULL */
    const char *cache_control; /* NULL: no-store */
    bool closes;               /* Connection: close */
    bool is_head_request;      /* no body bytes, same Content-Length */
    uint8_t caller_minor;      /* HTTP/1.0 and !closes: Connection: keep-alive */
    bool is_stream; /* the head alone, of a body that follows in chunks; HTTP/1.0: until the close,
                       `closes` must be set */
};

/* Writes head and body. Returns the length, 0 when it does not fit. `type` is "about:blank",
 * `title` the status's standard phrase. */
size_t hl_answer_write(char *out, size_t cap, const struct hl_answer *answer);

/* The body alone of a problem; only `status`, `detail` and `run_id` count. */
size_t hl_problem_write(char *out, size_t cap, const struct hl_answer *answer);

/* "Not Found"; "" for unknown codes. */
const char *hl_status_phrase(uint16_t status);

#endif
