/* certificate.c - reads the pair, tries it out, hands it to transfers.
 *
 * Whether a certificate and a key belong together is libcurl's TLS library's to say.
 * Thread: control at start, then the sender's. */
#include "webhook/certificate.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "dns/trust.h"

#define FILE_MAX (1024 * 1024)
#define LOOK_MS  1000

static void write_version(const struct hl_certificate *c, char out[192]);
static enum hl_err load(struct hl_certificate *c, char *why, size_t why_len);

enum hl_err hl_certificate_init(struct hl_certificate *c, struct hl_str cert_file,
    struct hl_str key_file, char *why, size_t why_len)
{
    *c = (struct hl_certificate){0};
    hl_buf_init(&c->cert, FILE_MAX);
    hl_buf_init(&c->key, FILE_MAX);
    if (cert_file.n == 0)
        return HL_OK;
    c->cert_file = cert_file.p;
    c->key_file = key_file.p;
    write_version(c, c->version);
    return load(c, why, why_len);
}

static void write_version(const struct hl_certificate *c, char out[192])
{
    struct stat cert = {0}, key = {0};
    if (stat(c->cert_file, &cert) != 0)
        cert.st_size = -1;
    if (stat(c->key_file, &key) != 0)
        key.st_size = -1;
    memset(out, 0, 192);
    snprintf(out, 192, "%llu %lld %lld.%ld %llu %lld %lld.%ld", (unsigned long long)cert.st_ino,
        (long long)cert.st_size, (long long)cert.st_mtim.tv_sec, cert.st_mtim.tv_nsec,
        (unsigned long long)key.st_ino, (long long)key.st_size, (long long)key.st_mtim.tv_sec,
        key.st_mtim.tv_nsec);
}

static enum hl_err read_file(
    struct hl_buf *out, const char *option, const char *path, char *why, size_t why_len)
{
    enum hl_err err = hl_file_append(path, out);
    if (err == HL_OK)
        hl_buf_drop(out, (size_t)(hl_str_unframe(hl_buf_str(out)).p - out->p));
    if (err == HL_OK && (out->n == 0 || !memmem(out->p, out->n, "-----BEGIN ", 11)))
        err = HL_ERR_INVALID;
    if (err != HL_OK)
        snprintf(why, why_len, "%s: %s: %s; it must be a readable PEM file", option, path,
            hl_err_text(err));
    return err;
}

static void wipe(struct hl_buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->n);
    hl_buf_fini(b);
}

static bool is_pair(const struct hl_certificate *c);

static enum hl_err load(struct hl_certificate *c, char *why, size_t why_len)
{
    struct hl_certificate fresh = {0};
    hl_buf_init(&fresh.cert, FILE_MAX);
    hl_buf_init(&fresh.key, FILE_MAX);
    enum hl_err err =
        read_file(&fresh.cert, "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE", c->cert_file, why, why_len);
    if (err == HL_OK)
        err = read_file(&fresh.key, "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE", c->key_file, why, why_len);
    if (err == HL_OK && !is_pair(&fresh)) {
        snprintf(why, why_len,
            "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE: %s: not the unencrypted private key of the "
            "certificate in HOOKLINE_WEBHOOK_CLIENT_CERT_FILE",
            c->key_file);
        err = HL_ERR_INVALID;
    }
    if (err != HL_OK) {
        wipe(&fresh.cert);
        wipe(&fresh.key);
        return err;
    }
    wipe(&c->cert);
    wipe(&c->key);
    c->cert = fresh.cert;
    c->key = fresh.key;
    return HL_OK;
}

static bool is_pair(const struct hl_certificate *c)
{
    CURL *easy = curl_easy_init();
    bool is_good = easy && curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L) == CURLE_OK &&
                   hl_certificate_show(c, easy) == HL_OK && hl_tls_files_check(easy);
    curl_easy_cleanup(easy);
    return is_good;
}

void hl_certificate_refresh(struct hl_certificate *c)
{
    char version[sizeof c->version], why[512] = "";
    uint64_t now = hl_clock_mono_ms();
    if (!c->cert_file || now < c->next_look_ms)
        return;
    c->next_look_ms = now + LOOK_MS;
    write_version(c, version);
    if (memcmp(version, c->version, sizeof version) == 0)
        return;
    memcpy(c->version, version, sizeof version);
    if (load(c, why, sizeof why) != HL_OK)
        HL_LOG(ERROR,
            "the webhooks' client certificate could not be reloaded; the previous one stays in use",
            HL_LOG_TEXT("error", why));
    else
        HL_LOG(INFO, "the webhooks' client certificate was reloaded");
}

enum hl_err hl_certificate_show(const struct hl_certificate *c, CURL *easy)
{
    struct curl_blob cert = {.flags = CURL_BLOB_COPY}, key = {.flags = CURL_BLOB_COPY};
    bool has_pair = c && c->cert.n > 0;
    if (has_pair) {
        cert.data = c->cert.p;
        cert.len = c->cert.n;
        key.data = c->key.p;
        key.len = c->key.n;
    }
    /* An empty password keeps the TLS library from asking the terminal for one. */
    bool is_set =
        curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, has_pair ? &cert : NULL) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, has_pair ? &key : NULL) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_KEYPASSWD, has_pair ? "" : NULL) == CURLE_OK;
    return is_set ? HL_OK : HL_ERR_NOMEM;
}

void hl_certificate_fini(struct hl_certificate *c)
{
    wipe(&c->cert);
    wipe(&c->key);
}
