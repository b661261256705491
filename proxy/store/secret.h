/* secret.h - values that are encrypted at rest (contract 5): AES-256, in CCM where one process owns them, in GCM
 * where replicas share them. They are bound to the place they stand in, so that a sealed value copied to another row or
 * column does not open. */
#ifndef HL_STORE_SECRET_H
#define HL_STORE_SECRET_H

#include <mbedtls/ccm.h>
#include <mbedtls/gcm.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_id;
struct hl_key;
struct hl_shared_keys;
struct hl_str;

/* Bytes that sealing adds: format version, salt, 96-bit random nonce, tag. */
#define HL_SEAL_SALT_SIZE 8
#define HL_SEAL_OVERHEAD  (1 + HL_SEAL_SALT_SIZE + 12 + 16)

/* A key derived for the values that carry its salt. */
struct hl_seal_key {
    mbedtls_ccm_context ccm; /* one of them has the key, as the format says */
    mbedtls_gcm_context gcm;
    const struct hl_key *from;
    uint8_t format; /* 0: no key yet */
    uint8_t salt[HL_SEAL_SALT_SIZE];
};

/* One thread owns it. */
struct hl_sealer {
    const struct hl_key *key; /* borrowed */
    const struct hl_key
        *previous;  /* borrowed: values are opened with it too; NULL: there is none */
    uint8_t format; /* in which it seals; it opens all */
    struct hl_seal_key sealing, opening;
    uint32_t seals_left; /* values that may still be sealed with that key */
    size_t pool_left;    /* random bytes for nonces: one system call for many */
    uint8_t pool[768];
};

/* `key` lives as long as the sealer. */
HL_MUST_CHECK enum hl_err hl_sealer_init(struct hl_sealer *s, const struct hl_key *key);
/* The same for values that no hookline of before SQLite's schema 16 opens: sealing costs little more than half. */
HL_MUST_CHECK enum hl_err hl_sealer_init_own(struct hl_sealer *s, const struct hl_key *key);
/* The first with keys that replicas share: values sealed with either are opened. */
HL_MUST_CHECK enum hl_err hl_sealer_init_shared(
    struct hl_sealer *s, const struct hl_shared_keys *keys);
void hl_sealer_fini(struct hl_sealer *s);

/* `place` is "table.column"; `row` the row's id. Replaces what `out` holds. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_seal(struct hl_sealer *s, const char *place, const struct hl_id *row,
    struct hl_str plain, struct hl_buf *out);
/* `out` has room for sealed.n bytes; `*n` of them are the value. HL_ERR_CORRUPT: not sealed with such
 * a key for this place, or changed since. */
HL_MUST_CHECK enum hl_err hl_unseal(struct hl_sealer *s, const char *place, const struct hl_id *row,
    struct hl_str sealed, char *out, size_t *n);
/* Behind what `out` holds. Errors as above, and HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_unseal_append(struct hl_sealer *s, const char *place,
    const struct hl_id *row, struct hl_str sealed, struct hl_buf *out);
/* `*copy`, in memory of its own, is a copy of it until it is the value; an empty one is none. Errors as above. */
HL_MUST_CHECK enum hl_err hl_unseal_copy(struct hl_sealer *s, const char *place,
    const struct hl_id *row, struct hl_str sealed, struct hl_str *copy);

#endif
