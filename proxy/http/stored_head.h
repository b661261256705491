/* stored_head.h - the head of a stored request, as hl_edit_request wrote it: its field lines one after the
 * other, and the same head for another run. Any thread. */
#ifndef HL_HTTP_STORED_HEAD_H
#define HL_HTTP_STORED_HEAD_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_buf;

struct hl_stored_start {
    struct hl_str method, target;
};
/* Takes the start line off `*rest`. False: that is none. */
HL_MUST_CHECK bool hl_stored_head_start(struct hl_str *rest, struct hl_stored_start *start);

struct hl_stored_field {
    struct hl_str name, value, line; /* line: with its CRLF */
};
/* Takes a field line off `*rest`. False: what is left is none. */
HL_MUST_CHECK bool hl_stored_head_next(struct hl_str *rest, struct hl_stored_field *field);
/* The first of that name; false: there is none. */
bool hl_stored_head_find(struct hl_str head, struct hl_str name, struct hl_stored_field *field);
/* Its traceparent, looked for from the end, near which hl_edit_request puts ours; empty: there is none. */
struct hl_str hl_stored_head_traceparent(struct hl_str head);
/* Whether its value may be shown to whoever may see the run: Accept*, Content-*, User-Agent, traceparent,
 * X-Request-Id (contract 8). */
bool hl_stored_field_is_harmless(const struct hl_stored_field *field);

struct hl_stored_edit {
    const struct hl_id *from,
        *to;                /* run ids: of X-Request-Id, and of a trace that was the run's own */
    bool drops_credentials; /* Authorization, Proxy-Authorization, Cookie */
    bool keeps_trace;       /* also one that was the run's own */
};
/* Appends `head` as it is for the run `to`. HL_ERR_CORRUPT: it is none; HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_stored_head_edit(
    struct hl_buf *out, struct hl_str head, const struct hl_stored_edit *edit);

#endif
