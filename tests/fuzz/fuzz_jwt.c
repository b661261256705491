/* fuzz_jwt.c - tokens and key sets of strangers.
 * Input: a byte that says what follows: a token as it stands; or a header up to a line feed and
 * claims, which are made a token here, with a signature of zeros or (HS256) the right one; or a key
 * set.
 * Claims: what is accepted as a token has one spelling only, an algorithm that is known, no `crit`,
 * no name twice; its signature is right exactly when it is the one made here; what its claims grant
 * is what a naive reader finds in them; keys of a set are sound. */
#include <jansson.h>
#include <mbedtls/md.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/claims.h"
#include "auth/json_load.h"
#include "auth/jwks.h"
#include "auth/jwt.h"
#include "auth/key_set.h"
#include "auth/verify_key.h"
#include "base/base64.h"
#include "fuzz.h"

#define SECRET "a secret that signs nothing but what the fuzzer makes"
#define NOW_MS INT64_C(1800000000000)

enum { WHOLE_TOKEN, UNSIGNED, SIGNED, KEY_SET, KINDS };

/* ---- a reader that is naive and strict ---- */

/* Its one spelling: decoded by table, encoded again. */
static bool has_one_spelling(struct hl_str part)
{
    uint8_t *bytes = malloc(part.n + 3);
    char *again = malloc(part.n + 8);
    ptrdiff_t n = hl_base64url_decode(part, bytes);
    bool is_same = n >= 0 && hl_base64url_encode(again, bytes, (size_t)n) == part.n &&
                   memcmp(again, part.p, part.n) == 0;
    free(bytes);
    free(again);
    return is_same;
}

static json_t *naive_object(struct hl_str part)
{
    uint8_t *bytes = malloc(part.n + 3);
    ptrdiff_t n = hl_base64url_decode(part, bytes);
    json_t *json = n < 0 ? NULL : hl_json_load((struct hl_str){(char *)bytes, (size_t)n}, 0, NULL);
    free(bytes);
    return json;
}

static struct hl_str next_part(struct hl_str *rest)
{
    const char *dot = rest->n ? memchr(rest->p, '.', rest->n) : NULL;
    struct hl_str part = {rest->p, dot ? (size_t)(dot - rest->p) : rest->n};
    size_t taken = part.n + (dot != NULL);
    *rest = (struct hl_str){rest->p + taken, rest->n - taken};
    return part;
}

/* Empty: it is no string, or one with a NUL. */
static const char *text_in(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : "";
}

static const char *text_of(const json_t *json, const char *name)
{
    return text_in(json_object_get(json, name));
}

static void check_form(struct hl_str token, const struct hl_jwt *jwt)
{
    static const char *const names[] = {"ES256", "RS256", "HS256"};
    struct hl_str rest = token, part;
    struct hl_str header = next_part(&rest), payload = next_part(&rest);
    part = next_part(&rest);
    FUZZ_CHECK(rest.n == 0 && !memchr(part.p, '.', part.n), "a token has four parts");
    FUZZ_CHECK(has_one_spelling(header) && has_one_spelling(payload) && has_one_spelling(part),
        "a part has another spelling");
    json_t *said = naive_object(header);
    FUZZ_CHECK(strcmp(text_of(said, "alg"), names[jwt->alg]) == 0, "another algorithm");
    FUZZ_CHECK(!json_object_get(said, "crit"), "crit was passed over");
    FUZZ_CHECK(jwt->has_kid == (json_object_get(said, "kid") != NULL), "a kid was lost or made");
    json_decref(said);
    said = naive_object(payload);
    FUZZ_CHECK(json_equal(said, jwt->claims), "other claims");
    json_decref(said);
}

static bool says_admin(const json_t *role)
{
    json_t *one;
    size_t i;
    if (json_is_string(role))
        return strcmp(text_in(role), "admin") == 0;
    json_array_foreach(role, i, one)
    {
        if (strcmp(text_in(one), "admin") == 0)
            return true;
    }
    return false;
}

