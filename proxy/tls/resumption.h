/* resumption.h - sessions that servers may take up again, one for each of the last addresses, so that a further
 * connection costs no public-key work. */
#ifndef HL_TLS_RESUMPTION_H
#define HL_TLS_RESUMPTION_H

#include <mbedtls/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"

#define HL_TLS_RESUMPTIONS 8

/* Where a server is. */
struct hl_tls_place {
    struct hl_ip ip;
    uint16_t port;
};

struct hl_tls_resumptions {
    pthread_mutex_t lock; /* around what follows, for a copy */
    struct hl_tls_resumption {
        struct hl_tls_place place;
        bool is_there;
        mbedtls_ssl_session session;
    } items[HL_TLS_RESUMPTIONS];
    unsigned next; /* the oldest, or free */
};

void hl_tls_resumptions_init(struct hl_tls_resumptions *r);
void hl_tls_resumptions_fini(struct hl_tls_resumptions *r);

/* Any thread. Before its handshake: it asks for the session of that place, if there is one and the certificate
 * there has not expired. A libmbedtls code or 0. */
int hl_tls_resumptions_use(
    struct hl_tls_resumptions *r, const struct hl_tls_place *place, mbedtls_ssl_context *ssl);
/* Any thread. Behind a whole handshake: its session is that of the place from now on. */
void hl_tls_resumptions_keep(
    struct hl_tls_resumptions *r, const struct hl_tls_place *place, const mbedtls_ssl_context *ssl);

#endif
