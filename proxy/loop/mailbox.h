/* mailbox.h - the one way in which threads talk: an intrusive list that any thread adds to and one
 * thread empties.
 *
 * Posting never blocks, allocates or fails; order per poster is kept. The reader is woken only when
 * the box goes from empty to non-empty, and takes all that is there. How it is woken is the
 * reader's affair (`wake`): uv_async_send, curl_multi_wakeup, a semaphore.
 *
 * A message that was posted is gone: the poster does not touch it again. It names its sender's
 * object by {slot, generation} (loop/slot.h), never by pointer. */
#ifndef HL_LOOP_MAILBOX_H
#define HL_LOOP_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"

struct hl_msg {
    struct hl_msg *next;
    uint32_t type; /* enum of the receiver; see store/message.h, worker/worker.h */
};

struct hl_mailbox {
    _Atomic(struct hl_msg *) newest;
    void (*wake)(void *arg); /* any thread; must be safe until fini */
    void *arg;
};

void hl_mailbox_init(struct hl_mailbox *box, void (*wake)(void *arg), void *arg);

/* Any thread. Gives `msg` away. */
void hl_mailbox_post(struct hl_mailbox *box, struct hl_msg *msg);

/* The reader's thread: all messages in the order of posting, linked by `next`, or NULL. Owned by
 * the caller. */
struct hl_msg *hl_mailbox_take(struct hl_mailbox *box);

/* Word that there is something to look at, from any thread: one message, not posted again before its reader has
 * said that it was heard. It lies where the mailbox does, for it may be in it until the end. */
struct hl_bell {
    struct hl_msg msg;
    struct hl_mailbox *box;
    struct hl_list node; /* of those whom somebody tells */
    atomic_bool is_rung;
};

void hl_bell_init(struct hl_bell *bell, struct hl_mailbox *box, uint32_t msg_type);
void hl_bell_ring(struct hl_bell *bell);
/* What happens from now on is another message. */
void hl_bell_heard(struct hl_bell *bell);

/* A mailbox that a libuv loop reads: `on_message` is called on the loop's thread for each message,
 * which it then owns. */
struct hl_uv_mailbox {
    struct hl_mailbox box;
    uv_async_t async;
    void (*on_message)(void *self, struct hl_msg *msg);
    void *self;
};

/* Returns a libuv error code or 0. The async handle is unreferenced: an open mailbox does not keep
 * a loop alive. */
int hl_uv_mailbox_init(struct hl_uv_mailbox *m, uv_loop_t *loop,
    void (*on_message)(void *self, struct hl_msg *msg), void *self);
/* Closes the handle; `m` must stay valid until the loop has run its close callbacks. */
void hl_uv_mailbox_close(struct hl_uv_mailbox *m);

#endif