static void check_claims(const json_t *json)
{
    const struct hl_claim_rules rules = {
        .project_claim = HL_STR("project_id"), .role_claim = HL_STR("role")};
    struct hl_claims claims;
    if (!hl_claims_read_outside(json, &rules, &claims)) {
        double exp = json_number_value(json_object_get(json, "exp"));
        bool is_over = exp * 1000 + 60000 <= (double)NOW_MS;
        enum hl_refusal_cause fault = hl_claims_judge_time(&claims, NOW_MS);
        FUZZ_CHECK(json_is_number(json_object_get(json, "exp")), "a token without an end");
        FUZZ_CHECK(!is_over || fault, "an expired token is good");
        FUZZ_CHECK((claims.role == HL_ROLE_ADMIN) == says_admin(json_object_get(json, "role")),
            "another role");
        FUZZ_CHECK(claims.project.n <= HL_STORE_NAME_MAX && !claims.has_all_projects,
            "a project that no path has");
        FUZZ_CHECK(claims.project.n == 0 ||
                       hl_str_eq(claims.project, hl_str_from(text_of(json, "project_id"))),
            "another project");
        FUZZ_CHECK(hl_id_is_nil(&claims.account), "a stranger has an account");
    }
    if (!hl_claims_read_own(json, &claims))
        FUZZ_CHECK(strcmp(text_of(json, "iss"), "hookline") == 0 && claims.project.n > 0,
            "a stranger's token is ours");
}

/* ---- tokens ---- */

static void check_token(struct hl_str token, struct hl_verify_key *key, const uint8_t *mac)
{
    struct hl_jwt jwt;
    if (hl_jwt_read(token, &jwt))
        return;
    check_form(token, &jwt);
    bool is_right = mac && jwt.alg == HL_ALG_HS256 && jwt.signature_n == 32 &&
                    memcmp(jwt.signature, mac, 32) == 0;
    if (jwt.alg == HL_ALG_HS256)
        FUZZ_CHECK(hl_verify(key, &jwt) == is_right, "the signature is misjudged");
    else
        FUZZ_CHECK(!hl_verify(key, &jwt), "the token chose its algorithm");
    check_claims(jwt.claims);
    hl_jwt_fini(&jwt);
}

/* "header.claims.signature", owned. */
static char *make_token(struct fuzz_input *in, bool is_signed, uint8_t mac[32], size_t *n)
{
    struct hl_str header = fuzz_take_until(in, '\n'), claims = {in->p, in->n};
    char *token = malloc(hl_base64url_size(header.n) + hl_base64url_size(claims.n) + 64);
    size_t at = hl_base64url_encode(token, header.p, header.n);
    token[at++] = '.';
    at += hl_base64url_encode(token + at, claims.p, claims.n);
    memset(mac, 0, 32);
    if (is_signed)
        mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), (const unsigned char *)SECRET,
            sizeof SECRET - 1, (const unsigned char *)token, at, mac);
    token[at++] = '.';
    *n = at + hl_base64url_encode(token + at, mac, 32);
    return token;
}

static void check_made(struct fuzz_input *in, struct hl_verify_key *key, bool is_signed)
{
    uint8_t mac[32];
    size_t n;
    char *token = make_token(in, is_signed, mac, &n);
    check_token((struct hl_str){token, n}, key, is_signed ? mac : NULL);
    free(token);
}

/* ---- key sets ---- */

static void check_set(struct hl_str text)
{
    struct hl_key_list list;
    unsigned ignored;
    if (hl_jwks_read(text, &list, &ignored) != HL_OK)
        return;
    FUZZ_CHECK(list.n <= HL_KEYS_MAX, "too many keys");
    for (size_t i = 0; i < list.n; i++) {
        const struct hl_verify_key *key = list.items[i];
        FUZZ_CHECK(key->alg != HL_ALG_HS256 && !key->is_own, "a set may be public");
        if (key->alg == HL_ALG_ES256)
            FUZZ_CHECK(key->n == 64 && hl_is_p256_point(key->bytes), "no point");
        else
            FUZZ_CHECK(key->n >= 256 && key->n <= 512 && key->bytes[0] >= 0x80 &&
                           key->exponent[key->exponent_n - 1] % 2 == 1,
                "a weak key");
    }
    hl_key_list_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hl_verify_key *key;
    struct fuzz_input in = fuzz_input(data, size);
    if (!key)
        key = hl_verify_key_new(HL_ALG_HS256, (struct hl_str){NULL, 0}, SECRET, sizeof SECRET - 1);
    unsigned kind = fuzz_take_byte(&in) % KINDS;
    size_t n;
    if (kind == UNSIGNED || kind == SIGNED) {
        check_made(&in, key, kind == SIGNED);
        return 0;
    }
    char *rest = fuzz_take_rest(&in, &n);
    if (kind == WHOLE_TOKEN)
        check_token((struct hl_str){rest, n}, key, NULL);
    else
        check_set((struct hl_str){rest, n});
    free(rest);
    return 0;
}
