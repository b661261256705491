/* verify.c - checks signatures with mbedTLS.
 * Thread: any; contexts are made for each check, because mbedTLS keeps tables inside of them.
 * Promise: only the form that RFC 7518 gives each algorithm is taken: r and s of 32 bytes each, an
 * RSA signature as long as its modulus, a MAC of 32 bytes. Whatever fails is a bad signature. */
#include "auth/verify.h"

#include <mbedtls/bignum.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/ecp.h>
#include <mbedtls/md.h>
#include <mbedtls/rsa.h>
#include <mbedtls/sha256.h>

#include "auth/jwt.h"
#include "auth/verify_key.h"

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
