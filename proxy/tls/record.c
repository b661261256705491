/* record.c - the records of an open session: made of what its owner writes, and offered to the socket.
 * Thread: the loop's.
 * Promise: a head and a short body are one record; what was made in one call is one write.
 * Not here: when, and what is read of (session.c). */
#include <mbedtls/net_sockets.h>
#include <string.h>

#include "tls/session.h"

/* Offers the socket what was made. */
enum hl_err hl_tls_record_flush(struct hl_tls_session *session)
{
    struct hl_tls_seat *seat = session->seat;
    size_t n = seat->out_n;
    seat->out_n = 0;
    if (n == 0)
        return HL_OK;
    return hl_socket_write2(
        session->stream, (struct hl_str){seat->out, n}, (struct hl_str){NULL, 0});
}

/* For mbedTLS: one record. */
static int send_record(void *arg, const unsigned char *p, size_t n)
{
    struct hl_tls_session *session = arg;
    struct hl_tls_seat *seat = session->seat;
    if (n > sizeof(seat->out) - seat->out_n)
        return MBEDTLS_ERR_NET_SEND_FAILED;
    memcpy(seat->out + seat->out_n, p, n);
    seat->out_n += n;
    if (seat->out_n >= HL_TLS_OUT && hl_tls_record_flush(session) != HL_OK)
        return MBEDTLS_ERR_NET_SEND_FAILED;
    return (int)n;
}

static bool encrypt(struct hl_tls_session *session, struct hl_str bytes)
{
    while (bytes.n > 0) {
        int rc = mbedtls_ssl_write(&session->ssl, (const unsigned char *)bytes.p, bytes.n);
        if (rc <= 0)
            return false;
        bytes.p += rc;
        bytes.n -= (size_t)rc;
    }
    return true;
}

/* A head and a short body are one record. */
static struct hl_str join(struct hl_tls_seat *seat, struct hl_str first, struct hl_str second)
{
    memcpy(seat->joint, first.p, first.n);
    memcpy(seat->joint + first.n, second.p, second.n);
    return (struct hl_str){seat->joint, first.n + second.n};
}

enum hl_err hl_tls_record_write(
    struct hl_tls_session *session, struct hl_str first, struct hl_str second)
{
    struct hl_stream *s = session->stream;
    if (first.n > 0 && second.n > 0 && first.n + second.n <= sizeof(session->seat->joint)) {
        first = join(session->seat, first, second);
        second.n = 0;
    }
    bool is_made = encrypt(session, first) && encrypt(session, second);
    enum hl_err err = hl_tls_record_flush(session);
    if (is_made && err == HL_OK)
        return HL_OK;
    s->has_failed = true;
    return err ? err : HL_ERR_IO;
}

void hl_tls_record_begin(struct hl_tls_session *session)
{
    mbedtls_ssl_set_bio(&session->ssl, session, send_record, hl_tls_session_recv, NULL);
}

void hl_tls_record_end(struct hl_tls_session *session)
{
    struct hl_stream *s = session->stream;
    if (session->state != HL_TLS_OPEN || s->has_failed || s->is_shut || s->shuts_when_drained)
        return;
    if (mbedtls_ssl_close_notify(&session->ssl) != 0 || hl_tls_record_flush(session) != HL_OK)
        s->has_failed = true;
}
