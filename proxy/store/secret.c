/* secret.c - seals and opens values with mbedTLS. A sealed value is
 *   1 byte   format: 3 (CCM) or 2 (GCM)
 *   8 bytes  salt of the key, random
 *   12 bytes nonce, random
 *   n bytes  ciphertext
 *   16 bytes tag, over the ciphertext and the place: "table.column" NUL row id
 * Random 96-bit nonces are safe for 2^32 values under one key (NIST SP 800-38D 8.3): each start, and
 * each SEALS_MAX values, take another. Format 1 was GCM with one key and no salt; it is still opened.
 * mbedTLS's GCM takes 45 instructions a byte, of which its hash takes the most; its CCM (NIST SP 800-38C), which has
 * AES twice instead, 25. */
#include "store/secret.h"

#include <mbedtls/cipher.h>
#include <mbedtls/md.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/random.h"
#include "store/key.h"

#define FORMAT_CCM 3
#define FORMAT_GCM 2
#define FORMAT_OLD 1
#define NONCE_SIZE 12
#define TAG_SIZE   16
#define SEALS_MAX  (1u << 24)

struct place {
    uint8_t p[64];
    size_t n;
};

static void init_key(struct hl_seal_key *k)
{
    mbedtls_ccm_init(&k->ccm);
    mbedtls_gcm_init(&k->gcm);
}

static void free_key(struct hl_seal_key *k)
{
    mbedtls_ccm_free(&k->ccm);
    mbedtls_gcm_free(&k->gcm);
}

static enum hl_err set_key(struct hl_seal_key *k, const struct hl_key *key, uint8_t format,
    const uint8_t salt[HL_SEAL_SALT_SIZE])
{
    uint8_t derived[HL_KEY_SIZE];
    if (format == FORMAT_OLD)
        memcpy(derived, key->seal, HL_KEY_SIZE);
    else
        hl_key_derive(key, salt, HL_SEAL_SALT_SIZE, derived);
    free_key(k);
    init_key(k);
    int rc = format == FORMAT_CCM
                 ? mbedtls_ccm_setkey(&k->ccm, MBEDTLS_CIPHER_ID_AES, derived, 8 * HL_KEY_SIZE)
                 : mbedtls_gcm_setkey(&k->gcm, MBEDTLS_CIPHER_ID_AES, derived, 8 * HL_KEY_SIZE);
    explicit_bzero(derived, sizeof(derived));
    k->from = key;
    k->format = rc == 0 ? format : 0;
    memcpy(k->salt, salt, HL_SEAL_SALT_SIZE);
    return rc == 0 ? HL_OK : HL_ERR_NOMEM;
}

static enum hl_err take_fresh_key(struct hl_sealer *s)
{
    uint8_t salt[HL_SEAL_SALT_SIZE];
    hl_random_fill(salt, sizeof(salt));
    enum hl_err err = set_key(&s->sealing, s->key, s->format, salt);
    s->seals_left = err ? 0 : SEALS_MAX;
    return err;
}

static enum hl_err init(struct hl_sealer *s, const struct hl_key *key, uint8_t format)
{
    *s = (struct hl_sealer){.key = key, .format = format};
    init_key(&s->sealing);
    init_key(&s->opening);
    return take_fresh_key(s);
}

enum hl_err hl_sealer_init(struct hl_sealer *s, const struct hl_key *key)
{
    return init(s, key, FORMAT_GCM);
}

enum hl_err hl_sealer_init_own(struct hl_sealer *s, const struct hl_key *key)
{
    return init(s, key, FORMAT_CCM);
}

enum hl_err hl_sealer_init_shared(struct hl_sealer *s, const struct hl_shared_keys *keys)
{
    enum hl_err err = hl_sealer_init(s, &keys->key);
    s->previous = keys->has_previous ? &keys->previous : NULL;
    return err;
}

