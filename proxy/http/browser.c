/* browser.c - cross-origin fields, and Sec-WebSocket-Protocol.
 * Thread: any; no state, no allocation.
 * Not here: which origins are allowed (route/plan.c). */
#include "http/browser.h"

#include "base/assert.h"
#include "base/str.h"
#include "http/field.h"
#include "http/head.h"
#include "http/writer.h"

/* ---- cross-origin answers ---- */

#define ECHO_MAX 512 /* of Access-Control-Request-Headers */

void hl_cors_write(struct hl_writer *w, const struct hl_cors *cors)
{
    if (cors->allowed.n > 0) {
        HL_WRITE(w, "Access-Control-Allow-Origin: ");
        hl_write_str(w, cors->allowed);
        HL_WRITE(w, "\r\nAccess-Control-Expose-Headers: X-Request-Id, Location, "
                    "Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, "
                    "WWW-Authenticate, X-Run-State, X-Run-Kept, X-Run-Status-Code\r\n");
    }
    if (cors->varies)
        HL_WRITE(w, "Vary: Origin\r\n");
}

bool hl_cors_is_preflight(const struct hl_head *head)
{
    return head->method_id == HL_METHOD_OPTIONS && head->first[HL_FIELD_ORIGIN] >= 0 &&
           hl_head_find(head, HL_STR("access-control-request-method"));
}

/* Nothing but names of fields: what is repeated to a browser is ours to answer for. */
static bool is_name_list(struct hl_str list)
{
    struct hl_str name;
    while (hl_str_next_element(&list, &name))
        if (!hl_str_is_token(name))
            return false;
    return true;
}

void hl_cors_write_preflight(char out[HL_CORS_PREFLIGHT_MAX], const struct hl_head *head)
{
    struct hl_writer w = hl_writer_on(out, HL_CORS_PREFLIGHT_MAX);
    const struct hl_field *asked = hl_head_find(head, HL_STR("access-control-request-headers"));
    HL_WRITE(&w, "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE\r\n"
                 "Access-Control-Allow-Headers: ");
    if (asked && asked->value.n > 0 && asked->value.n <= ECHO_MAX && is_name_list(asked->value))
        hl_write_str(&w, asked->value);
    else
        HL_WRITE(&w, "Authorization, Content-Type, Accept, Idempotency-Key, Prefer, "
                     "Last-Event-ID, X-Run-Attempts, X-Run-Keep, X-Run-Priority, "
                     "X-Run-Start-Timeout, X-Run-Tag, X-Run-Timeout, X-Webhook-Secret");
    HL_WRITE(&w, "\r\nAccess-Control-Max-Age: 600\r\n");
    hl_write(&w, "", 1);
    HL_ASSERT(hl_writer_end(&w) > 0);
}

/* ---- Sec-WebSocket-Protocol ---- */

bool hl_subprotocol_next(
    const struct hl_head *head, size_t *field, struct hl_str *rest, struct hl_str *out)
{
    if (head->first[HL_FIELD_SEC_WEBSOCKET_PROTOCOL] < 0)
        return false;
    if (*field == 0)
        *field = (size_t)head->first[HL_FIELD_SEC_WEBSOCKET_PROTOCOL];
    while (!hl_str_next_element(rest, out)) {
        while (*field < head->field_count &&
               head->fields[*field].id != HL_FIELD_SEC_WEBSOCKET_PROTOCOL)
            ++*field;
        if (*field == head->field_count)
            return false;
        *rest = head->fields[(*field)++].value;
    }
    return true;
}

bool hl_subprotocol_token(struct hl_str protocol, struct hl_str *token)
{
    const struct hl_str prefix = HL_STR("bearer.");
    if (!hl_str_starts_with(protocol, prefix))
        return false;
    *token = (struct hl_str){protocol.p + prefix.n, protocol.n - prefix.n};
    return true;
}

bool hl_subprotocol_offers_own(const struct hl_head *head)
{
    size_t field = 0;
    struct hl_str rest = {0}, protocol;
    while (hl_subprotocol_next(head, &field, &rest, &protocol))
        if (hl_str_eq(protocol, HL_STR("hookline")))
            return true;
    return false;
}

void hl_subprotocol_write_others(struct hl_writer *w, const struct hl_head *head)
{
    size_t field = 0;
    struct hl_str rest = {0}, protocol, token;
    bool has_begun = false;
    while (hl_subprotocol_next(head, &field, &rest, &protocol)) {
        if (hl_subprotocol_token(protocol, &token))
            continue;
        if (has_begun)
            HL_WRITE(w, ", ");
        else
            HL_WRITE(w, "Sec-WebSocket-Protocol: ");
        hl_write_str(w, protocol);
        has_begun = true;
    }
    if (has_begun)
        HL_WRITE(w, "\r\n");
}
