/* pem.c - see pem.h. Thread: any, for objects of its own.
 * Not here: whether what was read fits together (identity.c). */
#include "tls/pem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

#define FILE_MAX (1024 * 1024)

enum hl_err hl_tls_complain(
    const struct hl_tls_complaint *to, const char *option, const char *path, const char *fmt, ...)
{
    int n = snprintf(to->why, to->len, "%s: '%s': ", option, path);
    if (n < 0 || (size_t)n >= to->len)
        return HL_ERR_INVALID;
    va_list args;
    va_start(args, fmt);
    vsnprintf(to->why + n, to->len - (size_t)n, fmt, args);
    va_end(args);
    return HL_ERR_INVALID;
}

static void wipe(struct hl_buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->n);
    hl_buf_fini(b);
}

/* With a NUL behind it, which mbedTLS wants of PEM. */
static enum hl_err read_pem(
    struct hl_buf *out, const char *option, const char *path, const struct hl_tls_complaint *to)
{
    enum hl_err err = hl_file_append(path, out);
    if (!err)
        err = hl_buf_append(out, "", 1);
    if (err == HL_ERR_NO_FILE)
        return hl_tls_complain(to, option, path, "it is not a regular file");
    if (err == HL_ERR_TOO_LARGE)
        return hl_tls_complain(to, option, path, "it is larger than 1 MiB");
    if (err && err != HL_ERR_NOMEM)
        return hl_tls_complain(to, option, path, "it cannot be read: %s", hl_err_text(err));
    if (!err && !memmem(out->p, out->n, "-----BEGIN ", 11))
        return hl_tls_complain(to, option, path, "it is not PEM (-----BEGIN …)");
    return err;
}

enum hl_err hl_tls_read_certificates(mbedtls_x509_crt *out, const char *option, const char *path,
    bool is_lenient, const struct hl_tls_complaint *to)
{
    struct hl_buf text;
    hl_buf_init(&text, FILE_MAX);
    enum hl_err err = read_pem(&text, option, path, to);
    int rc = err ? 0 : mbedtls_x509_crt_parse(out, (unsigned char *)text.p, text.n);
    hl_buf_fini(&text);
    if (err)
        return err;
    if (rc > 0 && !is_lenient)
        return hl_tls_complain(
            to, option, path, "%d of its certificates cannot be used: ECDSA and RSA can", rc);
    if (rc < 0 || out->raw.len == 0)
        return hl_tls_complain(to, option, path,
            "it has no certificate that can be used (-----BEGIN CERTIFICATE-----, ECDSA or RSA)");
    return HL_OK;
}

enum hl_err hl_tls_read_key(mbedtls_pk_context *out, const char *option, const char *path,
    const struct hl_tls_complaint *to)
{
    struct hl_buf text;
    hl_buf_init(&text, FILE_MAX);
    enum hl_err err = read_pem(&text, option, path, to);
    int rc = err ? 0 : mbedtls_pk_parse_key(out, (unsigned char *)text.p, text.n, NULL, 0);
    wipe(&text);
    if (err || rc == 0)
        return err;
    if (rc == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || rc == MBEDTLS_ERR_PK_PASSWORD_MISMATCH)
        return hl_tls_complain(
            to, option, path, "the key is encrypted, and nobody is there to type its password");
    return hl_tls_complain(to, option, path,
        "it has no private key that can be used (-----BEGIN PRIVATE KEY-----, ECDSA or RSA)");
}
