/* admin_connection.h - one connection to the admin listener or the control socket: its requests are
 * read and answered one after the other. */
#ifndef HL_API_ADMIN_CONNECTION_H
#define HL_API_ADMIN_CONNECTION_H

#include "api/admin_answer.h"
#include "api/view.h"
#include "base/list.h"
#include "http/message.h"
#include "loop/wheel.h"
#include "net/stream.h"

struct hl_listener;

#define HL_ADMIN_MAX_HEAD (64 * 1024) /* more: 431 */
#define HL_ADMIN_MAX_BODY (64 * 1024) /* more: 413, unless the responder takes it */
#define HL_ADMIN_MAX_TAGS 128         /* a longer If-None-Match is passed over */

struct hl_admin_connection;

/* Whoever answers the requests of a connection. */
struct hl_admin_responder {
    /* The connection is new. */
    void (*begin)(struct hl_admin_connection *c);
    /* A head is there: keeps what says who asks, and from where. */
    void (*take_head)(struct hl_admin_connection *c, const struct hl_head *head);
    /* The request is whole: answers it, now or later. */
    void (*answer)(struct hl_admin_connection *c);
    /* It has a fault, or does not come: it is refused, and the connection ends. */
    void (*refuse)(struct hl_admin_connection *c, const struct hl_refusal *why);
    /* The socket takes bytes again; only while an answer is being made. */
    void (*drained)(struct hl_admin_connection *c);
    /* The peer has gone, or is sent away: nobody waits for an answer. */
    void (*abandon)(struct hl_admin_connection *c);
};

/* What the connections have in common; the listener's side of them (admin.c) owns it. */
struct hl_admin_home {
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    struct hl_api_view view;
    const struct hl_admin_responder *responder;
    /* All that are not freed; of two between requests the one that has been so for longer stands
     * first. */
    struct hl_list connections;
    size_t count, local_count;                   /* of them, and of those on the control socket */
    size_t reserved_count;                       /* of those with a descriptor of the reserve */
    void (*on_gone)(struct hl_admin_home *home); /* one was freed */
    struct hl_head head;                         /* scratch, valid within one event */
};

enum hl_admin_state {
    HL_ADMIN_HEAD,   /* between requests, or part of a head is in `in` */
    HL_ADMIN_BODY,   /* the head was taken off `in`; the body is read, and the answer is due */
    HL_ADMIN_ANSWER, /* the answer is being made, or a file is being sent; nothing is read */
    /* The last answer is written; reads and drops until the peer closes, so that no RST destroys it
     * (RFC 9112 9.6). */
    HL_ADMIN_LINGER,
    HL_ADMIN_CLOSING, /* ends in the close callback */
};

struct hl_admin_connection {
    struct hl_stream stream;
    struct hl_admin_home *home;
    struct hl_list node;
    enum hl_admin_state state;
    bool is_local;    /* on the control socket */
    uint32_t uid;     /* is_local: the peer's */
    bool is_reserved; /* has a descriptor of the reserve: it may ask once */
    bool is_open;     /* who asks is an admin of every project: nobody is asked for a token */
    struct hl_timer timer;
    struct hl_stall stall; /* HOOKLINE_WRITE_TIMEOUT */
    struct hl_linger linger;
    struct hl_buf in; /* read and not yet used */
    struct hl_message_reader messages;
    bool has_ended; /* the peer sent FIN */
    bool has_begun; /* a request's first byte has come: HOOKLINE_HEAD_TIMEOUT runs for all of it */

    /* the present request */
    struct hl_buf target, body;
    size_t max_body;                 /* more is refused with too_large: the responder may say */
    enum hl_refusal_cause too_large; /* otherwise when it takes the head */
    enum hl_method method;
    uint8_t minor;
    bool must_close; /* after its answer */
    bool accepts_gzip, refuses_text;
    char tags[HL_ADMIN_MAX_TAGS]; /* of If-None-Match */

    struct hl_admin_answer answer; /* its responder's */
};

/* Takes the waiting connection, or leaves it waiting if memory is short. */
void hl_admin_connection_accept(
    struct hl_admin_home *home, struct hl_listener *listener, bool is_local, bool is_open);

/* A newcomer from the network finds all places taken: closes the connection from there that has been
 * between requests for longest, unless there is none or one closes already. Its place is free when
 * it is gone. False: nothing was closed. */
bool hl_admin_connection_make_room(struct hl_admin_home *home);

/* Closes all of them; each is freed in its close callback. */
void hl_admin_connection_close_all(struct hl_admin_home *home);

/* An answer is written: the next request may be read. */
void hl_admin_connection_go_on(struct hl_admin_connection *c);
void hl_admin_connection_close(struct hl_admin_connection *c);

#endif
