/* triage.c - what becomes of a request. Pure: it reads the head and the desk.
 * Not here: what only the body shows (call.c), room for it (connection.c). */
#include "core/triage.h"

#include "base/buf.h"
#include "base/str.h"
#include "core/desk.h"
#include "core/server.h"
#include "core/upload.h"
#include "http/body_check.h"
#include "http/field.h"
#include "http/field_value.h"
#include "http/head.h"

/* ---- what a caller wants to read ---- */

/* The next piece of *rest up to `mark`, trimmed. */
static struct hl_str cut(struct hl_str *rest, char mark)
{
    const char *at = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    struct hl_str piece = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
    size_t used = at ? piece.n + 1 : piece.n;
    rest->p += used;
    rest->n -= used;
    return hl_str_trim(piece);
}

bool hl_media_wants_events(struct hl_str accept)
{
    struct hl_str element;
    while (hl_str_next_element(&accept, &element)) {
        if (!hl_str_eq_nocase(cut(&element, ';'), HL_STR("text/event-stream")))
            continue;
        bool is_refused = false;
        while (element.n > 0)
            is_refused |= hl_weight_read(cut(&element, ';')) == 0;
        if (!is_refused)
            return true;
    }
    return false;
}

static struct hl_triage refuse(enum hl_refusal_cause cause)
{
    return (struct hl_triage){.refusal = *hl_refusal_make(cause)};
}

/* The detail is the desk's: which functions there are. */
static struct hl_triage refuse_unknown(const struct hl_desk *desk)
{
    struct hl_triage triage = refuse(HL_REFUSAL_FUNCTION_UNKNOWN);
    triage.refusal.detail = desk->directory.unknown.p;
    return triage;
}

static struct hl_triage answer_health(const struct hl_desk *desk, enum hl_method method)
{
    if (method != HL_METHOD_GET && method != HL_METHOD_HEAD)
        return refuse(HL_REFUSAL_HEALTH_METHOD);
    if (atomic_load_explicit(&desk->is_stopping, memory_order_relaxed))
        return refuse(HL_REFUSAL_FUNCTION_STOPPING);
    return (struct hl_triage){
        .status = 200, .type = HL_STR("application/json"), .body = HL_STR("{\"status\":\"ok\"}")};
}

static struct hl_triage answer_listing(const struct hl_desk *desk, enum hl_method method)
{
    if (method != HL_METHOD_GET && method != HL_METHOD_HEAD)
        return refuse(HL_REFUSAL_FUNCTION_LISTING_METHOD);
    return (struct hl_triage){.status = 200,
        .type = HL_STR("application/json"),
        .body = hl_buf_str(&desk->directory.listing)};
}

/* Absent is as good as JSON: there is nothing else that a function takes. */
static bool is_type_good(const struct hl_head *head)
{
    const struct hl_field *type = hl_head_field(head, HL_FIELD_CONTENT_TYPE);
    bool has_body = head->framing == HL_FRAMING_CHUNKED ||
                    (head->framing == HL_FRAMING_LENGTH && head->content_length > 0);
    return !has_body || !type || hl_is_json_type(type->value.p, type->value.n);
}

struct hl_triage hl_triage_request(const struct hl_desk *desk, const struct hl_head *head)
{
    struct hl_target target;
    if (!hl_target_split(head->target, &target))
        return refuse(HL_REFUSAL_TARGET_NO_PATH);
    if (hl_str_eq(target.path, HL_STR("/" HL_DIRECTORY_HEALTH)))
        return answer_health(desk, head->method_id);
    if (hl_str_eq(target.path, HL_STR("/" HL_DIRECTORY_LISTING)))
        return answer_listing(desk, head->method_id);
    size_t callee = hl_directory_find(&desk->directory, target.path);
    if (callee == HL_DIRECTORY_NONE)
        return refuse_unknown(desk);
    const struct hl_callee *who = &desk->directory.callees[callee];
    bool is_form = !who->is_raw && who->takes_forms && hl_upload_is_form(head);
    if (!who->is_raw) {
        if (head->method_id != HL_METHOD_POST)
            return refuse(HL_REFUSAL_FUNCTION_METHOD);
        if (!is_form && !is_type_good(head))
            return refuse(HL_REFUSAL_FUNCTION_TYPE);
    }
    return (struct hl_triage){.callee = callee, .target = target, .is_form = is_form};
}
