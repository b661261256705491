/* client.h - a caller's connection: reads requests one after the other, hands each to whoever takes
 * it, writes what comes back. */
#ifndef HL_CALLER_CLIENT_H
#define HL_CALLER_CLIENT_H

#include "auth/seat.h"
#include "base/buf.h"
#include "caller/metrics.h"
#include "http/browser.h"
#include "http/message.h"
#include "loop/wheel.h"
#include "net/address.h"
#include "net/stream.h"

struct hl_answer;
struct hl_refusal;
struct hl_span;
struct hl_str;
struct hl_taker;

/* Between calls, and once a call was answered, `taker` is the one that takes nothing. */
enum hl_client_state {
    HL_CLIENT_HEAD,   /* between calls: idle, or an incomplete head is in `held` */
    HL_CLIENT_AUTH,   /* a whole head is in `held`; its token is being checked, nothing is read */
    HL_CLIENT_CALL,   /* a request is being read and answered */
    HL_CLIENT_TUNNEL, /* bytes go both ways */
    /* The last answer is written; reads and drops until the peer closes, so that no RST destroys it
     * (RFC 9112 9.6). */
    HL_CLIENT_LINGER,
    HL_CLIENT_CLOSING, /* ends in the close callback */
};

/* hl_callers.on_head: the caller's token is being checked, and c->wait will be called back, after which
 * the same head is to begin again. */
#define HL_CALL_LATER SIZE_MAX

struct hl_client {
    struct hl_stream stream;
    struct hl_callers *callers;
    struct hl_list node;
    /* In callers->idle: since it last began to wait for a request; may still be there while it has
     * one. A spare one: in callers->answered. */
    struct hl_list idle;
    struct hl_list paused; /* in callers->departures */
    enum hl_client_state state;
    const struct hl_taker *taker; /* of the present request; never NULL */
    void *owner;                  /* the taker's */
    struct hl_timer timer;        /* the one deadline that counts now, deadline.c */
    struct hl_stall stall;        /* HOOKLINE_WRITE_TIMEOUT */
    struct hl_linger linger;
    /* Bytes read and not yet used: an incomplete head, or what came while paused. */
    struct hl_buf held;
    bool is_spare; /* beyond HOOKLINE_MAX_CONNECTIONS: for a health check alone, and not for long */
    bool is_consuming; /* inside consume(): no nested one */
    bool wants_resume; /* hl_client_resume came meanwhile */
    bool has_ended;    /* the peer sent FIN */
    bool has_had_call;
    bool has_head_begun; /* its first byte has come: HOOKLINE_HEAD_TIMEOUT runs */
    bool must_close;     /* after the present response */
    bool has_waited;     /* the present request, for a look at its token or for the one before it */
    /* Sent Expect: 100-continue and has not been answered: its silence is no fault. */
    bool owes_continue;

    /* the present request's body */
    struct hl_message_reader messages; /* and of what is in `held` */
    uint64_t body_max, body_seen;
    bool body_done;

    /* the present call */
    enum hl_method method;
    uint8_t minor;
    uint8_t mode;                /* enum hl_mode: how it is counted */
    uint16_t status;             /* of the final answer that it was given; 0: none yet */
    uint64_t begun_us;           /* when its head was there, monotonic; 0: there is none */
    uint64_t ended_us;           /* when its response was whole, if that was looked at; else 0 */
    struct hl_span *span;        /* the call is sampled: what is told of it; owned */
    struct hl_access_line *line; /* HOOKLINE_ACCESS_LOG: what it will say of it; owned */
    struct hl_cors cors;         /* for whatever it is answered */
    struct hl_auth_wait wait;    /* in use in AUTH */

    char peer[HL_IP_TEXT]; /* the caller's address */
    bool is_peer_trusted;  /* in HOOKLINE_TRUSTED_PROXIES */
};

/* Between calls, and nothing of the next one has come. May ask the kernel. */
static inline bool hl_client_is_idle(const struct hl_client *c)
{
    return c->state == HL_CLIENT_HEAD && c->held.n == 0 && !hl_stream_has_unread(&c->stream);
}
/* We end: closes it if it is between calls and nothing has come; one that never had a call gets a
 * second to send it. */
void hl_client_close_idle(struct hl_client *c);

/* FIN goes out behind what is unsent; what still comes is dropped. */
void hl_client_linger(struct hl_client *c);
/* It is connected: waits for its first request. */
void hl_client_begin(struct hl_client *c);
/* What happens on it, but that it is closed; the one deadline has passed. */
void hl_client_on_event(struct hl_client *c, const struct hl_stream_event *event);
void hl_client_on_timer(struct hl_timer *timer);
/* The token of its head has been looked at. */
void hl_client_on_checked(struct hl_auth_wait *wait);

/* From here on the request is this taker's. */
static inline void hl_client_give_to(struct hl_client *c, const struct hl_taker *taker, void *owner)
{
    c->taker = taker;
    c->owner = owner;
}
/* Its taker has nothing to do with it any more. */
void hl_client_detach(struct hl_client *c);

/* Reads on: what stopped it is over. Nothing happens while something else still stops it. */
void hl_client_resume(struct hl_client *c);
/* The caller of HTTP/1.1 that asked for it is told to send its body (RFC 9110 10.1.1). HL_ERR_IO as
 * below. */
HL_MUST_CHECK enum hl_err hl_client_say_continue(struct hl_client *c);
/* Part of a response. HL_ERR_IO: the caller has gone, and its taker has been told; the client is
 * closing. */
HL_MUST_CHECK enum hl_err hl_client_write2(
    struct hl_client *c, struct hl_str first, struct hl_str second);
/* The connection's present call, or what should have become one, is refused for a fault of the
 * caller's; the connection ends. */
void hl_client_refuse(struct hl_client *c, const struct hl_refusal *why);
/* The response to the present call is complete (or broken off: is_whole false, then
 * hl_client_abort). Detaches the taker. */
void hl_client_call_done(struct hl_client *c, bool is_whole);
/* An answer of our own ends the present call. Detaches the taker. `mode` for the figures. */
void hl_client_answer(struct hl_client *c, struct hl_answer *answer, enum hl_mode mode);
/* Whether the response being written must say Connection: close. */
bool hl_client_closes_after(const struct hl_client *c);
/* The call became a tunnel. */
void hl_client_become_tunnel(struct hl_client *c);
/* Nothing is owed any more. */
void hl_client_close(struct hl_client *c);
/* The caller has gone: its taker is told, the connection ends. */
void hl_client_lose(struct hl_client *c);
/* The worker ends now: what is being said breaks off. A run has been detached. */
void hl_client_cut(struct hl_client *c);
/* The one way to end a connection in the middle of something: the caller can see that it was not the
 * end, by a reset where a FIN would not tell. The taker is detached before. */
void hl_client_abort(struct hl_client *c);

#endif
