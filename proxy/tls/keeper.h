/* keeper.h - the identity that new connections get: read at the start, and again when its files change. */
#ifndef HL_TLS_KEEPER_H
#define HL_TLS_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tls/identity.h"

enum hl_tls_file { HL_TLS_CERT, HL_TLS_KEY, HL_TLS_CA, HL_TLS_FILES };

struct hl_tls_keeper {
    struct hl_tls_files files;
    pthread_mutex_t lock; /* around `current`, for a copy */
    struct hl_tls_identity *current;
    _Atomic int64_t expires_s;
    struct stat used[HL_TLS_FILES], seen[HL_TLS_FILES]; /* one thread at a time */
};

/* `files` outlives it. On failure `why` has one line. */
HL_MUST_CHECK enum hl_err hl_tls_keeper_init(
    struct hl_tls_keeper *keeper, const struct hl_tls_files *files, char *why, size_t why_len);
void hl_tls_keeper_fini(struct hl_tls_keeper *keeper); /* harmless after a failure */

/* Any thread. With a reference, the caller's. */
struct hl_tls_identity *hl_tls_keeper_get(struct hl_tls_keeper *keeper);

/* One look at the files, to be repeated; one thread at a time. Those that changed are read when they
 * have been the same for two looks: a certificate and its key are two files. */
void hl_tls_keeper_look(struct hl_tls_keeper *keeper);

#endif
