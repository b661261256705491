/* session.c - TLS between a socket and its stream's owner.
 * Owns: the session of each stream. Thread: the loop's; steps of handshakes are with the crew meanwhile.
 * Promise: no event from inside a call of the owner's; the peer's end is its close_notify, and a
 * connection that ends without one has failed; of a peer that is slow or stalls in its handshake only
 * what it sent is kept, and mbedTLS' memory is taken when there is a whole record.
 * Not here: handshakes (handshake.c, client.c), records (record.c), certificates (identity.c). */
#include "tls/session.h"

#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tls/hello.h"

static void on_socket_event(struct hl_stream *s, const struct hl_stream_event *event);
static void on_too_slow(struct hl_timer *timer);
static const struct hl_stream_layer layer;

/* ---- its memory ---- */

static void session_free(struct hl_tls_session *session)
{
    mbedtls_ssl_free(&session->ssl);
    hl_tls_identity_release(session->identity);
    hl_buf_fini(&session->held);
    hl_buf_fini(&session->out);
    hl_buf_fini(&session->peer);
    free(session);
}

/* NULL: out of memory. */
static struct hl_tls_session *session_new(
    struct hl_tls_seat *seat, enum hl_tls_use use, struct hl_stream *stream)
{
    struct hl_tls_session *session = calloc(1, sizeof(*session));
    if (!session)
        return NULL;
    session->seat = seat;
    session->use = use;
    session->stream = stream;
    session->on_event = stream->on_event;
    session->step.run = hl_tls_handshake_run;
    session->owed = HL_STREAM_DATA;
    mbedtls_ssl_init(&session->ssl);
    hl_buf_init(&session->held, HL_TLS_RECORD_MAX + HL_READ_SIZE_LONG);
    hl_buf_init(&session->out, 0);
    hl_buf_init(&session->peer, HL_TLS_PEER_MAX);
    hl_timer_init(&session->timer, on_too_slow);
    stream->on_event = on_socket_event;
    stream->layer = &layer;
    stream->layered = session;
    return session;
}

enum hl_err hl_tls_accept(struct hl_tls_seat *seat, enum hl_tls_use use, struct hl_stream *stream)
{
    struct hl_tls_session *session = session_new(seat, use, stream);
    if (!session)
        return HL_ERR_NOMEM;
    session->state = HL_TLS_SHAKING;
    hl_timer_arm(seat->wheel, &session->timer, seat->handshake_ms);
    hl_socket_set_reading(stream, true);
    return HL_OK;
}

enum hl_err hl_tls_connect(
    struct hl_tls_seat *seat, enum hl_tls_use use, struct hl_stream *stream, const char *host)
{
    struct hl_tls_session *session = session_new(seat, use, stream);
    if (!session)
        return HL_ERR_NOMEM;
    session->state = HL_TLS_CONNECTING;
    session->is_client = true;
    session->host = host;
    return HL_OK;
}

static struct hl_tls_metrics *metrics_of(const struct hl_tls_session *session)
{
    return &session->seat->metrics[session->use];
}

bool hl_tls_is_plain(const struct hl_stream *stream)
{
    const struct hl_tls_session *session = stream->layered;
    return session && session->state == HL_TLS_PLAIN;
}

struct hl_str hl_tls_peer(const struct hl_stream *stream)
{
    const struct hl_tls_session *session = stream->layered;
    return session ? hl_buf_str(&session->peer) : (struct hl_str){NULL, 0};
}

bool hl_tls_is_twin(const struct hl_stream *stream)
{
    const struct hl_tls_session *session = stream->layered;
    return session && session->is_twin;
}

/* ---- what the owner is told ---- */

static void raise_event(
    struct hl_tls_session *session, enum hl_stream_event_kind kind, struct hl_str bytes, int error)
{
    const struct hl_stream_event event = {.kind = kind, .error = error, .p = bytes.p, .n = bytes.n};
    session->on_event(session->stream, &event);
}

static void go_away(struct hl_tls_session *session)
{
    session->is_away = true;
    hl_mailbox_post(&session->seat->mail.box, &session->msg);
}

/* The last thing that can be read. Who does not read hears of it when it does. */
static void tell_end(struct hl_tls_session *session, enum hl_stream_event_kind kind, int error)
{
    struct hl_stream *s = session->stream;
    hl_socket_set_reading(s, false);
    session->owed = HL_STREAM_DATA;
    if (s->is_reading) {
        s->is_reading = false;
        raise_event(session, kind, (struct hl_str){NULL, 0}, error);
        return;
    }
    session->owed = kind;
    session->owed_error = error;
}

