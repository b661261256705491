/* signature.c - HMAC-SHA256 over `id.timestamp.body`, in hex and as Standard Webhooks.
 *
 * A Standard Webhooks secret is "whsec_" and base64 of the key; any other secret is the key itself.
 * The contract's own signature is keyed with the secret's characters as they stand, prefix and all.
 * So only a whsec_ secret needs two HMACs; else one is written in two ways. */
#include "webhook/signature.h"

#include <mbedtls/platform_util.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/id.h"
#include "base/str.h"

#define KEY_MAX HL_SIGNATURE_SECRET_MAX

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

static enum hl_err start(mbedtls_md_context_t *hmac, const void *key, size_t key_n)
{
    mbedtls_md_init(hmac);
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    if (mbedtls_md_setup(hmac, sha256, 1) != 0)
        return HL_ERR_NOMEM;
    mbedtls_md_hmac_starts(hmac, key, key_n);
    return HL_OK;
}

enum hl_err hl_signature_init(
    struct hl_signature *s, struct hl_str secret, const struct hl_id *run_id, int64_t unix_s)
{
    uint8_t key[KEY_MAX];
    ptrdiff_t key_n = standard_key(secret, key);
    if (key_n <= 0)
        return HL_ERR_INVALID;
    s->has_two_keys = (size_t)key_n != secret.n;
    mbedtls_md_init(&s->standard);
    enum hl_err err = start(&s->plain, secret.p, secret.n);
    if (err == HL_OK && s->has_two_keys)
        err = start(&s->standard, key, (size_t)key_n);
    mbedtls_platform_zeroize(key, sizeof key);
    if (err != HL_OK) {
        hl_signature_fini(s);
        return err;
    }
    char head[HL_ID_TEXT + 24];
    hl_id_format(run_id, head);
    int n = snprintf(head + HL_ID_TEXT, sizeof head - HL_ID_TEXT, ".%lld.", (long long)unix_s);
    hl_signature_feed(s, head, HL_ID_TEXT + (size_t)n);
    return HL_OK;
}

void hl_signature_feed(struct hl_signature *s, const char *p, size_t n)
{
    mbedtls_md_hmac_update(&s->plain, (const unsigned char *)p, n);
    if (s->has_two_keys)
        mbedtls_md_hmac_update(&s->standard, (const unsigned char *)p, n);
}

void hl_signature_end(struct hl_signature *s, struct hl_signature_text *out)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t mac[32];
    mbedtls_md_hmac_finish(&s->plain, mac);
    for (size_t i = 0; i < sizeof mac; i++) {
        out->hex[2 * i] = digits[mac[i] >> 4];
        out->hex[2 * i + 1] = digits[mac[i] & 15];
    }
    out->hex[HL_SIGNATURE_HEX] = '\0';
    if (s->has_two_keys)
        mbedtls_md_hmac_finish(&s->standard, mac);
    size_t n = hl_base64_encode(out->base64, mac, sizeof mac);
    HL_ASSERT(n == HL_SIGNATURE_BASE64);
    out->base64[n] = '\0';
}

void hl_signature_fini(struct hl_signature *s)
{
    mbedtls_md_free(&s->plain);
    mbedtls_md_free(&s->standard);
}
