/* triage.h - what becomes of a request, decided from its head alone: a call, or an answer of the
 * server's own. */
#ifndef HL_RUNTIME_TRIAGE_H
#define HL_RUNTIME_TRIAGE_H

#include "core/desk.h"
#include "http/head.h"
#include "http/target.h"

struct hl_triage {
    uint16_t status; /* of the server's own answer; 0: a call of `callee` */
    size_t callee;
    struct hl_str type, body; /* of an answer that is no problem */
    const char *detail;       /* of a problem */
    const char *fields;       /* whole lines, or NULL */
    struct hl_target target;
};

/* Slices are those of `head`, or static, or the desk's. */
struct hl_triage hl_triage_request(const struct hl_desk *desk, const struct hl_head *head);

#endif