/* A client's owner waits to be connected. */
static void break_off(struct hl_tls_session *session, int error)
{
    bool is_shaking = session->state == HL_TLS_SHAKING;
    if (is_shaking)
        hl_counter_add(&metrics_of(session)->failed, 1);
    session->state = HL_TLS_BROKEN;
    session->stream->has_failed = true;
    hl_timer_disarm(&session->timer);
    if (!is_shaking || !session->is_client) {
        tell_end(session, HL_STREAM_FAILED, error);
        return;
    }
    hl_socket_set_reading(session->stream, false);
    raise_event(session, HL_STREAM_CONNECTED, (struct hl_str){NULL, 0}, error);
}

static void on_too_slow(struct hl_timer *timer)
{
    break_off(HL_CONTAINER_OF(timer, struct hl_tls_session, timer), UV_ETIMEDOUT);
}

/* ---- writing ---- */

static enum hl_err write2(struct hl_stream *s, struct hl_str first, struct hl_str second)
{
    struct hl_tls_session *session = s->layered;
    if (session->state == HL_TLS_PLAIN)
        return hl_socket_write2(s, first, second);
    if (session->state != HL_TLS_OPEN || s->is_closing || s->has_failed || s->is_shut ||
        s->shuts_when_drained)
        return HL_ERR_IO;
    return hl_tls_record_write(session, first, second);
}

/* ---- reading ---- */

/* In TLS 1.3 a server gives its tickets when hands are shaken (RFC 8446 4.6.1). */
static bool is_ticket(int result)
{
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
    return result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET;
#else
    (void)result;
    return false;
#endif
}

/* mbedTLS wants to be asked again behind a message that is for itself, too. */
static int read_plain(struct hl_tls_session *session, char *p, size_t n)
{
    int rc;
    do {
        session->is_starved = false;
        rc = mbedtls_ssl_read(&session->ssl, (unsigned char *)p, n);
        if (is_ticket(rc))
            hl_tls_client_end(session);
    } while (is_ticket(rc) || (rc == MBEDTLS_ERR_SSL_WANT_READ && !session->is_starved));
    return rc;
}

/* Behind a client's handshake the first request may have come; a server has not been asked anything yet. */
static bool is_unasked(const struct hl_tls_session *session)
{
    return session->is_client && !session->stream->is_reading;
}

static void take_records(struct hl_tls_session *session, struct hl_str bytes)
{
    struct hl_stream *s = session->stream;
    char *plain = session->seat->plain;
    size_t made = 0;
    int rc;
    session->in = bytes;
    while ((rc = read_plain(session, plain + made, HL_TLS_PLAIN_ROOM - made)) > 0)
        made += (size_t)rc;
    session->in = (struct hl_str){NULL, 0};
    session->has_read_end = rc == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY;
    bool has_answered = session->seat->out_n > 0;
    enum hl_err err = hl_tls_record_flush(
        session); /* alerts: an answer to a renegotiation, what a bad record gets */
    /* Its owner, who wrote nothing, would not pause a peer that makes us answer and does not read. */
    bool is_flood = has_answered && hl_stream_is_blocked(s);
    if (made > 0 && is_unasked(session)) {
        break_off(session, UV_EPROTO);
        return;
    }
    if (made > 0)
        raise_event(session, HL_STREAM_DATA, (struct hl_str){plain, made}, 0);
    if (s->is_closing)
        return;
    if (session->has_read_end)
        tell_end(session, HL_STREAM_EOF, 0);
    else if (rc != MBEDTLS_ERR_SSL_WANT_READ || err || is_flood)
        break_off(session, UV_ECONNRESET);
}

static void set_reading(struct hl_stream *s, bool is_on)
{
    struct hl_tls_session *session = s->layered;
    if (session->state <= HL_TLS_SHAKING)
        return;
    if (session->owed == HL_STREAM_DATA && !session->has_read_end)
        hl_socket_set_reading(s, is_on);
    else if (session->owed != HL_STREAM_DATA && is_on && !session->is_away)
        go_away(session);
}

/* ---- the handshake ---- */

static void take_step(struct hl_tls_session *session)
{
    struct hl_tls_seat *seat = session->seat;
    hl_socket_set_reading(session->stream, false);
    session->is_away = true;
    if (hl_tls_crew_take(seat->crew, &session->step, !session->has_begun && !session->is_client)) {
        session->has_begun = true;
        return;
    }
    session->is_away = false;
    hl_counter_add(&metrics_of(session)->refused, 1);
    session->state = HL_TLS_BROKEN; /* refused, not failed */
    break_off(session, UV_EBUSY);
}

