/* session.h - one connection's TLS, and the seat of a loop that has it: what session.c (the loop's side)
 * and handshake.c and client.c (the threads' side) share. */
#ifndef HL_TLS_SESSION_H
#define HL_TLS_SESSION_H

#include <mbedtls/ssl.h>

#include "base/buf.h"
#include "loop/mailbox.h"
#include "loop/wheel.h"
#include "net/stream.h"
#include "tls/crew.h"
#include "tls/identity.h"
#include "tls/keeper.h"
#include "tls/tls.h"

#define HL_TLS_RECORD_HEAD 5
/* RFC 5246 6.2.3: a record is no longer than this, head included. */
#define HL_TLS_RECORD_MAX (HL_TLS_RECORD_HEAD + 16384 + 2048)
#define HL_TLS_OUT        (64 * 1024)
/* One read, and what an earlier one has begun. */
#define HL_TLS_PLAIN_ROOM (HL_READ_SIZE_LONG + HL_TLS_RECORD_MAX)

struct hl_tls_seat {
    struct hl_tls_crew *crew;
    struct hl_tls_keeper *keepers[HL_TLS_USES];
    struct hl_wheel *wheel;
    uint64_t handshake_ms;
    struct hl_uv_mailbox mail; /* sessions that come back */
    struct hl_tls_metrics metrics[HL_TLS_USES];
    /* Valid within one event: of what was read, the plain text; of what is written, records that the
     * socket has not been offered yet, and two pieces that become one record. */
    char *plain; /* HL_TLS_PLAIN_ROOM bytes */
    size_t out_n;
    char out[HL_TLS_OUT + HL_TLS_RECORD_MAX];
    char joint[MBEDTLS_SSL_OUT_CONTENT_LEN];
};

enum hl_tls_state {
    HL_TLS_CONNECTING, /* of a client: there is no connection yet; ends by SHAKING or BROKEN */
    HL_TLS_SHAKING,    /* handshake; ends by OPEN, PLAIN or BROKEN */
    HL_TLS_OPEN,
    HL_TLS_PLAIN,  /* the peer spoke no TLS: bytes go through as they are */
    HL_TLS_BROKEN, /* nothing can be read or written; the owner is told, and closes it */
};

struct hl_tls_session {
    struct hl_msg msg;       /* back to the seat: a step is done, or something is to be told */
    struct hl_tls_step step; /* to the crew */
    struct hl_tls_seat *seat;
    struct hl_stream *stream; /* NULL: closed; the message that is away is what keeps us */
    void (*on_event)(struct hl_stream *stream, const struct hl_stream_event *event);
    enum hl_tls_use use;
    enum hl_tls_state state;
    bool is_away; /* `msg` or `step`: with them goes all below but `timer` while it shakes hands */
    bool has_read_end; /* close_notify has come */
    bool has_begun;    /* a step was taken */
    /* What the owner is told when it reads again: HL_STREAM_EOF or _FAILED; _DATA: nothing. */
    enum hl_stream_event_kind owed;
    int owed_error;
    struct hl_timer timer;

    struct hl_tls_identity *identity; /* from the first step on, as is `ssl` */
    mbedtls_ssl_context ssl;
    struct hl_str in;   /* what mbedTLS has not read yet of what came; borrowed within one call */
    bool is_starved;    /* it asked for more than there is */
    struct hl_buf held; /* the same, between steps of a handshake */
    struct hl_buf out;  /* what a step wants to be sent */
    struct hl_buf peer; /* hl_tls_peer */
    bool is_twin;       /* hl_tls_is_twin */
    int result;         /* of the last step: 0: done, MBEDTLS_ERR_SSL_WANT_READ, or why not */

    /* Of a client. */
    bool is_client;
    const char *host;          /* of the app; NULL: a replica */
    struct hl_tls_place place; /* of its server */
    bool has_verified;         /* in this handshake: its session is a new one */
    uint8_t alert;             /* the server's, that was not encrypted; 0: none */
};

/* RFC 5246 6.2.1. Longer ones are refused by mbedTLS when they are there. */
static inline size_t hl_tls_record_length(const unsigned char *p)
{
    return HL_TLS_RECORD_HEAD + (size_t)(p[3] << 8 | p[4]);
}

/* session.c: it comes back from the crew, or has sent itself word. */
void hl_tls_session_on_message(void *seat, struct hl_msg *msg);

/* record.c, of the loop's side. Hands are shaken: */
void hl_tls_record_begin(struct hl_tls_session *session);
/* The socket is offered all of it at once. HL_ERR_IO, HL_ERR_NOMEM: the stream has failed. */
HL_MUST_CHECK enum hl_err hl_tls_record_write(
    struct hl_tls_session *session, struct hl_str first, struct hl_str second);
/* And what mbedTLS has to say by itself. */
HL_MUST_CHECK enum hl_err hl_tls_record_flush(struct hl_tls_session *session);
/* close_notify, unless it cannot be said any more. */
void hl_tls_record_end(struct hl_tls_session *session);

/* handshake.c: the crew's side; posts the session back. */
void hl_tls_handshake_run(struct hl_tls_step *step, bool is_late);
/* peer.c: what X-Forwarded-Client-Cert says of a certificate. HL_ERR_TOO_LARGE, HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_tls_peer_write(struct hl_buf *out, const mbedtls_x509_crt *crt);
/* client.c: before the first step; a libmbedtls code or 0. */
HL_MUST_CHECK int hl_tls_client_begin(struct hl_tls_session *session);
/* Of what has come, as it is read next. */
void hl_tls_client_look(struct hl_tls_session *session, struct hl_str held);
/* Hands are shaken. */
void hl_tls_client_end(struct hl_tls_session *session);
/* `result` is no success. */
int hl_tls_client_fault(const struct hl_tls_session *session);
/* For mbedtls_ssl_set_bio: takes from `in`. */
int hl_tls_session_recv(void *session, unsigned char *out, size_t n);

#endif
