/* call_inside.h - a call's struct, for the files of core alone.
 *
 * The loop makes it, fills it while the request arrives, and puts it in the queue. From the moment a
 * thread takes it, that thread has it, until it comes back through the mailbox as HL_DESK_RELEASED.
 * The loop frees it. What both touch meanwhile stands in its own part, under the lock. */
#ifndef HL_RUNTIME_CALL_INSIDE_H
#define HL_RUNTIME_CALL_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/id.h"
#include "core/queue.h"
#include "loop/mailbox.h"
#include "loop/slot.h"

struct hl_desk;
struct hl_head;
struct hl_target;
struct hl_upload;

enum hl_call_stage {
    HL_CALL_SILENT,   /* nothing was answered */
    HL_CALL_VALUES,   /* values are collected; nothing was sent */
    HL_CALL_EVENTS,   /* the head of an event stream was sent, perhaps events */
    HL_CALL_ANSWERED, /* `last` is the whole answer, or there was no memory for it */
    HL_CALL_DONE,     /* `last` is what ends a stream, or there was no memory for it */
};

struct hl_progress;

struct hl_call_field {
    struct hl_str name, value;
};

struct hl_call {
    struct hl_msg released; /* first */
    struct hl_queue_entry entry;
    struct hl_desk *desk;
    struct hl_slot_name connection;

    /* what was asked; not changed once it is in the queue */
    size_t callee;
    struct hl_str method, path, query;
    struct hl_buf body;
    struct hl_upload *upload; /* the body of a form, in place of `body`; NULL */
    struct hl_id run_id;
    uint32_t attempt;
    int64_t deadline_ms;
    uint8_t minor;
    bool wants_events, is_head_request, must_close;

    /* of the thread that has it */
    enum hl_call_stage stage;
    uint16_t status;       /* of the answer */
    uint64_t taken_us;     /* when */
    struct hl_buf values;  /* "[1,2" */
    enum hl_err gap;       /* why a value is missing among those that were emitted */
    struct hl_piece *last; /* goes with the release */

    /* between the threads */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t unsent;  /* bytes of pieces that the socket has not taken; under the lock */
    bool has_begun; /* a piece was sent: the answer has a head; under the lock */
    struct hl_progress *progress; /* NULL: the function has told nothing; under the lock */
    atomic_bool is_gone;          /* set under the lock, read anywhere */

    size_t field_count;
    struct hl_call_field fields[]; /* and then the bytes of the head */
};

/* ---- call.c ---- */

/* Copies the head of `n` bytes that `head` and `target` were read from. NULL: out of memory. */
struct hl_call *hl_call_new(struct hl_desk *desk, size_t callee, const struct hl_head *head,
    const struct hl_target *target, const char *p, size_t n);
void hl_call_free(struct hl_call *call); /* NULL-safe */

/* The socket took n bytes. */
void hl_call_credit(struct hl_call *call, size_t n);
/* Whoever has it is told that nobody waits any more. */
void hl_call_leave(struct hl_call *call);

/* ---- take.c ---- */

/* Waits for the next call whose body is good; answers the others. NULL: the queue is closed. Any
 * thread. */
struct hl_call *hl_desk_take(struct hl_desk *desk);
/* The next async call; never waits. */
struct hl_call *hl_desk_take_async(struct hl_desk *desk);

#endif
