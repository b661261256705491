/* upstream.h - a connection to the app: being made, kept, or with a call. One worker's. */
#ifndef HL_APP_UPSTREAM_H
#define HL_APP_UPSTREAM_H

#include "base/list.h"
#include "net/stream.h"

/* A request that cannot be sent twice (a body, a method that is not idempotent) takes a kept
 * connection only if it was idle for less than this: servers close idle connections after 2 s
 * (gunicorn) to 5 s (Node, uvicorn), and a request that meets that close is lost. */
#define HL_UPSTREAM_FRESH_MS 1500

struct hl_head;
struct hl_pool;
struct hl_upstream_wait;

enum hl_upstream_state {
    HL_UPSTREAM_CONNECTING, /* belongs to a wait */
    HL_UPSTREAM_IDLE,       /* in the pool's list; reading, to see the app's close */
    HL_UPSTREAM_BUSY,       /* belongs to a call: its owner gets the events */
    HL_UPSTREAM_CLOSING,    /* ends in the close callback */
};

struct hl_upstream {
    struct hl_stream stream;
    struct hl_pool *pool;
    struct hl_list node; /* in pool->idle or pool->busy, or in its wait's list */
    enum hl_upstream_state state;
    struct hl_upstream_wait *wait; /* while CONNECTING */
    uint64_t mark;                 /* of the address (host.h) */
    bool is_gone;        /* the name has not that address any more: no other call gets it */
    uint64_t idle_since; /* or connecting */
    uint64_t keep_ms;    /* an idle one stays open this long (its Keep-Alive field); 0: unknown */
    uint32_t calls;      /* that used it before */
    struct hl_silence silence; /* of the app's machine, while BUSY */
    void *owner;
    void (*on_event)(void *owner, const struct hl_stream_event *event);
};

/* CONNECTING, without a connect yet and an owner; its bytes are not read. The pool closes kept ones
 * that are too many with it. NULL: out of memory. */
struct hl_upstream *hl_upstream_new(struct hl_pool *pool);
/* Who gets its events while it is CONNECTING or BUSY. */
static inline void hl_upstream_own(struct hl_upstream *u, void *owner,
    void (*on_event)(void *owner, const struct hl_stream_event *event))
{
    u->owner = owner;
    u->on_event = on_event;
}
/* The final head of an answer on it: it may say how long the connection is kept. */
void hl_upstream_note_head(struct hl_upstream *u, const struct hl_head *head);
/* Ends it; its owner gets no further event. */
void hl_upstream_close(struct hl_upstream *u);
/* The app has ended a kept one, or written on it. */
void hl_upstream_note_left(struct hl_upstream *u);
/* The app has ended one that was used again, instead of answering. */
void hl_upstream_distrust(struct hl_upstream *u);
/* The same by RST, which leaves nothing behind: its port is free at once. */
void hl_upstream_reset(struct hl_upstream *u);
/* A kept one is young enough for a request that cannot be sent twice for so long. */
static inline uint64_t hl_upstream_fresh_ms(const struct hl_upstream *u)
{
    return u->keep_ms ? u->keep_ms : HL_UPSTREAM_FRESH_MS;
}
/* The app's name was looked up: kept ones to an address that it has not any more are closed, others behind their
 * calls. */
void hl_upstream_leave_gone(struct hl_pool *pool);
/* Closes kept ones of this pool while more are open over all workers than may be. */
void hl_upstream_close_surplus(struct hl_pool *pool);
/* A new one has been opened: the oldest kept one goes if it was too old to be used instead. */
void hl_upstream_replace(struct hl_pool *pool);
/* Resets the oldest kept one, which is in the way of a new one. False: none is kept. */
bool hl_upstream_yield(struct hl_pool *pool);

#endif
