/* jwt.c - a JWT's form.
 * Thread: any; no state.
 * Promise: two readers cannot see two tokens in what was accepted: no second spelling of the same
 * bytes, no name twice at any depth, nothing that has to be understood and is not (`crit`). What need
 * not be understood voids nothing (RFC 7515 4, 7519 4), whatever its numbers and texts are.
 * Not here: what the claims mean (claims.c), whose signature it is (key_set.c), whether it is right
 * (verify_key.c). */
#include "auth/jwt.h"

#include <stdlib.h>

#include "auth/json_load.h"
#include "base/base64.h"

static const char *const alg_texts[] = {
#define X(name, text) [HL_ALG_##name] = text,
    HL_ALG_MAP(X)
#undef X
};

/* Exactly those names, in that case; any other, `none` above all, is false. */
static bool parse_alg(struct hl_str text, enum hl_alg *out)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(alg_texts); i++) {
        if (hl_str_eq(text, hl_str_from(alg_texts[i]))) {
            *out = (enum hl_alg)i;
            return true;
        }
    }
    return false;
}

struct parts {
    struct hl_str header, payload, signature;
};

/* "a.b.c", none of them empty. */
static bool split(struct hl_str token, struct parts *out)
{
    const char *end = token.p + token.n;
    const char *first = token.n ? memchr(token.p, '.', token.n) : NULL;
    const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
    if (!second || memchr(second + 1, '.', (size_t)(end - second - 1)))
        return false;
    out->header = (struct hl_str){token.p, (size_t)(first - token.p)};
    out->payload = (struct hl_str){first + 1, (size_t)(second - first - 1)};
    out->signature = (struct hl_str){second + 1, (size_t)(end - second - 1)};
    return out->header.n > 0 && out->payload.n > 0 && out->signature.n > 0;
}

/* Counts brackets outside strings; the parser that follows recurses. */
static bool is_shallow(struct hl_str text)
{
    unsigned depth = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (is_in_string) {
            i += c == '\\';
            is_in_string = c != '"';
        } else if (c == '"') {
            is_in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > HL_JWT_DEPTH_MAX)
                return false;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        }
    }
    return true;
}

json_t *hl_strict_json(struct hl_str text)
{
    if (!is_shallow(text))
        return NULL;
    json_t *json = hl_json_load(text, JSON_REJECT_DUPLICATES, NULL);
    if (json && !json_is_object(json)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *read_object(struct hl_str part)
{
    char *text = malloc(part.n);
    ptrdiff_t n = text ? hl_base64url_decode(part, (uint8_t *)text) : -1;
    json_t *json = n < 0 ? NULL : hl_strict_json((struct hl_str){text, (size_t)n});
    free(text);
    return json;
}

/* What the header may not say, and the two things that are taken from it. */
static enum hl_refusal_cause read_header(const json_t *header, struct hl_jwt *jwt)
{
    json_t *alg = json_object_get(header, "alg");
    json_t *kid = json_object_get(header, "kid");
    if (json_object_get(header, "crit"))
        return HL_REFUSAL_TOKEN_CRIT;
    if (!json_is_string(alg) ||
        !parse_alg((struct hl_str){json_string_value(alg), json_string_length(alg)}, &jwt->alg))
        return HL_REFUSAL_TOKEN_ALG;
    jwt->has_kid = kid != NULL;
    if (!kid)
        return HL_REFUSAL_NONE;
    if (!json_is_string(kid) || json_string_length(kid) > sizeof jwt->kid)
        return HL_REFUSAL_TOKEN_KID;
    jwt->kid_n = json_string_length(kid);
    memcpy(jwt->kid, json_string_value(kid), jwt->kid_n);
    return HL_REFUSAL_NONE;
}

static bool read_signature(struct hl_str part, struct hl_jwt *jwt)
{
    uint8_t bytes[HL_JWT_SIGNATURE_MAX + 3];
    if (part.n > hl_base64url_size(HL_JWT_SIGNATURE_MAX))
        return false;
    ptrdiff_t n = hl_base64url_decode(part, bytes);
    if (n <= 0 || n > HL_JWT_SIGNATURE_MAX)
        return false;
    memcpy(jwt->signature, bytes, (size_t)n);
    jwt->signature_n = (size_t)n;
    return true;
}

enum hl_refusal_cause hl_jwt_read(struct hl_str token, struct hl_jwt *jwt)
{
    struct parts parts;
    *jwt = (struct hl_jwt){0};
    if (!split(token, &parts))
        return HL_REFUSAL_TOKEN_PARTS;
    if (!read_signature(parts.signature, jwt))
        return HL_REFUSAL_TOKEN_SIGNATURE_FORM;
    jwt->signed_part = (struct hl_str){token.p, parts.header.n + 1 + parts.payload.n};

    json_t *header = read_object(parts.header);
    if (!header)
        return HL_REFUSAL_TOKEN_HEADER;
    enum hl_refusal_cause fault = read_header(header, jwt);
    json_decref(header);
    if (fault)
        return fault;
    jwt->claims = read_object(parts.payload);
    return jwt->claims ? HL_REFUSAL_NONE : HL_REFUSAL_TOKEN_CLAIMS;
}

void hl_jwt_fini(struct hl_jwt *jwt)
{
    json_decref(jwt->claims);
    jwt->claims = NULL;
}
