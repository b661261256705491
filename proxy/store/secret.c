/* secret.c - seals and opens values with mbedTLS. A sealed value is
 *   1 byte   format: 1
 *   12 bytes nonce, random
 *   n bytes  ciphertext
 *   16 bytes tag, over the ciphertext and the place: "table.column" NUL row id
 * Random 96-bit nonces are safe for 2^32 values under one key (NIST SP 800-38D 8.3). */
#include "store/secret.h"

#include <string.h>

#include "base/assert.h"
#include "base/random.h"

#define FORMAT     1
#define NONCE_SIZE 12
#define TAG_SIZE   16

struct place {
    uint8_t p[64];
    size_t n;
};

enum hl_err hl_sealer_init(struct hl_sealer *s, const struct hl_key *key)
{
    s->pool_left = 0;
    mbedtls_gcm_init(&s->gcm);
    int rc = mbedtls_gcm_setkey(&s->gcm, MBEDTLS_CIPHER_ID_AES, key->seal, 8 * HL_KEY_SIZE);
    return rc == 0 ? HL_OK : HL_ERR_NOMEM;
}

void hl_sealer_fini(struct hl_sealer *s)
{
    mbedtls_gcm_free(&s->gcm);
}

static const uint8_t *next_nonce(struct hl_sealer *s)
{
    if (s->pool_left < NONCE_SIZE) {
        hl_random_fill(s->pool, sizeof(s->pool));
        s->pool_left = sizeof(s->pool);
    }
    s->pool_left -= NONCE_SIZE;
    return s->pool + s->pool_left;
}

static struct place place_of(const char *name, const struct hl_id *row)
{
    struct place place;
    size_t n = strlen(name) + 1;
    HL_ASSERT(n + sizeof(row->b) <= sizeof(place.p));
    memcpy(place.p, name, n);
    memcpy(place.p + n, row->b, sizeof(row->b));
    place.n = n + sizeof(row->b);
    return place;
}

enum hl_err hl_seal(struct hl_sealer *s, const char *name, const struct hl_id *row,
    struct hl_str plain, struct hl_buf *out)
{
    out->n = 0;
    enum hl_err err = hl_buf_reserve(out, plain.n + HL_SEAL_OVERHEAD);
    if (err)
        return err;
    struct place place = place_of(name, row);
    uint8_t *p = (uint8_t *)out->p;
    p[0] = FORMAT;
    memcpy(p + 1, next_nonce(s), NONCE_SIZE);
    uint8_t *text = p + 1 + NONCE_SIZE;
    int rc = mbedtls_gcm_crypt_and_tag(&s->gcm, MBEDTLS_GCM_ENCRYPT, plain.n, p + 1, NONCE_SIZE,
        place.p, place.n, (const uint8_t *)plain.p, text, TAG_SIZE, text + plain.n);
    HL_ASSERT(rc == 0);
    out->n = plain.n + HL_SEAL_OVERHEAD;
    return HL_OK;
}

enum hl_err hl_unseal(
    struct hl_sealer *s, const char *name, const struct hl_id *row, struct hl_str sealed, char *out)
{
    if (sealed.n < HL_SEAL_OVERHEAD || sealed.p[0] != FORMAT)
        return HL_ERR_CORRUPT;
    struct place place = place_of(name, row);
    const uint8_t *nonce = (const uint8_t *)sealed.p + 1, *text = nonce + NONCE_SIZE;
    size_t n = sealed.n - HL_SEAL_OVERHEAD;
    int rc = mbedtls_gcm_auth_decrypt(
        &s->gcm, n, nonce, NONCE_SIZE, place.p, place.n, text + n, TAG_SIZE, text, (uint8_t *)out);
    return rc == 0 ? HL_OK : HL_ERR_CORRUPT;
}
