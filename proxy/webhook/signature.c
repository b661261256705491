/* signature.c - HMAC-SHA256 over `id.timestamp.body`, in hex and as Standard Webhooks.
 *
 * A Standard Webhooks secret is "whsec_" and base64 of the key; any other secret is the key itself.
 * The contract's own signature is keyed with the secret's characters as they stand, prefix and all.
 * So only a whsec_ secret needs two HMACs; else one is written in two ways. */
#include "webhook/signature.h"

#include <mbedtls/platform_util.h>
#include <string.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/id.h"
#include "base/str.h"
#include "http/writer.h"

#define KEY_MAX      HL_SIGNATURE_SECRET_MAX
#define SHA256_BLOCK 64
#define SHA256_SIZE  32

/* Standard Webhooks' key of a secret; its length, or -1. */
static ptrdiff_t standard_key(struct hl_str secret, uint8_t key[KEY_MAX])
{
    static const struct hl_str prefix = {"whsec_", sizeof("whsec_") - 1};
    if (secret.n > HL_SIGNATURE_SECRET_MAX)
        return -1;
    if (!hl_str_starts_with(secret, prefix)) {
        memcpy(key, secret.p, secret.n);
        return (ptrdiff_t)secret.n;
    }
    return hl_base64_decode((struct hl_str){secret.p + prefix.n, secret.n - prefix.n}, key);
}

static void key_half(mbedtls_sha256_context *sha, const uint8_t key[SHA256_BLOCK], uint8_t pad)
{
    uint8_t block[SHA256_BLOCK];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ pad;
    mbedtls_sha256_init(sha);
    mbedtls_sha256_starts_ret(sha, 0);
    mbedtls_sha256_update_ret(sha, block, sizeof block);
    mbedtls_platform_zeroize(block, sizeof block);
}

/* A key longer than a block is hashed. */
static void hmac_init(struct hl_hmac *hmac, const char *key, size_t n)
{
    uint8_t block[SHA256_BLOCK] = {0};
    if (n > sizeof block)
        mbedtls_sha256_ret((const unsigned char *)key, n, block, 0);
    else
        memcpy(block, key, n);
    key_half(&hmac->inner, block, 0x36);
    key_half(&hmac->outer, block, 0x5c);
    mbedtls_platform_zeroize(block, sizeof block);
}

static void hmac_copy(struct hl_hmac *hmac, const struct hl_hmac *keyed)
{
    mbedtls_sha256_clone(&hmac->inner, &keyed->inner);
    mbedtls_sha256_clone(&hmac->outer, &keyed->outer);
}

static void hmac_feed(struct hl_hmac *hmac, const char *p, size_t n)
{
    mbedtls_sha256_update_ret(&hmac->inner, (const unsigned char *)p, n);
}

static void hmac_end(struct hl_hmac *hmac, uint8_t mac[SHA256_SIZE])
{
    mbedtls_sha256_finish_ret(&hmac->inner, mac);
    mbedtls_sha256_update_ret(&hmac->outer, mac, SHA256_SIZE);
    mbedtls_sha256_finish_ret(&hmac->outer, mac);
}

static void hmac_fini(struct hl_hmac *hmac)
{
    mbedtls_sha256_free(&hmac->inner);
    mbedtls_sha256_free(&hmac->outer);
}

enum hl_err hl_signature_init(struct hl_signature *s, struct hl_str secret)
{
    uint8_t key[KEY_MAX];
    ptrdiff_t key_n = standard_key(secret, key);
    if (key_n <= 0)
        return HL_ERR_INVALID;
    s->has_two_keys = (size_t)key_n != secret.n;
    hmac_init(&s->plain, secret.p, secret.n);
    if (s->has_two_keys)
        hmac_init(&s->standard, (const char *)key, (size_t)key_n);
    mbedtls_platform_zeroize(key, sizeof key);
    return HL_OK;
}

void hl_signature_copy(struct hl_signature *s, const struct hl_signature *keyed)
{
    s->has_two_keys = keyed->has_two_keys;
    hmac_copy(&s->plain, &keyed->plain);
    if (s->has_two_keys)
        hmac_copy(&s->standard, &keyed->standard);
}

void hl_signature_begin(struct hl_signature *s, const struct hl_id *run_id, int64_t unix_s)
{
    char head[HL_ID_TEXT + 24];
    struct hl_writer w = hl_writer_on(head, sizeof head);
    hl_id_format(run_id, w.p);
    w.p += HL_ID_TEXT;
    HL_WRITE(&w, ".");
    hl_write_u64(&w, (uint64_t)unix_s);
    HL_WRITE(&w, ".");
    hl_signature_feed(s, head, hl_writer_end(&w));
}

void hl_signature_feed(struct hl_signature *s, const char *p, size_t n)
{
    hmac_feed(&s->plain, p, n);
    if (s->has_two_keys)
        hmac_feed(&s->standard, p, n);
}

void hl_signature_end(struct hl_signature *s, struct hl_signature_text *out)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t mac[SHA256_SIZE];
    hmac_end(&s->plain, mac);
    for (size_t i = 0; i < sizeof mac; i++) {
        out->hex[2 * i] = digits[mac[i] >> 4];
        out->hex[2 * i + 1] = digits[mac[i] & 15];
    }
    out->hex[HL_SIGNATURE_HEX] = '\0';
    if (s->has_two_keys)
        hmac_end(&s->standard, mac);
    size_t n = hl_base64_encode(out->base64, mac, sizeof mac);
    HL_ASSERT(n == HL_SIGNATURE_BASE64);
    out->base64[n] = '\0';
}

void hl_signature_fini(struct hl_signature *s)
{
    hmac_fini(&s->plain);
    if (s->has_two_keys)
        hmac_fini(&s->standard);
}
