/* connection.h - one caller's connection: requests are read whole and answered one after the other,
 * by the server itself or by a call. */
#ifndef HL_RUNTIME_CONNECTION_H
#define HL_RUNTIME_CONNECTION_H

#include "base/id.h"
#include "core/output.h"
#include "core/triage.h"
#include "http/message.h"
#include "loop/wheel.h"
#include "net/stream.h"

struct hl_call;
struct hl_listener;
struct hl_progress;
struct hl_upload;

#define HL_KEEPALIVE_TIMEOUT_MS 75000
/* Tells a proxy before us how long it may keep a connection for its next POST. */
#define HL_KEEP_ALIVE_FIELD "Keep-Alive: timeout=75\r\n"

/* What the connections of a server have in common. Thread: the loop's. */
struct hl_home {
    struct hl_desk *desk;
    uv_loop_t *loop;
    struct hl_wheel *wheel;
    struct hl_reader *reader;
    bool is_unix;
    struct hl_list connections; /* all that are not freed */
    struct hl_list uploads;     /* that no thread of the host has */
    size_t count, max;          /* of them */
    size_t calls;               /* that are not freed */
    struct hl_slot_table names; /* of connections, for what comes through the mailbox */
    struct hl_id_source ids;
    uint64_t held, max_held;               /* bytes of bodies in memory */
    void (*on_gone)(struct hl_home *home); /* a connection or a call was freed */
    struct hl_head head;                   /* scratch, valid within one event */
};

enum hl_connection_state {
    HL_CONNECTION_HEAD, /* between requests, or part of a head is in `in` */
    HL_CONNECTION_BODY, /* the head was read; the body is, for `call` or for nobody */
    HL_CONNECTION_CALL, /* the request is whole; a call answers it, once its form is stored */
    /* The last answer is written; reads and drops until the peer closes, so that no RST destroys it
     * (RFC 9112 9.6). */
    HL_CONNECTION_LINGER,
    HL_CONNECTION_CLOSING, /* ends in the close callback */
};

struct hl_connection {
    struct hl_stream stream;
    struct hl_home *home;
    struct hl_list node;
    struct hl_slot_name name;
    enum hl_connection_state state;
    struct hl_timer timer;
    struct hl_buf in; /* read and not yet used */
    struct hl_message_reader messages;
    bool has_ended; /* the peer sent FIN */
    bool has_begun; /* a head's first byte has come: its deadline runs for all of it */

    /* the present request */
    uint8_t minor;
    bool must_close; /* after its answer */
    bool is_head_request;
    bool has_id;
    struct hl_id run_id;
    struct hl_triage own; /* the server's own answer, due when the body has been dropped */
    struct hl_call *call; /* until it is released, or the caller has gone */
    void (*on_stored)(struct hl_upload *upload); /* a piece of a form */

    /* the present answer, when a call gives it */
    struct hl_list out;       /* of struct hl_piece */
    size_t owed;              /* bytes given to the socket that the call has no credit for yet */
    enum hl_piece_end ending; /* of the last piece given to the socket */
    struct hl_stall stall;    /* of what the socket does not take */

    /* what a call tells before its answer */
    struct hl_timer pace; /* armed: the next interim response waits for it */
    uint64_t interim_end; /* where the last one ends among the stream's bytes */

    struct hl_linger linger;
};

/* Takes the waiting connection. False: out of memory, it goes on waiting. */
void hl_connection_accept(struct hl_home *home, struct hl_listener *listener);

/* The mailbox's messages. Piece and call are taken; what a call has told stays its own. */
void hl_connection_take_piece(struct hl_home *home, struct hl_piece *piece);
void hl_connection_take_progress(struct hl_home *home, struct hl_progress *progress);
void hl_connection_take_call(struct hl_home *home, struct hl_call *call);

/* The desk has its stop mark: idle connections close, the others after their answer. */
void hl_connection_stop_all(struct hl_home *home);

/* ---- close.c ---- */

/* The caller has gone, or is to go. The call, if there is one, is told. Harmless twice. */
void hl_connection_close(struct hl_connection *c, bool resets);
/* Frees a call that no thread has. */
void hl_connection_drop_call(struct hl_home *home, struct hl_call *call);

#endif
