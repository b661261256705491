/* triage.h - what becomes of a request, decided from its head alone: a call, or an answer of the
 * server's own. */
#ifndef HL_RUNTIME_TRIAGE_H
#define HL_RUNTIME_TRIAGE_H

#include <stdbool.h>

#include "http/refusal.h"
#include "http/url.h"

struct hl_desk;
struct hl_head;
struct hl_str;

/* ---- what a caller wants to read (RFC 9110 12.5.1), as far as it matters here ---- */

/* Whether one value of Accept names text/event-stream, and not with q=0. Wildcards do not ask for a
 * stream. */
bool hl_media_wants_events(struct hl_str accept);

struct hl_triage {
    struct hl_refusal refusal; /* status 0: none */
    uint16_t status;           /* of another answer of the server's own; 0: none */
    struct hl_str type, body;  /* of that */
    size_t callee;             /* else it is a call of this one */
    struct hl_target target;
    bool is_form; /* its body is a form */
};

static inline bool hl_triage_is_call(const struct hl_triage *triage)
{
    return triage->refusal.status == 0 && triage->status == 0;
}

/* Slices are those of `head`, or static, or the desk's. */
struct hl_triage hl_triage_request(const struct hl_desk *desk, const struct hl_head *head);

#endif
