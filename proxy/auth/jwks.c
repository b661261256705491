/* jwks.c - a JSON Web Key Set as keys.
 * Thread: any; no state.
 * Promise: a key that is accepted has one algorithm, ES256 or RS256, and is sound: a point on the
 * curve, a modulus of 2,048 to 4,096 bits. */
#include "auth/jwks.h"

#include "auth/jwt.h"
#include "auth/key_set.h"
#include "auth/verify_key.h"
#include "base/base64.h"

#define RSA_LEAST (2048 / 8)
#define RSA_MOST  (4096 / 8)

static struct hl_str member(const json_t *jwk, const char *name)
{
    json_t *value = json_object_get(jwk, name);
    return json_is_string(value)
               ? (struct hl_str){json_string_value(value), json_string_length(value)}
               : (struct hl_str){NULL, 0};
}

static bool is_absent_or(const json_t *jwk, const char *name, struct hl_str wanted)
{
    return !json_object_get(jwk, name) || hl_str_eq(member(jwk, name), wanted);
}

/* RFC 7517 4.3. */
static bool may_verify(const json_t *jwk)
{
    json_t *operations = json_object_get(jwk, "key_ops"), *one;
    size_t i;
    if (!operations)
        return true;
    json_array_foreach(operations, i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), "verify") == 0)
            return true;
    }
    return false;
}

/* The bytes of a member, as many as there may be; 0: it is missing, too long or not base64url. */
static size_t read_bytes(const json_t *jwk, const char *name, uint8_t *out, size_t max)
{
    struct hl_str text = member(jwk, name);
    if (text.n > hl_base64url_size(max))
        return 0;
    ptrdiff_t n = hl_base64url_decode(text, out);
    return n > 0 && (size_t)n <= max ? (size_t)n : 0;
}

static struct hl_verify_key *read_ec(const json_t *jwk, struct hl_str kid)
{
    uint8_t xy[2 * HL_P256_SIZE + 3];
    if (!hl_str_eq(member(jwk, "crv"), HL_STR("P-256")) ||
        !is_absent_or(jwk, "alg", HL_STR("ES256")) ||
        read_bytes(jwk, "x", xy, HL_P256_SIZE) != HL_P256_SIZE ||
        read_bytes(jwk, "y", xy + HL_P256_SIZE, HL_P256_SIZE) != HL_P256_SIZE ||
        !hl_is_p256_point(xy))
        return NULL;
    return hl_verify_key_new(HL_ALG_ES256, kid, xy, 2 * HL_P256_SIZE);
}

static struct hl_verify_key *read_rsa(const json_t *jwk, struct hl_str kid)
{
    uint8_t modulus[RSA_MOST + 3], exponent[8];
    size_t n = read_bytes(jwk, "n", modulus, RSA_MOST);
    size_t e = read_bytes(jwk, "e", exponent, sizeof(((struct hl_verify_key *)0)->exponent));
    /* No leading zeros (RFC 7518 2): the length is the size. The exponent is odd and at least 3. */
    if (!is_absent_or(jwk, "alg", HL_STR("RS256")) || n < RSA_LEAST || e == 0 ||
        modulus[0] < 0x80 || exponent[0] == 0 || exponent[e - 1] % 2 == 0 ||
        (e == 1 && exponent[0] < 3))
        return NULL;
    struct hl_verify_key *key = hl_verify_key_new(HL_ALG_RS256, kid, modulus, n);
    if (key) {
        memcpy(key->exponent, exponent, e);
        key->exponent_n = e;
    }
    return key;
}

/* NULL: not for us. */
static struct hl_verify_key *read_key(const json_t *jwk)
{
    struct hl_str kid = member(jwk, "kid");
    if (!json_is_object(jwk) || (json_object_get(jwk, "kid") && !kid.p) || kid.n > HL_JWT_KID_MAX ||
        !is_absent_or(jwk, "use", HL_STR("sig")) || !may_verify(jwk))
        return NULL;
    if (hl_str_eq(member(jwk, "kty"), HL_STR("EC")))
        return read_ec(jwk, kid);
    return hl_str_eq(member(jwk, "kty"), HL_STR("RSA")) ? read_rsa(jwk, kid) : NULL;
}

enum hl_err hl_jwks_read(struct hl_str text, struct hl_key_list *out, unsigned *ignored)
{
    out->n = 0;
    *ignored = 0;
    json_t *set = text.n <= HL_JWKS_MAX ? hl_strict_json(hl_str_unframe(text)) : NULL;
    json_t *keys = json_object_get(set, "keys"), *jwk;
    bool is_set = json_is_array(keys);
    size_t i;
    json_array_foreach(keys, i, jwk)
    {
        struct hl_verify_key *key = out->n < HL_KEYS_MAX ? read_key(jwk) : NULL;
        if (key)
            out->items[out->n++] = key;
        else
            ++*ignored;
    }
    json_decref(set);
    return is_set ? HL_OK : HL_ERR_INVALID;
}
