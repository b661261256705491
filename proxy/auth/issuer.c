/* issuer.c - hookline's own signing key and the tokens it signs.
 * Owns: the private key, in memory. Thread: any; nothing changes after opening.
 * Promise: the key's name is its thumbprint (RFC 7638), so that another key never has its name.
 * Not here: where the key is kept (the store), which accounts there are (registry.c). */
#include "auth/issuer.h"

#include <inttypes.h>
#include <mbedtls/bignum.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/ecp.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/jwt.h"
#include "auth/verify_key.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/random.h"
#include "store/store.h"

#define HASH_SIZE 32

struct hl_issuer {
    uint8_t secret[HL_P256_SIZE];
    struct hl_verify_key *key;
    char kid[64]; /* NUL-terminated */
};

static int fill_random(void *none, unsigned char *out, size_t n)
{
    (void)none;
    hl_random_fill(out, n);
    return 0;
}

/* ---- the key ---- */

/* A number from 1 to the group's order - 1, by rejection. */
static bool make_secret(uint8_t secret[HL_P256_SIZE])
{
    mbedtls_ecp_group group;
    mbedtls_mpi d;
    mbedtls_ecp_group_init(&group);
    mbedtls_mpi_init(&d);
    bool is_made = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
                   mbedtls_ecp_gen_privkey(&group, &d, fill_random, NULL) == 0 &&
                   mbedtls_mpi_write_binary(&d, secret, HL_P256_SIZE) == 0;
    mbedtls_mpi_free(&d);
    mbedtls_ecp_group_free(&group);
    return is_made;
}

/* x and y of the public half. False: `secret` is none. */
static bool derive_public(const uint8_t secret[HL_P256_SIZE], uint8_t xy[2 * HL_P256_SIZE])
{
    mbedtls_ecp_group group;
    mbedtls_ecp_point q;
    mbedtls_mpi d;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&q);
    mbedtls_mpi_init(&d);
    bool is_done = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
                   mbedtls_mpi_read_binary(&d, secret, HL_P256_SIZE) == 0 &&
                   mbedtls_ecp_check_privkey(&group, &d) == 0 &&
                   mbedtls_ecp_mul(&group, &q, &d, &group.G, fill_random, NULL) == 0 &&
                   mbedtls_mpi_write_binary(&q.X, xy, HL_P256_SIZE) == 0 &&
                   mbedtls_mpi_write_binary(&q.Y, xy + HL_P256_SIZE, HL_P256_SIZE) == 0;
    mbedtls_mpi_free(&d);
    mbedtls_ecp_point_free(&q);
    mbedtls_ecp_group_free(&group);
    return is_done;
}

/* RFC 7638: SHA-256 over the required members in this order. */
static void write_thumbprint(const uint8_t xy[2 * HL_P256_SIZE], char kid[64])
{
    char x[64], y[64], text[256];
    uint8_t hash[HASH_SIZE];
    x[hl_base64url_encode(x, xy, HL_P256_SIZE)] = '\0';
    y[hl_base64url_encode(y, xy + HL_P256_SIZE, HL_P256_SIZE)] = '\0';
    int n = snprintf(
        text, sizeof text, "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"}", x, y);
    mbedtls_sha256_ret((const unsigned char *)text, (size_t)n, hash, 0);
    kid[hl_base64url_encode(kid, hash, sizeof hash)] = '\0';
}

static enum hl_err read_secret(struct hl_issuer *issuer, struct hl_store *store)
{
    uint8_t kept[HL_SIGNING_KEY_MAX];
    size_t n = 0;
    enum hl_err err = hl_store_get_signing_key(store, kept, &n);
    if (err == HL_OK && n != sizeof issuer->secret)
        err = HL_ERR_CORRUPT;
    if (err == HL_OK)
        memcpy(issuer->secret, kept, sizeof issuer->secret);
    explicit_bzero(kept, sizeof kept);
    return err;
}

/* Of replicas that start together one makes the key, and the others take that one. */
static enum hl_err load_secret(struct hl_issuer *issuer, struct hl_store *store)
{
    enum hl_err err = read_secret(issuer, store);
    if (err != HL_ERR_NOT_FOUND)
        return err;
    if (!make_secret(issuer->secret))
        return HL_ERR_NOMEM;
    err = hl_store_put_signing_key(store, issuer->secret, sizeof issuer->secret);
    return err == HL_ERR_EXISTS ? read_secret(issuer, store) : err;
}

struct hl_verify_key *hl_issuer_read_key(const uint8_t *secret, size_t n)
{
    uint8_t xy[2 * HL_P256_SIZE];
    char kid[64];
    if (n != HL_P256_SIZE || !derive_public(secret, xy))
        return NULL;
    write_thumbprint(xy, kid);
    struct hl_verify_key *key = hl_verify_key_new(HL_ALG_ES256, hl_str_from(kid), xy, sizeof xy);
    if (key)
        key->is_own = true;
    return key;
}

static enum hl_err open_key(struct hl_issuer *issuer, struct hl_store *store)
{
    enum hl_err err = load_secret(issuer, store);
    if (err)
        return err;
    issuer->key = hl_issuer_read_key(issuer->secret, sizeof issuer->secret);
    if (!issuer->key)
        return HL_ERR_CORRUPT;
    hl_str_put_cut(
        issuer->kid, sizeof issuer->kid, (struct hl_str){issuer->key->kid, issuer->key->kid_n});
    return HL_OK;
}

