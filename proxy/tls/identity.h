/* identity.h - who hookline is to its peers, and whom it trusts: certificate chain, private key, CAs, and how
 * it speaks TLS with them. Never changes but for the sessions; a connection holds the one it began with. */
#ifndef HL_TLS_IDENTITY_H
#define HL_TLS_IDENTITY_H

#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "tls/resumption.h"
#include "tls/tls.h"

struct hl_tls_identity {
    atomic_uint refs;
    mbedtls_x509_crt chain; /* empty: no certificate is shown */
    mbedtls_pk_context key;
    mbedtls_x509_crt ca;                /* of peers; empty: no certificates are asked for */
    struct hl_buf before;               /* the certificate that it replaced (DER); empty: none */
    mbedtls_ssl_ticket_context tickets; /* has a lock of its own; its keys change by themselves */
    struct hl_tls_resumptions resumptions;
    mbedtls_ssl_config configs[HL_TLS_USES]; /* of those uses that its files are for */
    int64_t expires_s;                       /* Unix time: notAfter of its own certificate */
};

/* Reads and tries the files; logs what is doubtful about them. With one reference, the caller's. On
 * failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_tls_identity_load(
    struct hl_tls_identity **out, const struct hl_tls_files *files, char *why, size_t why_len);
struct hl_tls_identity *hl_tls_identity_hold(struct hl_tls_identity *identity);
/* Before others see it: it takes the place of `old`, which may be NULL. Without memory for it nothing is known of it. */
void hl_tls_identity_succeed(struct hl_tls_identity *identity, const struct hl_tls_identity *old);
/* The certificate is ours, or was until the files changed. */
bool hl_tls_identity_has(const struct hl_tls_identity *identity, const mbedtls_x509_crt *crt);
void hl_tls_identity_release(struct hl_tls_identity *identity); /* NULL-safe */

/* For mbedTLS: the kernel's generator. */
int hl_tls_random(void *unused, unsigned char *out, size_t n);

#endif
