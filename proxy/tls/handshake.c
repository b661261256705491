/* handshake.c - a step of a handshake: as far as what has come reaches.
 * Thread: the crew's. A session that is with it belongs to it but for its stream, state and timer.
 * Promise: never waits; what is to be sent is kept for the loop.
 * Not here: when there is enough for a step (session.c), what a client adds (client.c). */
#include <mbedtls/net_sockets.h>
#include <string.h>

#include "tls/session.h"

int hl_tls_session_recv(void *arg, unsigned char *out, size_t n)
{
    struct hl_tls_session *session = arg;
    session->is_starved = session->in.n == 0;
    if (session->is_starved)
        return MBEDTLS_ERR_SSL_WANT_READ;
    n = n < session->in.n ? n : session->in.n;
    memcpy(out, session->in.p, n);
    session->in.p += n;
    session->in.n -= n;
    return (int)n;
}

static int keep_for_loop(void *arg, const unsigned char *p, size_t n)
{
    struct hl_tls_session *session = arg;
    return hl_buf_append(&session->out, p, n) == HL_OK ? (int)n : MBEDTLS_ERR_NET_SEND_FAILED;
}

static int begin(struct hl_tls_session *session)
{
    session->identity = hl_tls_keeper_get(session->seat->keepers[session->use]);
    int rc = mbedtls_ssl_setup(&session->ssl, &session->identity->configs[session->use]);
    mbedtls_ssl_set_bio(&session->ssl, session, keep_for_loop, hl_tls_session_recv, NULL);
    return rc == 0 && session->is_client ? hl_tls_client_begin(session) : rc;
}

/* What a ticket brings back was verified when it was made. */
static bool is_peer_good(const mbedtls_ssl_context *ssl, const mbedtls_x509_crt *crt)
{
    return crt && mbedtls_ssl_get_verify_result(ssl) == 0 &&
           !mbedtls_x509_time_is_past(&crt->valid_to);
}

/* One that is too large to be passed on counts as none. */
static int look_at_peer(struct hl_tls_session *session)
{
    const mbedtls_x509_crt *crt = mbedtls_ssl_get_peer_cert(&session->ssl);
    session->is_twin = crt && hl_tls_identity_has(session->identity, crt);
    if (!is_peer_good(&session->ssl, crt))
        return 0;
    enum hl_err err = hl_tls_peer_write(&session->peer, crt);
    if (err)
        hl_buf_fini(&session->peer);
    return err == HL_ERR_NOMEM ? MBEDTLS_ERR_SSL_ALLOC_FAILED : 0;
}

/* A record that mbedTLS has begun to read stays with it, and nobody else would know where the next one begins. */
static size_t whole_records(struct hl_str held)
{
    size_t n = 0;
    while (held.n - n >= HL_TLS_RECORD_HEAD) {
        size_t one = hl_tls_record_length((const unsigned char *)held.p + n);
        if (one > held.n - n)
            break;
        n += one;
    }
    return n;
}

void hl_tls_handshake_run(struct hl_tls_step *step, bool is_late)
{
    struct hl_tls_session *session = HL_CONTAINER_OF(step, struct hl_tls_session, step);
    int rc = is_late ? MBEDTLS_ERR_SSL_TIMEOUT : 0;
    size_t given = whole_records(hl_buf_str(&session->held));
    session->in = (struct hl_str){hl_buf_str(&session->held).p, given};
    if (rc == 0 && !session->identity)
        rc = begin(session);
    if (session->is_client)
        hl_tls_client_look(session, session->in);
    if (rc == 0)
        rc = mbedtls_ssl_handshake(&session->ssl);
    if (rc == 0 && !session->is_client)
        rc = look_at_peer(session);
    else if (rc == 0)
        hl_tls_client_end(session);
    hl_buf_drop(&session->held, given - session->in.n);
    session->in = (struct hl_str){NULL, 0};
    session->result = rc;
    hl_mailbox_post(&session->seat->mail.box, &session->msg);
}
