/* pem.h - certificates and keys out of the files that settings name, and what is wrong with them. */
#ifndef HL_TLS_PEM_H
#define HL_TLS_PEM_H

#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"

/* Where one line goes that says what is wrong. */
struct hl_tls_complaint {
    char *why;
    size_t len;
};

/* "OPTION: 'path': …". Always HL_ERR_INVALID. */
enum hl_err hl_tls_complain(const struct hl_tls_complaint *to, const char *option, const char *path,
    const char *fmt, ...) HL_PRINTF(4, 5);

/* `out` is initialised. `is_lenient`: those that cannot be used are passed over. HL_ERR_INVALID (said),
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_tls_read_certificates(mbedtls_x509_crt *out, const char *option,
    const char *path, bool is_lenient, const struct hl_tls_complaint *to);
HL_MUST_CHECK enum hl_err hl_tls_read_key(mbedtls_pk_context *out, const char *option,
    const char *path, const struct hl_tls_complaint *to);

#endif