void hl_sealer_fini(struct hl_sealer *s)
{
    free_key(&s->sealing);
    free_key(&s->opening);
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

/* The ciphertext, and its tag behind it. */
static int encrypt(struct hl_seal_key *k, const struct place *place,
    const uint8_t nonce[NONCE_SIZE], struct hl_str plain, uint8_t *text)
{
    const uint8_t *from = (const uint8_t *)plain.p;
    if (k->format == FORMAT_CCM)
        return mbedtls_ccm_encrypt_and_tag(&k->ccm, plain.n, nonce, NONCE_SIZE, place->p, place->n,
            from, text, text + plain.n, TAG_SIZE);
    return mbedtls_gcm_crypt_and_tag(&k->gcm, MBEDTLS_GCM_ENCRYPT, plain.n, nonce, NONCE_SIZE,
        place->p, place->n, from, text, TAG_SIZE, text + plain.n);
}

enum hl_err hl_seal(struct hl_sealer *s, const char *name, const struct hl_id *row,
    struct hl_str plain, struct hl_buf *out)
{
    out->n = 0;
    enum hl_err err = hl_buf_reserve(out, plain.n + HL_SEAL_OVERHEAD);
    if (!err && s->seals_left == 0)
        err = take_fresh_key(s);
    if (err)
        return err;
    s->seals_left--;
    struct place place = place_of(name, row);
    uint8_t *p = (uint8_t *)out->p, *nonce = p + 1 + HL_SEAL_SALT_SIZE, *text = nonce + NONCE_SIZE;
    p[0] = s->format;
    memcpy(p + 1, s->sealing.salt, HL_SEAL_SALT_SIZE);
    memcpy(nonce, next_nonce(s), NONCE_SIZE);
    int rc = encrypt(&s->sealing, &place, nonce, plain, text);
    HL_ASSERT(rc == 0);
    out->n = plain.n + HL_SEAL_OVERHEAD;
    return HL_OK;
}

/* A sealed value, taken apart. */
struct sealed {
    uint8_t format;
    const uint8_t *salt, *nonce, *text;
    size_t text_n;
};

static bool take_apart(struct hl_str value, struct sealed *out)
{
    static const uint8_t no_salt[HL_SEAL_SALT_SIZE];
    const uint8_t *p = (const uint8_t *)value.p;
    uint8_t format = value.n > 0 ? p[0] : 0;
    size_t salt_n = format == FORMAT_OLD ? 0 : HL_SEAL_SALT_SIZE;
    bool is_known = format >= FORMAT_OLD && format <= FORMAT_CCM;
    if (!is_known || value.n < 1 + salt_n + NONCE_SIZE + TAG_SIZE)
        return false;
    *out = (struct sealed){.format = format, .salt = salt_n > 0 ? p + 1 : no_salt};
    out->nonce = p + 1 + salt_n;
    out->text = out->nonce + NONCE_SIZE;
    out->text_n = value.n - (size_t)(out->text - p) - TAG_SIZE;
    return true;
}

static enum hl_err open_with(struct hl_seal_key *k, const struct place *place,
    const struct sealed *sealed, char *out, size_t *n)
{
    *n = sealed->text_n;
    const uint8_t *tag = sealed->text + *n;
    int rc = sealed->format == FORMAT_CCM
                 ? mbedtls_ccm_auth_decrypt(&k->ccm, *n, sealed->nonce, NONCE_SIZE, place->p,
                       place->n, sealed->text, (uint8_t *)out, tag, TAG_SIZE)
                 : mbedtls_gcm_auth_decrypt(&k->gcm, *n, sealed->nonce, NONCE_SIZE, place->p,
                       place->n, tag, TAG_SIZE, sealed->text, (uint8_t *)out);
    return rc == 0 ? HL_OK : HL_ERR_CORRUPT;
}

/* The key for a salt that is at hand: that of this start, or of the value opened before, mostly. */
static struct hl_seal_key *find_key(struct hl_sealer *s, const struct sealed *sealed)
{
    struct hl_seal_key *const known[] = {&s->sealing, &s->opening};
    for (size_t i = 0; i < HL_ARRAY_LEN(known); i++)
        if (known[i]->format == sealed->format &&
            memcmp(known[i]->salt, sealed->salt, HL_SEAL_SALT_SIZE) == 0)
            return known[i];
    return NULL;
}

/* A salt does not say which of the two keys it was for. */
enum hl_err hl_unseal(struct hl_sealer *s, const char *name, const struct hl_id *row,
    struct hl_str value, char *out, size_t *n)
{
    const struct hl_key *const keys[] = {s->key, s->previous};
    struct sealed sealed;
    if (!take_apart(value, &sealed))
        return HL_ERR_CORRUPT;
    struct place place = place_of(name, row);
    struct hl_seal_key *known = find_key(s, &sealed);
    const struct hl_key *tried = known ? known->from : NULL;
    enum hl_err err = known ? open_with(known, &place, &sealed, out, n) : HL_ERR_CORRUPT;
    for (size_t i = 0; i < HL_ARRAY_LEN(keys) && err == HL_ERR_CORRUPT; i++) {
        if (!keys[i] || keys[i] == tried)
            continue;
        err = set_key(&s->opening, keys[i], sealed.format, sealed.salt);
        if (!err)
            err = open_with(&s->opening, &place, &sealed, out, n);
    }
    return err;
}

enum hl_err hl_unseal_copy(struct hl_sealer *s, const char *place, const struct hl_id *row,
    struct hl_str sealed, struct hl_str *copy)
{
    return sealed.n > 0 ? hl_unseal(s, place, row, sealed, (char *)copy->p, &copy->n) : HL_OK;
}

enum hl_err hl_unseal_append(struct hl_sealer *s, const char *place, const struct hl_id *row,
    struct hl_str sealed, struct hl_buf *out)
{
    size_t n;
    enum hl_err err = hl_buf_reserve(out, sealed.n);
    if (!err)
        err = hl_unseal(s, place, row, sealed, out->p + out->n, &n);
    if (!err)
        out->n += n;
    return err;
}
