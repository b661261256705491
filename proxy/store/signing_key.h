/* signing_key.h - the file behind hl_store_get_signing_key and hl_store_put_signing_key. */
#ifndef HL_STORE_SIGNING_KEY_H
#define HL_STORE_SIGNING_KEY_H

#include "store/key.h"
#include "store/store.h"

/* See store.h. Both block. */
HL_MUST_CHECK enum hl_err hl_signing_key_read(
    const char *data_dir, const struct hl_key *key, uint8_t *out, size_t cap, size_t *n);
HL_MUST_CHECK enum hl_err hl_signing_key_write(
    const char *data_dir, const struct hl_key *key, const uint8_t *bytes, size_t n);

#endif
