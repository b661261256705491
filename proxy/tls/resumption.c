/* resumption.c - see resumption.h.
 * Promise: a session is offered only to the place that gave it, by the identity that verified the certificate there,
 * and while that is valid: what trusts others, or is too late, begins anew.
 * Not here: when a server takes it up is the server's to say (client.c notices). */
#include "tls/resumption.h"

#include <string.h>

void hl_tls_resumptions_init(struct hl_tls_resumptions *r)
{
    *r = (struct hl_tls_resumptions){.next = 0};
    pthread_mutex_init(&r->lock, NULL);
    for (unsigned i = 0; i < HL_TLS_RESUMPTIONS; i++)
        mbedtls_ssl_session_init(&r->items[i].session);
}

void hl_tls_resumptions_fini(struct hl_tls_resumptions *r)
{
    for (unsigned i = 0; i < HL_TLS_RESUMPTIONS; i++)
        mbedtls_ssl_session_free(&r->items[i].session);
    pthread_mutex_destroy(&r->lock);
}

static bool is_same(const struct hl_tls_place *a, const struct hl_tls_place *b)
{
    return a->port == b->port && memcmp(&a->ip, &b->ip, sizeof(a->ip)) == 0;
}

/* NULL: there is none. Under the lock. */
static struct hl_tls_resumption *find(
    struct hl_tls_resumptions *r, const struct hl_tls_place *place)
{
    for (unsigned i = 0; i < HL_TLS_RESUMPTIONS; i++)
        if (r->items[i].is_there && is_same(&r->items[i].place, place))
            return &r->items[i];
    return NULL;
}

/* Nobody looks at the certificate again when a session is taken up. */
static bool is_good(const mbedtls_ssl_session *session)
{
    return session->peer_cert && !mbedtls_x509_time_is_past(&session->peer_cert->valid_to);
}

int hl_tls_resumptions_use(
    struct hl_tls_resumptions *r, const struct hl_tls_place *place, mbedtls_ssl_context *ssl)
{
    pthread_mutex_lock(&r->lock);
    const struct hl_tls_resumption *found = find(r, place);
    bool is_offered = found && is_good(&found->session);
    int rc = is_offered ? mbedtls_ssl_set_session(ssl, &found->session) : 0;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

void hl_tls_resumptions_keep(
    struct hl_tls_resumptions *r, const struct hl_tls_place *place, const mbedtls_ssl_context *ssl)
{
    pthread_mutex_lock(&r->lock);
    struct hl_tls_resumption *item = find(r, place);
    if (!item) {
        item = &r->items[r->next];
        r->next = (r->next + 1) % HL_TLS_RESUMPTIONS;
    }
    mbedtls_ssl_session_free(&item->session);
    mbedtls_ssl_session_init(&item->session);
    item->place = *place;
    item->is_there = mbedtls_ssl_get_session(ssl, &item->session) == 0;
    pthread_mutex_unlock(&r->lock);
}
