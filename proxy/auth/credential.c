/* credential.c - where a request carries its token.
 * Thread: any; no state, no allocation. On the warm path of every call.
 * Not here: whether it is good (seat.c). */
#include "auth/credential.h"

#include "base/str.h"
#include "http/browser.h"
#include "http/field.h"
#include "http/head.h"
#include "http/refusal.h"

/* The scheme in any case, and at least one space (RFC 9110 11.1). */
static bool is_bearer(struct hl_str value, struct hl_str *token)
{
    const struct hl_str scheme = HL_STR("Bearer ");
    struct hl_str start = {value.p, scheme.n};
    if (value.n <= scheme.n || !hl_str_eq_nocase(start, scheme))
        return false;
    *token = hl_str_trim((struct hl_str){value.p + scheme.n, value.n - scheme.n});
    return token->n > 0;
}

/* The subprotocols that are tokens: how many, and the last of them. */
static size_t find_protocols(const struct hl_head *head, struct hl_str *token)
{
    size_t n = 0, field = 0;
    struct hl_str rest = {0}, protocol;
    while (hl_subprotocol_next(head, &field, &rest, &protocol))
        n += hl_subprotocol_token(protocol, token);
    return n;
}

bool hl_credential_find(const struct hl_head *head, struct hl_str *token, struct hl_refusal *why)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_AUTHORIZATION);
    size_t protocols = 0;
    if (head->is_websocket_upgrade)
        protocols = find_protocols(head, token);
    if (hl_head_field_count(head, HL_FIELD_AUTHORIZATION) + protocols > 1)
        return hl_refuse(why, HL_REFUSAL_TOKENS_SEVERAL);
    if (protocols == 1)
        return true;
    if (!field)
        return hl_refuse(why, HL_REFUSAL_TOKEN_MISSING);
    if (!is_bearer(field->value, token))
        return hl_refuse(why, HL_REFUSAL_TOKEN_SCHEME);
    return true;
}
