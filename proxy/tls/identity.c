/* identity.c - reads a certificate and its key, says what is wrong with them, sets how TLS is spoken.
 * Thread: control at the start, then whichever handshake thread looks at the files (keeper.c); the
 * result is only read.
 * Promise: what it lets through can be served; what clients may stumble over is said in a line.
 * Not here: when files are read again (keeper.c). */
#include "tls/identity.h"

#include <mbedtls/error.h>
#include <mbedtls/pk.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"

#define FILE_MAX         (1024 * 1024)
#define TICKET_SECONDS   (8 * 3600) /* a ticket's life, and how long a key makes new ones */
#define CHAIN_LENGTH_MAX 10

int hl_tls_random(void *unused, unsigned char *out, size_t n)
{
    (void)unused;
    hl_random_fill(out, n);
    return 0;
}

/* ---- what is wrong ---- */

struct complaint {
    char *why;
    size_t len;
};

static enum hl_err complain(const struct complaint *to, const char *option, const char *path,
    const char *fmt, ...) HL_PRINTF(4, 5);

static enum hl_err complain(
    const struct complaint *to, const char *option, const char *path, const char *fmt, ...)
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

/* ---- files ---- */

static void wipe(struct hl_buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->n);
    hl_buf_fini(b);
}

/* With a NUL behind it, which mbedTLS wants of PEM. */
static enum hl_err read_pem(
    struct hl_buf *out, const char *option, const char *path, const struct complaint *to)
{
    enum hl_err err = hl_file_append(path, out);
    if (!err)
        err = hl_buf_append(out, "", 1);
    if (err == HL_ERR_NO_FILE)
        return complain(to, option, path, "it is not a regular file");
    if (err == HL_ERR_TOO_LARGE)
        return complain(to, option, path, "it is larger than 1 MiB");
    if (err && err != HL_ERR_NOMEM)
        return complain(to, option, path, "it cannot be read: %s", hl_err_text(err));
    if (!err && !memmem(out->p, out->n, "-----BEGIN ", 11))
        return complain(to, option, path, "it is not PEM (-----BEGIN …)");
    return err;
}

static enum hl_err read_certificates(
    mbedtls_x509_crt *out, const char *option, const char *path, const struct complaint *to)
{
    struct hl_buf text;
    hl_buf_init(&text, FILE_MAX);
    enum hl_err err = read_pem(&text, option, path, to);
    int rc = err ? 0 : mbedtls_x509_crt_parse(out, (unsigned char *)text.p, text.n);
    hl_buf_fini(&text);
    if (err)
        return err;
    if (rc > 0)
        return complain(
            to, option, path, "%d of its certificates cannot be used: ECDSA and RSA can", rc);
    if (rc != 0 || out->raw.len == 0)
        return complain(to, option, path,
            "it has no certificate that can be used (-----BEGIN CERTIFICATE-----, ECDSA or RSA)");
    return HL_OK;
}

static enum hl_err read_key(
    struct hl_tls_identity *id, const struct hl_tls_files *files, const struct complaint *to)
{
    struct hl_buf text;
    hl_buf_init(&text, FILE_MAX);
    enum hl_err err = read_pem(&text, files->key_option, files->key, to);
    int rc = err ? 0 : mbedtls_pk_parse_key(&id->key, (unsigned char *)text.p, text.n, NULL, 0);
    wipe(&text);
    if (err || rc == 0)
        return err;
    if (rc == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || rc == MBEDTLS_ERR_PK_PASSWORD_MISMATCH)
        return complain(to, files->key_option, files->key,
            "the key is encrypted, and nobody is there to type its password");
    return complain(to, files->key_option, files->key,
        "it has no private key that can be used (-----BEGIN PRIVATE KEY-----, ECDSA or RSA)");
}

/* ---- whether they fit ---- */