static bool is_record(struct hl_str held, bool is_first)
{
    const unsigned char *p = (const unsigned char *)held.p;
    bool is_type = is_first ? p[0] == MBEDTLS_SSL_MSG_HANDSHAKE
                            : p[0] >= MBEDTLS_SSL_MSG_CHANGE_CIPHER_SPEC &&
                                  p[0] <= MBEDTLS_SSL_MSG_APPLICATION_DATA;
    return is_type && (held.n < 2 || p[1] == MBEDTLS_SSL_MAJOR_VERSION_3) &&
           (held.n < HL_TLS_RECORD_HEAD || hl_tls_record_length(p) <= HL_TLS_RECORD_MAX);
}

/* Fatal (RFC 5246 7.2.2): protocol_version is what peers show as "wrong version". */
static void refuse(struct hl_tls_session *session, char description)
{
    const char alert[] = {
        MBEDTLS_SSL_MSG_ALERT, 3, 1, 0, 2, MBEDTLS_SSL_ALERT_LEVEL_FATAL, description};
    const struct hl_str none = {NULL, 0};
    if (hl_socket_write2(session->stream, (struct hl_str){alert, sizeof(alert)}, none) == HL_OK)
        HL_LOG(DEBUG, "a peer spoke no TLS to the TLS listener");
    break_off(session, UV_EPROTO);
}

/* What has come goes to the owner, as all that follows. */
static void become_plain(struct hl_tls_session *session)
{
    struct hl_buf came = session->held;
    hl_buf_init(&session->held, 0);
    session->state = HL_TLS_PLAIN;
    hl_timer_disarm(&session->timer);
    hl_counter_add(&metrics_of(session)->plain, 1);
    hl_socket_set_reading(session->stream, session->stream->is_reading);
    raise_event(session, HL_STREAM_DATA, hl_buf_str(&came), 0);
    hl_buf_fini(&came);
}

static void take_hello(struct hl_tls_session *session)
{
    switch (hl_tls_hello_join(&session->held)) {
    case HL_TLS_HELLO_PARTIAL:
        hl_socket_set_reading(session->stream, true);
        break;
    case HL_TLS_HELLO_WHOLE:
        take_step(session);
        break;
    case HL_TLS_HELLO_WRONG:
        refuse(session, MBEDTLS_SSL_ALERT_MSG_DECODE_ERROR);
    }
}

/* Takes the next step, or waits for what it needs. */
static void feed(struct hl_tls_session *session)
{
    struct hl_str held = hl_buf_str(&session->held);
    bool is_hello = !session->has_begun && !session->is_client;
    if (held.n == 0)
        hl_socket_set_reading(session->stream, true);
    else if (is_hello && held.p[0] >= 'A' && held.p[0] <= 'Z')
        become_plain(session);
    else if (!is_record(held, is_hello) && session->is_client)
        break_off(session, HL_TLS_FAULT_PLAIN);
    else if (!is_record(held, is_hello))
        refuse(session, MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION);
    else if (is_hello)
        take_hello(session);
    else if (held.n >= HL_TLS_RECORD_HEAD &&
             held.n >= hl_tls_record_length((const unsigned char *)held.p))
        take_step(session);
    else
        hl_socket_set_reading(session->stream, true);
}

static void begin_talk(struct hl_tls_session *session)
{
    struct hl_stream *s = session->stream;
    struct hl_buf came = session->held;
    hl_buf_init(&session->held, 0);
    session->state = HL_TLS_OPEN;
    hl_timer_disarm(&session->timer);
    hl_counter_add(&metrics_of(session)->done, 1);
    hl_tls_record_begin(session);
    hl_socket_set_reading(s, s->is_reading);
    if (session->is_client) {
        hl_counter_add(&metrics_of(session)->resumed, !session->has_verified);
        raise_event(session, HL_STREAM_CONNECTED, (struct hl_str){NULL, 0}, 0);
    }
    if (came.n > 0 && !s->is_closing)
        take_records(session, hl_buf_str(&came));
    hl_buf_fini(&came);
}

static void fail_handshake(struct hl_tls_session *session)
{
    char text[128];
    mbedtls_strerror(session->result, text, sizeof(text));
    HL_LOG(DEBUG, "a TLS handshake failed", HL_LOG_TEXT("why", text),
        HL_LOG_INT("code", -session->result), HL_LOG_INT("alert", session->alert));
    break_off(session, session->is_client ? hl_tls_client_fault(session) : UV_EPROTO);
}