enum hl_err hl_issuer_open(
    struct hl_issuer **out, struct hl_store *store, char *why, size_t why_len)
{
    struct hl_issuer *issuer = calloc(1, sizeof(*issuer));
    enum hl_err err = issuer ? open_key(issuer, store) : HL_ERR_NOMEM;
    *out = err ? NULL : issuer;
    if (err) {
        snprintf(why, why_len, "hookline's own signing key cannot be read: %s", hl_err_text(err));
        hl_issuer_free(issuer);
    }
    return err;
}

void hl_issuer_free(struct hl_issuer *issuer)
{
    if (!issuer)
        return;
    hl_verify_key_release(issuer->key);
    explicit_bzero(issuer->secret, sizeof issuer->secret);
    free(issuer);
}

struct hl_verify_key *hl_issuer_key(const struct hl_issuer *issuer)
{
    return issuer->key;
}

/* ---- tokens ---- */

/* RFC 6979, blinded: r and s of 32 bytes each. */
static bool sign_hash(const struct hl_issuer *issuer, const uint8_t hash[HASH_SIZE],
    uint8_t signature[2 * HL_P256_SIZE])
{
    mbedtls_ecp_group group;
    mbedtls_mpi r, s, d;
    mbedtls_ecp_group_init(&group);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    mbedtls_mpi_init(&d);
    bool is_signed = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
                     mbedtls_mpi_read_binary(&d, issuer->secret, HL_P256_SIZE) == 0 &&
                     mbedtls_ecdsa_sign_det_ext(&group, &r, &s, &d, hash, HASH_SIZE,
                         MBEDTLS_MD_SHA256, fill_random, NULL) == 0 &&
                     mbedtls_mpi_write_binary(&r, signature, HL_P256_SIZE) == 0 &&
                     mbedtls_mpi_write_binary(&s, signature + HL_P256_SIZE, HL_P256_SIZE) == 0;
    mbedtls_mpi_free(&d);
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    mbedtls_ecp_group_free(&group);
    return is_signed;
}

/* The claims as JSON; its length. Project names need no escaping: their letters are those of a path
 * (contract 2). */
static size_t write_claims(char *out, size_t cap, const struct hl_grant *grant)
{
    char id[HL_ID_TEXT + 1] = "session", jti[HL_ID_TEXT + 16] = "";
    if (!hl_id_is_nil(&grant->account)) {
        hl_id_format(&grant->account, id);
        id[HL_ID_TEXT] = '\0';
        snprintf(jti, sizeof jti, "\"jti\":\"%s\",", id);
    }
    int n = snprintf(out, cap,
        "{\"iss\":\"" HL_OWN_ISSUER "\",\"sub\":\"%s\",%s\"project_id\":\"%.*s\",\"role\":\"%s\","
        "\"iat\":%" PRId64 ",\"exp\":%" PRId64 "}",
        id, jti, HL_STR_ARG(grant->project), hl_role_text(grant->role), grant->issued_ms / 1000,
        grant->expires_ms / 1000);
    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

static bool is_grant(const struct hl_grant *grant)
{
    bool is_session = hl_id_is_nil(&grant->account);
    return grant->project.n > 0 && grant->project.n <= HL_STORE_NAME_MAX &&
           !memchr(grant->project.p, '"', grant->project.n) &&
           !memchr(grant->project.p, '\\', grant->project.n) &&
           grant->expires_ms > grant->issued_ms &&
           (!is_session || grant->expires_ms - grant->issued_ms <= HL_SESSION_MAX_MS);
}

enum hl_err hl_issuer_sign(
    const struct hl_issuer *issuer, const struct hl_grant *grant, struct hl_buf *out)
{
    char header[128], claims[512], token[HL_OWN_TOKEN_MAX];
    uint8_t hash[HASH_SIZE], signature[2 * HL_P256_SIZE];
    size_t claims_n = is_grant(grant) ? write_claims(claims, sizeof claims, grant) : 0;
    if (claims_n == 0)
        return HL_ERR_INVALID;
    int header_n = snprintf(
        header, sizeof header, "{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", issuer->kid);
    size_t n = hl_base64url_encode(token, header, (size_t)header_n);
    token[n++] = '.';
    n += hl_base64url_encode(token + n, claims, claims_n);
    if (mbedtls_sha256_ret((const unsigned char *)token, n, hash, 0) != 0 ||
        !sign_hash(issuer, hash, signature))
        return HL_ERR_NOMEM;
    token[n++] = '.';
    n += hl_base64url_encode(token + n, signature, sizeof signature);
    enum hl_err err = hl_buf_append(out, token, n);
    explicit_bzero(token, sizeof token);
    return err;
}

void hl_issuer_mark_secret(
    const struct hl_issuer *issuer, struct hl_str secret, char out[HL_SECRET_MARK + 1])
{
    uint8_t mac[HASH_SIZE] = {0};
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    mbedtls_md_hmac(sha256, issuer->secret, sizeof(issuer->secret),
        (const unsigned char *)(secret.n > 0 ? secret.p : ""), secret.n, mac);
    hl_hex_write(out, mac, HL_SECRET_MARK / 2);
    out[HL_SECRET_MARK] = '\0';
}
