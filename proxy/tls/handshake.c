/* handshake.c - a step of a handshake: as far as what has come reaches.
 * Thread: the crew's. A session that is with it belongs to it but for its stream, state and timer.
 * Promise: never waits; what is to be sent is kept for the loop.
 * Not here: when there is enough for a step (session.c). */
#include <mbedtls/net_sockets.h>
#include <string.h>

#include "tls/session.h"

int hl_tls_session_recv(void *arg, unsigned char *out, size_t n)
{
    struct hl_tls_session *session = arg;
    if (session->in.n == 0)
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
    session->identity = hl_tls_keeper_get(session->seat->keeper);
    int rc = mbedtls_ssl_setup(&session->ssl, &session->identity->config);
    mbedtls_ssl_set_bio(&session->ssl, session, keep_for_loop, hl_tls_session_recv, NULL);
    return rc;
}

void hl_tls_handshake_run(struct hl_tls_step *step, bool is_late)
{
    struct hl_tls_session *session = HL_CONTAINER_OF(step, struct hl_tls_session, step);
    int rc = is_late ? MBEDTLS_ERR_SSL_TIMEOUT : 0;
    session->in = hl_buf_str(&session->held);
    if (rc == 0 && !session->identity)
        rc = begin(session);
    if (rc == 0)
        rc = mbedtls_ssl_handshake(&session->ssl);
    hl_buf_drop(&session->held, session->held.n - session->in.n);
    session->in = (struct hl_str){NULL, 0};
    session->result = rc;
    hl_mailbox_post(&session->seat->mail.box, &session->msg);
}
