/* signing_key.c - the file that holds the private key of hookline's own tokens, sealed. At start,
 * before anybody else asks for it. What the bytes mean is auth's affair. */
#include "store/signing_key.h"

#include "store/path.h"
#include "store/secret.h"

#define PLACE "signing-key"

static const struct hl_id no_row;

enum hl_err hl_signing_key_read(
    const char *data_dir, const struct hl_key *key, uint8_t *out, size_t cap, size_t *n)
{
    char path[HL_PATH_MAX], sealed[HL_SIGNING_KEY_MAX + HL_SEAL_OVERHEAD + 1];
    struct hl_sealer sealer;
    size_t size;
    enum hl_err err = hl_path(path, "%s/signing-key", data_dir);
    if (!err)
        err = hl_path_read(path, sealed, sizeof(sealed), &size);
    if (err)
        return err == HL_ERR_TOO_LARGE ? HL_ERR_CORRUPT : err;
    if (size > cap)
        return HL_ERR_CORRUPT;
    err = hl_sealer_init(&sealer, key);
    if (!err)
        err = hl_unseal(&sealer, PLACE, &no_row, (struct hl_str){sealed, size}, (char *)out, n);
    hl_sealer_fini(&sealer);
    return err;
}

enum hl_err hl_signing_key_write(
    const char *data_dir, const struct hl_key *key, const uint8_t *bytes, size_t n)
{
    char path[HL_PATH_MAX];
    struct hl_sealer sealer;
    struct hl_buf sealed;
    if (n > HL_SIGNING_KEY_MAX)
        return HL_ERR_TOO_LARGE;
    enum hl_err err = hl_path(path, "%s/signing-key", data_dir);
    if (err)
        return err;
    hl_buf_init(&sealed, 0);
    err = hl_sealer_init(&sealer, key);
    if (!err)
        err = hl_seal(&sealer, PLACE, &no_row, (struct hl_str){(const char *)bytes, n}, &sealed);
    if (!err)
        err = hl_path_write(path, sealed.p, sealed.n);
    hl_sealer_fini(&sealer);
    hl_buf_fini(&sealed);
    return err;
}
