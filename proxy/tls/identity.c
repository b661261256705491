/* identity.c - reads a certificate and its key, says what is wrong with them, sets how TLS is spoken.
 * Thread: control at the start, then whichever handshake thread looks at the files (keeper.c); the
 * result is only read.
 * Promise: what it lets through can be served; what clients may stumble over is said in a line.
 * Not here: when files are read again (keeper.c). */
#include "tls/identity.h"

#include <mbedtls/error.h>
#include <mbedtls/pk.h>
#include <mbedtls/version.h>
#if MBEDTLS_VERSION_MAJOR >= 3
#include <psa/crypto.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/random.h"
#include "tls/pem.h"

#define TICKET_SECONDS   (8 * 3600) /* a ticket's life, and how long a key makes new ones */
#define CHAIN_LENGTH_MAX 10

int hl_tls_random(void *unused, unsigned char *out, size_t n)
{
    (void)unused;
    hl_random_fill(out, n);
    return 0;
}

/* ---- whether they fit ---- */

static enum hl_err match(
    struct hl_tls_identity *id, const struct hl_tls_files *files, const struct hl_tls_complaint *to)
{
    if (mbedtls_pk_check_pair(&id->chain.pk, &id->key) == 0)
        return HL_OK;
    unsigned place = 2;
    for (const mbedtls_x509_crt *crt = id->chain.next; crt; crt = crt->next, place++)
        if (mbedtls_pk_check_pair(&crt->pk, &id->key) == 0)
            return hl_tls_complain(to, files->cert_option, files->cert,
                "the key belongs to certificate %u of the file: the server's own must be the "
                "first, those of its issuers follow",
                place);
    return hl_tls_complain(to, files->key_option, files->key,
        "it is not the key of the certificate in %s", files->cert_option);
}

