/* record.h - what the store keeps: runs, bodies, deliveries, as values. */
#ifndef HL_STORE_RECORD_H
#define HL_STORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

/* Spec 4. The text names are what the REST interface and the webhook say. */
#define HL_RUN_STATE_MAP(X)                                                                        \
    X(QUEUED, "queued")       /* on disk; the app has not been called */                           \
    X(RUNNING, "running")     /* claimed by a worker: that commit came before the app's call */    \
    X(SUCCESS, "success")     /* final */                                                          \
    X(FAILURE, "failure")     /* final; the reason says why */                                     \
    X(CANCELLED, "cancelled") /* final */

enum hl_run_state {
#define X(name, text) HL_RUN_##name,
    HL_RUN_STATE_MAP(X)
#undef X
};

#define HL_RUN_REASON_MAP(X)                                                                       \
    X(NONE, "")                                                                                    \
    X(APP_ERROR, "app_error")                                                                      \
    X(TIMEOUT, "timeout")                                                                          \
    X(UPSTREAM_UNREACHABLE, "upstream_unreachable")                                                \
    X(UPSTREAM_RESET, "upstream_reset")                                                            \
    X(BAD_RESPONSE, "bad_response")                                                                \
    X(INTERRUPTED, "interrupted")

enum hl_run_reason {
#define X(name, text) HL_REASON_##name,
    HL_RUN_REASON_MAP(X)
#undef X
};

const char *hl_run_state_text(enum hl_run_state state);
const char *hl_run_reason_text(enum hl_run_reason reason);
static inline bool hl_run_state_is_final(enum hl_run_state s)
{
    return s >= HL_RUN_SUCCESS;
}

enum hl_body_where {
    HL_BODY_NONE,   /* there is none */
    HL_BODY_INLINE, /* `bytes` */
    HL_BODY_FILE,   /* bodies/<last 2 hex of file>/<file>: body_file.h */
    HL_BODY_DROPPED /* longer than HOOKLINE_MAX_KEPT_RESPONSE, or removed since because of
                       HOOKLINE_STORE_MAX_BYTES: `size` counts what there was */
};

/* A request's or response's body at rest. */
struct hl_body {
    enum hl_body_where where;
    uint64_t size;
    char *bytes; /* INLINE: owned, malloc */
    struct hl_id file;
    uint8_t sha256[32]; /* of the bytes; INLINE and FILE */
};

/* Are the bytes in memory those that were stored? 3.5 us for each KiB. What a disk gave back is
 * asked this where it is used, not in the store's thread: that would delay commits. */
bool hl_body_is_intact(const struct hl_body *body);
void hl_body_fini(struct hl_body *body); /* frees `bytes`; leaves files alone */

/* How a response stands in the envelope (spec 5). */
enum hl_encoding { HL_ENCODING_JSON, HL_ENCODING_TEXT, HL_ENCODING_BASE64, HL_ENCODING_NONE };
const char *hl_encoding_text(enum hl_encoding encoding);

#define HL_CONTENT_FIELD_MAX                                                                       \
    255 /* longer Content-Type or Content-Encoding values are cut to nothing */

/* How a run ended. */
struct hl_outcome {
    enum hl_run_state state;
    enum hl_run_reason reason;
    uint16_t http_status; /* the app's; 0: it never answered */
    int64_t finished_ms;
    /* the kept response; body.where == NONE when the app never answered or the response has no body
     * (HEAD, 204) */
    char content_type[HL_CONTENT_FIELD_MAX + 1];     /* empty: none */
    char content_encoding[HL_CONTENT_FIELD_MAX + 1]; /* empty: none */
    enum hl_encoding encoding;
    uint64_t escaped_size; /* TEXT: bytes inside the JSON string */
    struct hl_body body;
};

#endif
