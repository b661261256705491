/* client.c - what a client adds to a handshake: whose certificate it has to be, a session that is taken up again,
 * and why it failed.
 * Thread: the crew's, but for the texts: any.
 * Promise: a server's name stands in its certificate, as a name or an address of the host asked for; sessions are
 * those of servers that were verified. */
#include <string.h>

#include "tls/session.h"

#define SAN_IP 7 /* RFC 5280 4.2.1.6 */

/* ---- whose it is ---- */

static bool has_address(const mbedtls_x509_crt *crt, const struct hl_ip *ip)
{
    size_t skipped = hl_ip_is_v4(ip) ? 12 : 0;
    for (const mbedtls_x509_sequence *name = &crt->subject_alt_names; name && name->buf.p;
         name = name->next)
        if ((name->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK) == SAN_IP &&
            name->buf.len == sizeof(ip->b) - skipped &&
            memcmp(name->buf.p, ip->b + skipped, name->buf.len) == 0)
            return true;
    return false;
}

/* Of names mbedTLS knows already whether they match, but it takes the subject's where there are no others: those
 * are for people (RFC 6125 6.4.4). */
static bool is_for_host(const struct hl_tls_session *session, const mbedtls_x509_crt *crt)
{
    struct hl_ip ip;
    if (hl_ip_parse(hl_str_from(session->host), &ip))
        return has_address(crt, &ip);
    return crt->subject_alt_names.buf.p != NULL;
}

/* Another replica shows our own certificate, by whomever it was issued, and for whatever name. Only
 * the first of the chain counts. */
static uint32_t replica_flags(
    const struct hl_tls_session *session, const mbedtls_x509_crt *crt, int depth)
{
    bool is_good = depth > 0 || hl_tls_identity_has(session->identity, crt);
    return is_good ? 0 : MBEDTLS_X509_BADCERT_NOT_TRUSTED;
}

static int on_certificate(void *arg, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
    struct hl_tls_session *session = arg;
    session->has_verified = true;
    if (session->use == HL_TLS_REPLICAS)
        *flags = replica_flags(session, crt, depth);
    else if (depth == 0 && !is_for_host(session, crt))
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    return 0;
}

int hl_tls_client_begin(struct hl_tls_session *session)
{
    struct hl_ip ip;
    /* Of an address no name is sent (RFC 6066 3). */
    bool has_name = session->host && !hl_ip_parse(hl_str_from(session->host), &ip);
    mbedtls_ssl_set_verify(&session->ssl, on_certificate, session);
    int rc = mbedtls_ssl_set_hostname(&session->ssl, has_name ? session->host : NULL);
    return rc != 0 ? rc
                   : hl_tls_resumptions_use(
                         &session->identity->resumptions, &session->place, &session->ssl);
}

void hl_tls_client_end(struct hl_tls_session *session)
{
    if (session->has_verified)
        hl_tls_resumptions_keep(&session->identity->resumptions, &session->place, &session->ssl);
}

/* ---- why it failed ---- */

void hl_tls_client_look(struct hl_tls_session *session, struct hl_str held)
{
    const unsigned char *p = (const unsigned char *)held.p;
    if (held.n == HL_TLS_RECORD_HEAD + 2 && p[0] == MBEDTLS_SSL_MSG_ALERT)
        session->alert = p[HL_TLS_RECORD_HEAD + 1];
}

int hl_tls_client_fault(const struct hl_tls_session *session)
{
    uint32_t flags = mbedtls_ssl_get_verify_result(&session->ssl);
    if (session->result == MBEDTLS_ERR_SSL_ALLOC_FAILED)
        return UV_ENOMEM;
    if (session->result == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE)
        return HL_TLS_FAULT_REFUSED;
    if (session->result != MBEDTLS_ERR_X509_CERT_VERIFY_FAILED)
        return HL_TLS_FAULT_OTHER;
    if (flags & ~(uint32_t)(MBEDTLS_X509_BADCERT_CN_MISMATCH | MBEDTLS_X509_BADCERT_EXPIRED |
                            MBEDTLS_X509_BADCERT_FUTURE))
        return HL_TLS_FAULT_UNTRUSTED;
    return flags & MBEDTLS_X509_BADCERT_CN_MISMATCH ? HL_TLS_FAULT_NAME : HL_TLS_FAULT_DATES;
}

const char *hl_tls_error_text(int error)
{
    switch (error) {
    case HL_TLS_FAULT_PLAIN:
        return "it speaks no TLS";
    case HL_TLS_FAULT_LEFT:
        return "it ended the connection during the TLS handshake";
    case HL_TLS_FAULT_REFUSED:
        return "it ended the TLS handshake by an alert";
    case HL_TLS_FAULT_UNTRUSTED:
        return "its certificate is not of a CA that is trusted, or not for servers";
    case HL_TLS_FAULT_NAME:
        return "its certificate is for another host";
    case HL_TLS_FAULT_DATES:
        return "its certificate has expired or is not valid yet";
    case HL_TLS_FAULT_OTHER:
        return "the TLS handshake failed";
    default:
        return uv_strerror(error);
    }
}
