/* keeper.c - keeps the identity of one set of files up to date.
 * Owns: a reference to the present one. Thread: see each function.
 * Promise: what cannot be used is said in an error line, once, and the one before it stays; connections
 * that there are go on with theirs.
 * Not here: what is read (identity.c), who asks for looks (tls.c). */
#include "tls/keeper.h"

#include <string.h>

#include "base/file.h"
#include "base/log.h"

static void look(const struct hl_tls_keeper *keeper, struct stat now[HL_TLS_FILES])
{
    const char *paths[HL_TLS_FILES] = {[HL_TLS_CERT] = keeper->files.cert,
        [HL_TLS_KEY] = keeper->files.key,
        [HL_TLS_CA] = keeper->files.ca};
    for (int i = 0; i < HL_TLS_FILES; i++) {
        now[i] = (struct stat){0};
        if (paths[i])
            hl_file_look(paths[i], &now[i]);
    }
}

static bool have_changed(
    const struct stat before[HL_TLS_FILES], const struct stat now[HL_TLS_FILES])
{
    bool have = false;
    for (int i = 0; i < HL_TLS_FILES && !have; i++)
        have = hl_file_has_changed(&before[i], &now[i]);
    return have;
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
    look(keeper, keeper->used);
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
    const struct hl_tls_files *files = &keeper->files;
    struct hl_tls_identity *identity;
    char why[512];
    if (hl_tls_identity_load(&identity, files, why, sizeof(why)) != HL_OK) {
        HL_LOG(ERROR,
            files->is_client
                ? "the TLS files for the app were not replaced: those before are used on"
                : "the certificate was not replaced: the one before is used on",
            HL_LOG_TEXT("why", why));
        return;
    }
    hl_tls_identity_succeed(identity, keeper->current);
    put(keeper, identity);
    if (files->is_client)
        HL_LOG(INFO, "new TLS files are used for new connections to the app");
    else
        HL_LOG(INFO, "a new certificate is used for new connections",
            HL_LOG_TEXT("setting", files->cert_option), HL_LOG_TEXT("file", files->cert),
            HL_LOG_INT("expires", identity->expires_s));
}

void hl_tls_keeper_look(struct hl_tls_keeper *keeper)
{
    struct stat now[HL_TLS_FILES];
    look(keeper, now);
    bool is_settled = !have_changed(keeper->seen, now);
    memcpy(keeper->seen, now, sizeof(now));
    if (!is_settled || !have_changed(keeper->used, now))
        return;
    memcpy(keeper->used, now, sizeof(now));
    read_again(keeper);
}
