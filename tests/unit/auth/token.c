#include "token.h"

#include <criterion/criterion.h>
#include <mbedtls/bignum.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>
#include <stdio.h>

#include "auth/verify_key.h"
#include "base/base64.h"
#include "base/random.h"

int token_random(void *none, unsigned char *out, size_t n)
{
    (void)none;
    hl_random_fill(out, n);
    return 0;
}

void signer_init(struct signer *signer, enum hl_alg alg)
{
    *signer = (struct signer){.alg = alg};
    mbedtls_ecp_keypair_init(&signer->ec);
    mbedtls_rsa_init(&signer->rsa, MBEDTLS_RSA_PKCS_V15, MBEDTLS_MD_NONE);
    if (alg == HL_ALG_ES256)
        cr_assert_eq(
            mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, &signer->ec, token_random, NULL), 0);
    if (alg == HL_ALG_RS256)
        cr_assert_eq(mbedtls_rsa_gen_key(&signer->rsa, token_random, NULL, 2048, 65537), 0);
    uint8_t random[24];
    hl_random_fill(random, sizeof random);
    signer->secret[hl_base64url_encode(signer->secret, random, sizeof random)] = '\0';
}

void signer_fini(struct signer *signer)
{
    mbedtls_ecp_keypair_free(&signer->ec);
    mbedtls_rsa_free(&signer->rsa);
}

static void get_point(const struct signer *signer, uint8_t xy[64])
{
    mbedtls_mpi_write_binary(&signer->ec.Q.X, xy, 32);
    mbedtls_mpi_write_binary(&signer->ec.Q.Y, xy + 32, 32);
}

struct hl_verify_key *signer_key(const struct signer *signer, const char *kid)
{
    uint8_t bytes[256];
    struct hl_str name = {kid, kid ? strlen(kid) : 0};
    if (signer->alg == HL_ALG_HS256)
        return hl_verify_key_new(HL_ALG_HS256, name, signer->secret, strlen(signer->secret));
    if (signer->alg == HL_ALG_ES256) {
        get_point(signer, bytes);
        return hl_verify_key_new(HL_ALG_ES256, name, bytes, 64);
    }
    mbedtls_mpi_write_binary(&signer->rsa.N, bytes, sizeof bytes);
    struct hl_verify_key *key = hl_verify_key_new(HL_ALG_RS256, name, bytes, sizeof bytes);
    memcpy(key->exponent, "\x01\x00\x01", 3);
    key->exponent_n = 3;
    return key;
}

void signer_jwk(
    const struct signer *signer, const char *kid, const char *more, char *out, size_t cap)
{
    uint8_t bytes[256];
    char a[400], b[64];
    if (signer->alg == HL_ALG_ES256) {
        get_point(signer, bytes);
        a[hl_base64url_encode(a, bytes, 32)] = '\0';
        b[hl_base64url_encode(b, bytes + 32, 32)] = '\0';
        snprintf(out, cap,
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"%s\",\"x\":\"%s\",\"y\":\"%s\"%s}", kid, a,
            b, more);
        return;
    }
    mbedtls_mpi_write_binary(&signer->rsa.N, bytes, sizeof bytes);
    a[hl_base64url_encode(a, bytes, sizeof bytes)] = '\0';
    snprintf(
        out, cap, "{\"kty\":\"RSA\",\"kid\":\"%s\",\"n\":\"%s\",\"e\":\"AQAB\"%s}", kid, a, more);
}

/* "header.claims"; its length. */
static size_t write_signed_part(const char *header, const char *claims, char *out)
{
    cr_assert_lt(strlen(header) + strlen(claims), TOKEN_MAX / 2);
    size_t n = hl_base64url_encode(out, header, strlen(header));
    out[n++] = '.';
    return n + hl_base64url_encode(out + n, claims, strlen(claims));
}

static size_t sign(const struct signer *signer, const char *part, size_t part_n, uint8_t out[256])
{
    uint8_t hash[32];
    const unsigned char *p = (const unsigned char *)part;
    if (signer->alg == HL_ALG_HS256) {
        mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
            (const unsigned char *)signer->secret, strlen(signer->secret), p, part_n, out);
        return 32;
    }
    mbedtls_sha256_ret(p, part_n, hash, 0);
    if (signer->alg == HL_ALG_RS256) {
        cr_assert_eq(mbedtls_rsa_pkcs1_sign((mbedtls_rsa_context *)&signer->rsa, token_random, NULL,
                         MBEDTLS_RSA_PRIVATE, MBEDTLS_MD_SHA256, 32, hash, out),
            0);
        return 256;
    }
    mbedtls_mpi r, s;
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    cr_assert_eq(mbedtls_ecdsa_sign((mbedtls_ecp_group *)&signer->ec.grp, &r, &s, &signer->ec.d,
                     hash, 32, token_random, NULL),
        0);
    mbedtls_mpi_write_binary(&r, out, 32);
    mbedtls_mpi_write_binary(&s, out + 32, 32);
    mbedtls_mpi_free(&r);
    mbedtls_mpi_free(&s);
    return 64;
}

void token_make(const struct signer *signer, const char *header, const char *claims, char *out)
{
    uint8_t signature[256];
    size_t n = write_signed_part(header, claims, out);
    size_t signature_n = sign(signer, out, n, signature);
    out[n++] = '.';
    n += hl_base64url_encode(out + n, signature, signature_n);
    out[n] = '\0';
}

void token_make_with(
    const char *header, const char *claims, const void *signature, size_t n, char *out)
{
    size_t at = write_signed_part(header, claims, out);
    out[at++] = '.';
    at += hl_base64url_encode(out + at, signature, n);
    out[at] = '\0';
}