static void on_step_done(struct hl_tls_session *session)
{
    const struct hl_str none = {NULL, 0};
    enum hl_err err = HL_OK;
    if (session->out.n > 0)
        err = hl_socket_write2(session->stream, hl_buf_str(&session->out), none);
    hl_buf_fini(&session->out);
    if (err)
        break_off(session, UV_ECONNRESET);
    else if (session->result == 0)
        begin_talk(session);
    else if (session->result == MBEDTLS_ERR_SSL_WANT_READ)
        feed(session);
    else
        fail_handshake(session);
}

void hl_tls_session_on_message(void *seat, struct hl_msg *msg)
{
    struct hl_tls_session *session = HL_CONTAINER_OF(msg, struct hl_tls_session, msg);
    (void)seat;
    session->is_away = false;
    if (!session->stream)
        session_free(session);
    else if (session->state == HL_TLS_SHAKING && !session->stream->is_closing)
        on_step_done(session);
    else if (session->owed != HL_STREAM_DATA && session->stream->is_reading)
        tell_end(session, session->owed, session->owed_error);
}

/* ---- its end ---- */

static void shut_down(struct hl_stream *s)
{
    hl_tls_record_end(s->layered);
    hl_socket_shutdown(s);
}

/* What was not sent is dropped: then this is a cut, and must look like one. */
static void end(struct hl_stream *s)
{
    if (!hl_stream_is_blocked(s))
        hl_tls_record_end(s->layered);
}

static void on_closed(struct hl_tls_session *session, const struct hl_stream_event *event)
{
    struct hl_stream *s = session->stream;
    void (*on_event)(struct hl_stream *, const struct hl_stream_event *) = session->on_event;
    hl_timer_fini(session->seat->wheel, &session->timer);
    if (session->state == HL_TLS_SHAKING)
        hl_counter_add(&metrics_of(session)->failed, 1);
    session->stream = NULL;
    if (!session->is_away)
        session_free(session);
    s->layer = NULL;
    s->layered = NULL;
    s->on_event = on_event;
    on_event(s, event);
}

static const struct hl_stream_layer layer = {
    .write2 = write2, .set_reading = set_reading, .shutdown = shut_down, .end = end};

/* ---- what happens on the socket ---- */

static void on_bytes(struct hl_tls_session *session, const struct hl_stream_event *event)
{
    if (session->state == HL_TLS_OPEN) {
        take_records(session, (struct hl_str){event->p, event->n});
    } else if (session->state == HL_TLS_SHAKING) {
        if (hl_buf_append(&session->held, event->p, event->n) != HL_OK)
            break_off(session, UV_ENOMEM);
        else
            feed(session);
    }
}

static void on_connected(struct hl_tls_session *session, const struct hl_stream_event *event)
{
    struct sockaddr_storage at;
    int n = sizeof(at);
    if (event->error != 0) {
        session->state = HL_TLS_BROKEN;
        session->on_event(session->stream, event);
        return;
    }
    session->state = HL_TLS_SHAKING;
    if (uv_tcp_getpeername(&session->stream->tcp, (struct sockaddr *)&at, &n) == 0 &&
        hl_ip_from_sockaddr((const struct sockaddr *)&at, &session->place.ip))
        session->place.port = at.ss_family == AF_INET ? ((struct sockaddr_in *)&at)->sin_port
                                                      : ((struct sockaddr_in6 *)&at)->sin6_port;
    take_step(session);
}

/* Without close_notify: whatever came may have been cut. */
static void on_cut(struct hl_tls_session *session, int error)
{
    if (session->state == HL_TLS_SHAKING && session->is_client) {
        break_off(session, error == UV_ETIMEDOUT ? error : HL_TLS_FAULT_LEFT);
        return;
    }
    session->stream->is_reading = true;
    break_off(session, error);
}

static void on_socket_event(struct hl_stream *s, const struct hl_stream_event *event)
{
    struct hl_tls_session *session = s->layered;
    bool is_shaking = session->state == HL_TLS_SHAKING;
    if (event->kind == HL_STREAM_CLOSED) {
        on_closed(session, event);
        return;
    }
    if (session->state == HL_TLS_PLAIN) {
        session->on_event(s, event);
        return;
    }
    switch (event->kind) {
    case HL_STREAM_DATA:
        on_bytes(session, event);
        break;
    case HL_STREAM_CONNECTED:
        on_connected(session, event);
        break;
    case HL_STREAM_EOF:
        on_cut(session, UV_ECONNRESET);
        break;
    case HL_STREAM_FAILED:
        on_cut(session, event->error);
        break;
    case HL_STREAM_WRITE_FAILED:
        if (is_shaking)
            on_cut(session, event->error);
        else
            session->on_event(s, event);
        break;
    default:
        if (!is_shaking)
            session->on_event(s, event);
    }
}