/* Whether it can be used at all, before a caller finds out. */
static int sign_once(struct hl_tls_identity *id)
{
    unsigned char hash[32] = {0}, signature[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
    size_t n;
    return mbedtls_pk_sign(
        &id->key, MBEDTLS_MD_SHA256, hash, sizeof(hash), signature, &n, hl_tls_random, NULL);
}

static int64_t unix_time(const mbedtls_x509_time *t)
{
    struct tm tm = {.tm_year = t->year - 1900,
        .tm_mon = t->mon - 1,
        .tm_mday = t->day,
        .tm_hour = t->hour,
        .tm_min = t->min,
        .tm_sec = t->sec};
    return timegm(&tm);
}

static bool is_issued_by(const mbedtls_x509_crt *crt, const mbedtls_x509_crt *issuer)
{
    return crt->issuer_raw.len == issuer->subject_raw.len &&
           memcmp(crt->issuer_raw.p, issuer->subject_raw.p, crt->issuer_raw.len) == 0;
}

/* Peers differ in what they forgive: it is said, not refused. */
static void warn(const struct hl_tls_identity *id, const struct hl_tls_files *files)
{
    bool is_past = mbedtls_x509_time_is_past(&id->chain.valid_to);
    if (is_past || mbedtls_x509_time_is_future(&id->chain.valid_from)) {
        char text[80];
        snprintf(text, sizeof(text), "the certificate %s: %s",
            is_past ? "has expired" : "is not valid yet",
            files->is_client ? "the app refuses it" : "clients refuse it");
        HL_LOG(WARN, text, HL_LOG_TEXT("setting", files->cert_option),
            HL_LOG_TEXT("file", files->cert));
    }
    unsigned place = 1;
    for (const mbedtls_x509_crt *crt = &id->chain; crt->next; crt = crt->next, place++) {
        if (is_issued_by(crt, crt->next) || place >= CHAIN_LENGTH_MAX)
            continue;
        HL_LOG(WARN,
            "the certificates are not in order, each followed by its issuer's: some peers will "
            "not find the way to a CA that they trust",
            HL_LOG_TEXT("setting", files->cert_option), HL_LOG_TEXT("file", files->cert),
            HL_LOG_INT("certificate", place));
        return;
    }
}

/* ---- how TLS is spoken: what Mozilla's "intermediate" allows, less the exchanges with finite fields,
 * which cost most and which nobody needs who has one of these ---- */

static const int suites[] = {
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
    MBEDTLS_TLS1_3_AES_128_GCM_SHA256, MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
    MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
#endif
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, 0};
/* Where a client says what it speaks, one of these must be among it. */
static const char *protocols[] = {"http/1.1", "http/1.0", NULL};

#if MBEDTLS_VERSION_MAJOR < 3
static const mbedtls_ecp_group_id curves[] = {MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
    MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE};
static const int hashes[] = {
    MBEDTLS_MD_SHA256, MBEDTLS_MD_SHA384, MBEDTLS_MD_SHA512, MBEDTLS_MD_NONE};

static int begin_library(void)
{
    return 0;
}

static void set_handshake(mbedtls_ssl_config *config)
{
    mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_curves(config, curves);
    mbedtls_ssl_conf_sig_hashes(config, hashes);
}

static void keep_tickets_from_those_with_certificates(mbedtls_ssl_config *config)
{
    (void)config; /* a ticket has the certificate in it */
}
#else
static const uint16_t curves[] = {MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
    MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1, MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1,
    MBEDTLS_SSL_IANA_TLS_GROUP_NONE};
static const uint16_t signatures[] = {MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256,
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384, MBEDTLS_TLS1_3_SIG_ECDSA_SECP521R1_SHA512,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256, MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
    MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512,
    MBEDTLS_TLS1_3_SIG_NONE};

/* TLS 1.3 stands on it. Any number of times, on any thread. */
static int begin_library(void)
{
    return psa_crypto_init() == PSA_SUCCESS ? 0 : MBEDTLS_ERR_SSL_ALLOC_FAILED;
}

/* Early data stays off, and each session has a key exchange of its own. */
static void set_handshake(mbedtls_ssl_config *config)
{
    mbedtls_ssl_conf_min_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_groups(config, curves);
    mbedtls_ssl_conf_sig_algs(config, signatures);
    mbedtls_ssl_conf_tls13_key_exchange_modes(
        config, MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL |
                    MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_EPHEMERAL);
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
        config, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
}

/* A ticket of TLS 1.3 would bring back a caller without its certificate. */
static void keep_tickets_from_those_with_certificates(mbedtls_ssl_config *config)
{
    mbedtls_ssl_conf_new_session_tickets(config, 0);
}
#endif

/* Of both sides. */
static int configure(mbedtls_ssl_config *config, int endpoint)
{
    int rc = mbedtls_ssl_config_defaults(
        config, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_rng(config, hl_tls_random, NULL);
    set_handshake(config);
    mbedtls_ssl_conf_ciphersuites(config, suites);
    mbedtls_ssl_conf_renegotiation(config, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
    return rc;
}

static int configure_server(struct hl_tls_identity *id, enum hl_tls_use use)
{
    mbedtls_ssl_config *config = &id->configs[use];
    int rc = configure(config, MBEDTLS_SSL_IS_SERVER);
    if (rc == 0)
        rc = mbedtls_ssl_conf_own_cert(config, &id->chain, &id->key);
    if (rc == 0)
        rc = mbedtls_ssl_conf_alpn_protocols(config, protocols);
    if (use == HL_TLS_CALLERS &&
        id->ca.raw.len > 0) { /* asked for, not insisted on: what is not good counts as none */
        mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_OPTIONAL);
        mbedtls_ssl_conf_ca_chain(config, &id->ca, NULL);
        keep_tickets_from_those_with_certificates(config);
    }
    mbedtls_ssl_conf_session_tickets_cb(
        config, mbedtls_ssl_ticket_write, mbedtls_ssl_ticket_parse, &id->tickets);
    return rc;
}

static int configure_client(
    struct hl_tls_identity *id, enum hl_tls_use use, mbedtls_x509_crt *authorities)
{
    mbedtls_ssl_config *config = &id->configs[use];
    int rc = configure(config, MBEDTLS_SSL_IS_CLIENT);
    if (rc == 0 && id->chain.raw.len > 0)
        rc = mbedtls_ssl_conf_own_cert(config, &id->chain, &id->key);
    if (rc == 0)
        rc = mbedtls_ssl_conf_alpn_protocols(config, protocols);
    mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(config, authorities, NULL);
    return rc;
}

/* On both sides of what replicas ask one another. Whose certificate it is says client.c. */
static int configure_own(struct hl_tls_identity *id)
{
    int rc = mbedtls_ssl_ticket_setup(
        &id->tickets, hl_tls_random, NULL, MBEDTLS_CIPHER_AES_256_GCM, TICKET_SECONDS);
    if (rc == 0)
        rc = configure_server(id, HL_TLS_CALLERS);
    if (rc == 0)
        rc = configure_server(id, HL_TLS_ADMINS);
    return rc == 0 ? configure_client(id, HL_TLS_REPLICAS, &id->chain) : rc;
}

/* ---- the whole ---- */

static struct hl_tls_identity *identity_new(void)
{
    struct hl_tls_identity *id = calloc(1, sizeof(*id));
    if (!id)
        return NULL;
    atomic_init(&id->refs, 1);
    mbedtls_x509_crt_init(&id->chain);
    mbedtls_pk_init(&id->key);
    mbedtls_x509_crt_init(&id->ca);
    mbedtls_ssl_ticket_init(&id->tickets);
    hl_tls_resumptions_init(&id->resumptions);
    hl_buf_init(&id->before, 0);
    for (int use = 0; use < HL_TLS_USES; use++)
        mbedtls_ssl_config_init(&id->configs[use]);
    return id;
}

static void identity_free(struct hl_tls_identity *id)
{
    for (int use = 0; use < HL_TLS_USES; use++)
        mbedtls_ssl_config_free(&id->configs[use]);
    hl_tls_resumptions_fini(&id->resumptions);
    hl_buf_fini(&id->before);
    mbedtls_ssl_ticket_free(&id->tickets);
    mbedtls_x509_crt_free(&id->chain);
    mbedtls_pk_free(&id->key);
    mbedtls_x509_crt_free(&id->ca);
    free(id);
}

static enum hl_err read_pair(
    struct hl_tls_identity *id, const struct hl_tls_files *files, const struct hl_tls_complaint *to)
{
    enum hl_err err =
        hl_tls_read_certificates(&id->chain, files->cert_option, files->cert, false, to);
    if (!err)
        err = hl_tls_read_key(&id->key, files->key_option, files->key, to);
    if (!err)
        err = match(id, files, to);
    return !err && sign_once(id) != 0 ? HL_ERR_NOMEM : err;
}

enum hl_err hl_tls_identity_load(
    struct hl_tls_identity **out, const struct hl_tls_files *files, char *why, size_t why_len)
{
    const struct hl_tls_complaint to = {why, why_len};
    snprintf(why, why_len, "out of memory");
    *out = NULL;
    struct hl_tls_identity *id = begin_library() == 0 ? identity_new() : NULL;
    if (!id)
        return HL_ERR_NOMEM;
    enum hl_err err = files->cert ? read_pair(id, files, &to) : HL_OK;
    if (!err && files->ca)
        err = hl_tls_read_certificates(
            &id->ca, files->ca_option, files->ca, files->is_of_system, &to);
    int rc = 0;
    if (!err)
        rc = files->is_client ? configure_client(id, HL_TLS_APP, &id->ca) : configure_own(id);
    if (err || rc != 0) {
        identity_free(id);
        return err ? err : HL_ERR_NOMEM;
    }
    if (files->cert) {
        id->expires_s = unix_time(&id->chain.valid_to);
        warn(id, files);
    }
    *out = id;
    return HL_OK;
}

void hl_tls_identity_succeed(struct hl_tls_identity *identity, const struct hl_tls_identity *old)
{
    if (old && hl_buf_append(&identity->before, old->chain.raw.p, old->chain.raw.len) != HL_OK)
        hl_buf_fini(&identity->before);
}

static bool is_same(struct hl_str der, const mbedtls_x509_crt *crt)
{
    return der.n > 0 && der.n == crt->raw.len && memcmp(der.p, crt->raw.p, der.n) == 0;
}

bool hl_tls_identity_has(const struct hl_tls_identity *identity, const mbedtls_x509_crt *crt)
{
    const mbedtls_x509_buf *own = &identity->chain.raw;
    return is_same((struct hl_str){(const char *)own->p, own->len}, crt) ||
           is_same(hl_buf_str(&identity->before), crt);
}

struct hl_tls_identity *hl_tls_identity_hold(struct hl_tls_identity *identity)
{
    atomic_fetch_add(&identity->refs, 1);
    return identity;
}

void hl_tls_identity_release(struct hl_tls_identity *identity)
{
    if (identity && atomic_fetch_sub(&identity->refs, 1) == 1)
        identity_free(identity);
}
