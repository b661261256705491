/* verify_key.c - one key that tokens are checked with. Any thread.
 * Not here: where keys come from (jwks.c, issuer.c). */
#include "auth/verify_key.h"

#include <mbedtls/bignum.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/ecp.h>
#include <mbedtls/md.h>
#include <mbedtls/rsa.h>
#include <mbedtls/sha256.h>
#include <stdlib.h>

#include "auth/jwt.h"

static _Atomic uint64_t serials;

struct hl_verify_key *hl_verify_key_new(
    enum hl_alg alg, struct hl_str kid, const void *bytes, size_t n)
{
    struct hl_verify_key *key = calloc(1, sizeof(*key));
    uint8_t *copy = malloc(n);
    if (!key || !copy || kid.n > sizeof key->kid) {
        free(key);
        free(copy);
        return NULL;
    }
    memcpy(copy, bytes, n);
    key->alg = alg;
    key->bytes = copy;
    key->n = n;
    key->has_kid = kid.p != NULL;
    key->kid_n = kid.n;
    if (kid.n > 0)
        memcpy(key->kid, kid.p, kid.n);
    key->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
    atomic_init(&key->references, 1);
    return key;
}

struct hl_verify_key *hl_verify_key_hold(struct hl_verify_key *key)
{
    atomic_fetch_add_explicit(&key->references, 1, memory_order_relaxed);
    return key;
}

void hl_verify_key_release(struct hl_verify_key *key)
{
    if (!key || atomic_fetch_sub_explicit(&key->references, 1, memory_order_acq_rel) > 1)
        return;
    explicit_bzero(key->bytes, key->n);
    free(key->bytes);
    free(key);
}

bool hl_verify_key_eq(const struct hl_verify_key *a, const struct hl_verify_key *b)
{
    return a->alg == b->alg && a->is_own == b->is_own && a->has_kid == b->has_kid &&
           a->kid_n == b->kid_n && memcmp(a->kid, b->kid, a->kid_n) == 0 && a->n == b->n &&
           memcmp(a->bytes, b->bytes, a->n) == 0 && a->exponent_n == b->exponent_n &&
           memcmp(a->exponent, b->exponent, a->exponent_n) == 0;
}

/* ---- signatures, checked with mbedTLS: contexts are made for each check, because mbedTLS keeps tables inside of
 * them.
 * Promise: only the form that RFC 7518 gives each algorithm is taken: r and s of 32 bytes each, an RSA signature as
 * long as its modulus, a MAC of 32 bytes. Whatever fails is a bad signature ---- */

#define HASH_SIZE 32

static bool read_point(mbedtls_ecp_group *group, mbedtls_ecp_point *point, const uint8_t *xy)
{
    uint8_t encoded[1 + 2 * HL_P256_SIZE] = {4}; /* SEC 1: uncompressed */
    memcpy(encoded + 1, xy, sizeof encoded - 1);
    return mbedtls_ecp_group_load(group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
           mbedtls_ecp_point_read_binary(group, point, encoded, sizeof encoded) == 0 &&
           mbedtls_ecp_check_pubkey(group, point) == 0;
}

bool hl_is_p256_point(const uint8_t *xy)
{
    mbedtls_ecp_group group;
    mbedtls_ecp_point point;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&point);
    bool is_one = read_point(&group, &point, xy);
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_group_free(&group);
    return is_one;
}

static bool verify_es256(
    const struct hl_verify_key *key, const struct hl_jwt *jwt, const uint8_t hash[HASH_SIZE])
{
    if (jwt->signature_n != 2 * HL_P256_SIZE || key->n != 2 * HL_P256_SIZE)
        return false;
    mbedtls_ecp_group group;
    mbedtls_ecp_point point;
    mbedtls_mpi r, s;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&point);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    bool is_good = read_point(&group, &point, key->bytes) &&
                   mbedtls_mpi_read_binary(&r, jwt->signature, HL_P256_SIZE) == 0 &&
                   mbedtls_mpi_read_binary(&s, jwt->signature + HL_P256_SIZE, HL_P256_SIZE) == 0 &&
                   mbedtls_ecdsa_verify(&group, hash, HASH_SIZE, &point, &r, &s) == 0;
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_group_free(&group);
    return is_good;
}

static bool verify_rs256(
    const struct hl_verify_key *key, const struct hl_jwt *jwt, const uint8_t hash[HASH_SIZE])
{
    if (jwt->signature_n != key->n)
        return false;
    mbedtls_rsa_context rsa;
    mbedtls_rsa_init(&rsa, MBEDTLS_RSA_PKCS_V15, MBEDTLS_MD_NONE);
    bool is_good = mbedtls_rsa_import_raw(&rsa, key->bytes, key->n, NULL, 0, NULL, 0, NULL, 0,
                       key->exponent, key->exponent_n) == 0 &&
                   mbedtls_rsa_complete(&rsa) == 0 && mbedtls_rsa_check_pubkey(&rsa) == 0 &&
                   mbedtls_rsa_get_len(&rsa) == key->n &&
                   mbedtls_rsa_pkcs1_verify(&rsa, NULL, NULL, MBEDTLS_RSA_PUBLIC, MBEDTLS_MD_SHA256,
                       HASH_SIZE, hash, jwt->signature) == 0;
    mbedtls_rsa_free(&rsa);
    return is_good;
}

static bool verify_hs256(const struct hl_verify_key *key, const struct hl_jwt *jwt)
{
    uint8_t mac[HASH_SIZE];
    unsigned char difference = 0;
    if (jwt->signature_n != sizeof mac ||
        mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), key->bytes, key->n,
            (const unsigned char *)jwt->signed_part.p, jwt->signed_part.n, mac) != 0)
        return false;
    for (size_t i = 0; i < sizeof mac; i++)
        difference |= mac[i] ^ jwt->signature[i];
    return difference == 0;
}

bool hl_verify(const struct hl_verify_key *key, const struct hl_jwt *jwt)
{
    uint8_t hash[HASH_SIZE];
    if (key->alg != jwt->alg)
        return false;
    if (key->alg == HL_ALG_HS256)
        return verify_hs256(key, jwt);
    if (mbedtls_sha256_ret(
            (const unsigned char *)jwt->signed_part.p, jwt->signed_part.n, hash, 0) != 0)
        return false;
    return key->alg == HL_ALG_ES256 ? verify_es256(key, jwt, hash) : verify_rs256(key, jwt, hash);
}
