/* principal.c - who calls. Thread: any; no state, no allocation. Finding the token is on the warm path of every call.
 * Not here: whether it is good (seat.c). */
#include "auth/principal.h"

#include <mbedtls/sha256.h>
#include <string.h>

#include "base/base64.h"
#include "base/str.h"
#include "http/browser.h"
#include "http/field.h"
#include "http/head.h"
#include "http/refusal.h"
#include "store/quota.h"

/* ---- where a request carries its token ---- */

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

#define DIGEST_BYTES 8 /* of the issuer's: nobody can choose one that is another's */

static size_t add(char *room, size_t n, struct hl_str text)
{
    if (text.n > 0)
        memcpy(room + n, text.p, text.n);
    return n + text.n;
}

static size_t add_issuer(char *room, struct hl_str issuer)
{
    uint8_t digest[32];
    mbedtls_sha256_ret((const unsigned char *)(issuer.n > 0 ? issuer.p : ""), issuer.n, digest, 0);
    hl_hex_write(room, digest, DIGEST_BYTES);
    return add(room, 2 * DIGEST_BYTES, HL_STR(":"));
}

struct hl_str hl_identity_write(const struct hl_claims *claims, char room[HL_IDENTITY_MAX])
{
    size_t n;
    if (!hl_id_is_nil(&claims->account)) {
        hl_id_format(&claims->account, room);
        return (struct hl_str){room, HL_ID_TEXT};
    }
    n = claims->is_own ? add(room, 0, HL_STR("session:")) : add_issuer(room, claims->issuer);
    n = add(room, n, claims->subject);
    return (struct hl_str){room, n};
}

struct hl_str hl_identity_subject(struct hl_str identity)
{
    const char *colon = identity.n > 0 ? memchr(identity.p, ':', identity.n) : NULL;
    size_t before = colon ? (size_t)(colon - identity.p) + 1 : 0;
    return (struct hl_str){identity.p + before, identity.n - before};
}

enum hl_priority hl_principal_max_priority(const struct hl_principal *who)
{
    if (!who)
        return HL_PRIORITY_HIGH;
    return who->quota ? hl_quota_max_priority(who->quota) : HL_PRIORITY_NORMAL;
}