static enum hl_err match(
    struct hl_tls_identity *id, const struct hl_tls_files *files, const struct complaint *to)
{
    if (mbedtls_pk_check_pair(&id->chain.pk, &id->key) == 0)
        return HL_OK;
    unsigned place = 2;
    for (const mbedtls_x509_crt *crt = id->chain.next; crt; crt = crt->next, place++)
        if (mbedtls_pk_check_pair(&crt->pk, &id->key) == 0)
            return complain(to, files->cert_option, files->cert,
                "the key belongs to certificate %u of the file: the server's own must be the "
                "first, those of its issuers follow",
                place);
    return complain(to, files->key_option, files->key, "it is not the key of the certificate in %s",
        files->cert_option);
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

/* Clients differ in what they forgive: it is said, not refused. */
static void warn(const struct hl_tls_identity *id, const struct hl_tls_files *files)
{
    if (mbedtls_x509_time_is_past(&id->chain.valid_to))
        HL_LOG(WARN, "the certificate has expired: clients refuse it",
            HL_LOG_TEXT("setting", files->cert_option), HL_LOG_TEXT("file", files->cert));
    else if (mbedtls_x509_time_is_future(&id->chain.valid_from))
        HL_LOG(WARN, "the certificate is not valid yet: clients refuse it",
            HL_LOG_TEXT("setting", files->cert_option), HL_LOG_TEXT("file", files->cert));
    unsigned place = 1;
    for (const mbedtls_x509_crt *crt = &id->chain; crt->next; crt = crt->next, place++) {
        if (is_issued_by(crt, crt->next) || place >= CHAIN_LENGTH_MAX)
            continue;
        HL_LOG(WARN,
            "the certificates are not in order, each followed by its issuer's: some clients will "
            "not find the way to a CA that they trust",
            HL_LOG_TEXT("setting", files->cert_option), HL_LOG_TEXT("file", files->cert),
            HL_LOG_INT("certificate", place));
        return;
    }
}

/* ---- how TLS is spoken: what Mozilla's "intermediate" allows, less the exchanges with finite fields,
 * which cost most and which nobody needs who has one of these ---- */

static const int suites[] = {MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, 0};
static const mbedtls_ecp_group_id curves[] = {MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
    MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE};
static const int hashes[] = {
    MBEDTLS_MD_SHA256, MBEDTLS_MD_SHA384, MBEDTLS_MD_SHA512, MBEDTLS_MD_NONE};
/* Where a client says what it speaks, one of these must be among it. */
static const char *protocols[] = {"http/1.1", "http/1.0", NULL};

static int configure(struct hl_tls_identity *id)
{
    mbedtls_ssl_config *config = &id->config;
    int rc = mbedtls_ssl_config_defaults(
        config, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    if (rc == 0)
        rc = mbedtls_ssl_conf_own_cert(config, &id->chain, &id->key);
    if (rc == 0)
        rc = mbedtls_ssl_conf_alpn_protocols(config, protocols);
    if (rc == 0)
        rc = mbedtls_ssl_ticket_setup(
            &id->tickets, hl_tls_random, NULL, MBEDTLS_CIPHER_AES_256_GCM, TICKET_SECONDS);
    mbedtls_ssl_conf_rng(config, hl_tls_random, NULL);
    mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_ciphersuites(config, suites);
    mbedtls_ssl_conf_curves(config, curves);
    mbedtls_ssl_conf_sig_hashes(config, hashes);
    mbedtls_ssl_conf_renegotiation(config, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
    if (id->client_ca.raw.len >
        0) { /* asked for, not insisted on: what is not good counts as none */
        mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_OPTIONAL);
        mbedtls_ssl_conf_ca_chain(config, &id->client_ca, NULL);
    }
    mbedtls_ssl_conf_session_tickets_cb(
        config, mbedtls_ssl_ticket_write, mbedtls_ssl_ticket_parse, &id->tickets);
    return rc;
}

static void identity_free(struct hl_tls_identity *id)
{
    mbedtls_ssl_config_free(&id->config);
    mbedtls_ssl_ticket_free(&id->tickets);
    mbedtls_x509_crt_free(&id->chain);
    mbedtls_pk_free(&id->key);
    mbedtls_x509_crt_free(&id->client_ca);
    free(id);
}

enum hl_err hl_tls_identity_load(
    struct hl_tls_identity **out, const struct hl_tls_files *files, char *why, size_t why_len)
{
    const struct complaint to = {why, why_len};
    snprintf(why, why_len, "out of memory");
    *out = NULL;
    struct hl_tls_identity *id = calloc(1, sizeof(*id));
    if (!id)
        return HL_ERR_NOMEM;
    atomic_init(&id->refs, 1);
    mbedtls_x509_crt_init(&id->chain);
    mbedtls_pk_init(&id->key);
    mbedtls_x509_crt_init(&id->client_ca);
    mbedtls_ssl_ticket_init(&id->tickets);
    mbedtls_ssl_config_init(&id->config);
    enum hl_err err = read_certificates(&id->chain, files->cert_option, files->cert, &to);
    if (!err)
        err = read_key(id, files, &to);
    if (!err)
        err = match(id, files, &to);
    if (!err && files->ca)
        err = read_certificates(&id->client_ca, files->ca_option, files->ca, &to);
    if (!err && (sign_once(id) != 0 || configure(id) != 0))
        err = HL_ERR_NOMEM;
    if (err) {
        identity_free(id);
        return err;
    }
    id->expires_s = unix_time(&id->chain.valid_to);
    warn(id, files);
    *out = id;
    return HL_OK;
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
