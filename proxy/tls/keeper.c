/* keeper.c - keeps the identity of a listener up to date.
 * Owns: a reference to the present one. Thread: see each function.
 * Promise: what cannot be used is said in an error line, once, and the one before it stays; connections
 * that there are go on with theirs.
 * Not here: what is read (identity.c), who asks for looks (tls.c). */
#include "tls/keeper.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"

static size_t write_stat(char *out, size_t cap, const char *path)
{
    struct stat st = {0};
    if (stat(path, &st) != 0)
        st.st_size = -1;
    int n = snprintf(out, cap, "%llu %lld %lld.%ld ", (unsigned long long)st.st_ino,
        (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

static void write_version(const struct hl_tls_keeper *keeper, char out[HL_TLS_VERSION_TEXT])
{
    memset(out, 0, HL_TLS_VERSION_TEXT);
    size_t n = write_stat(out, HL_TLS_VERSION_TEXT, keeper->files.cert);
    n += write_stat(out + n, HL_TLS_VERSION_TEXT - n, keeper->files.key);
    if (keeper->files.ca)
        write_stat(out + n, HL_TLS_VERSION_TEXT - n, keeper->files.ca);
}

static void put(struct hl_tls_keeper *keeper, struct hl_tls_identity *identity)
{
    pthread_mutex_lock(&keeper->lock);
    struct hl_tls_identity *old = keeper->current;
    keeper->current = identity;
    pthread_mutex_unlock(&keeper->lock);
    if (identity)
        atomic_store(&keeper->expires_s, identity->expires_s);
    hl_tls_identity_release(old);
}

enum hl_err hl_tls_keeper_init(
    struct hl_tls_keeper *keeper, const struct hl_tls_files *files, char *why, size_t why_len)
{
    struct hl_tls_identity *identity;
    *keeper = (struct hl_tls_keeper){.files = *files};
    pthread_mutex_init(&keeper->lock, NULL);
    write_version(keeper, keeper->used);
    memcpy(keeper->seen, keeper->used, sizeof(keeper->seen));
    enum hl_err err = hl_tls_identity_load(&identity, files, why, why_len);
    if (!err)
        put(keeper, identity);
    return err;
}

void hl_tls_keeper_fini(struct hl_tls_keeper *keeper)
{
    put(keeper, NULL);
    pthread_mutex_destroy(&keeper->lock);
}

struct hl_tls_identity *hl_tls_keeper_get(struct hl_tls_keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    struct hl_tls_identity *identity = hl_tls_identity_hold(keeper->current);
    pthread_mutex_unlock(&keeper->lock);
    return identity;
}

static void read_again(struct hl_tls_keeper *keeper)
{
    struct hl_tls_identity *identity;
    char why[512];
    if (hl_tls_identity_load(&identity, &keeper->files, why, sizeof(why)) != HL_OK) {
        HL_LOG(ERROR, "the certificate was not replaced: the one before is used on",
            HL_LOG_TEXT("why", why));
        return;
    }
    put(keeper, identity);
    HL_LOG(INFO, "a new certificate is used for new connections",
        HL_LOG_TEXT("setting", keeper->files.cert_option), HL_LOG_TEXT("file", keeper->files.cert),
        HL_LOG_INT("expires", identity->expires_s));
}

void hl_tls_keeper_look(struct hl_tls_keeper *keeper)
{
    char now[HL_TLS_VERSION_TEXT];
    write_version(keeper, now);
    bool is_settled = memcmp(now, keeper->seen, sizeof(now)) == 0;
    memcpy(keeper->seen, now, sizeof(now));
    if (!is_settled || memcmp(now, keeper->used, sizeof(now)) == 0)
        return;
    memcpy(keeper->used, now, sizeof(now));
    read_again(keeper);
}
