/* subprotocol.c - Sec-WebSocket-Protocol. Thread: any; no state, no allocation. */
#include "http/subprotocol.h"

#include "base/str.h"
#include "http/field.h"
#include "http/head.h"
#include "http/writer.h"

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
