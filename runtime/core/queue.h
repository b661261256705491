/* queue.h - calls that wait for the host, and how many are inside it: the loop adds, the host takes, in
 * the order of arrival and never more at once than there are places. The one place where several
 * readers share a lock: a mailbox has only one.
 *
 * Calls are taken by threads that wait for them, or (is_async) by a host's own event loop, which
 * waits for the bell instead: a descriptor that can be read once there is something to look at. */
#ifndef HL_RUNTIME_QUEUE_H
#define HL_RUNTIME_QUEUE_H

#include <pthread.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"

struct hl_queue_entry {
    struct hl_list node; /* linked exactly while it waits */
    bool is_async;
};

struct hl_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hl_list waiting;
    uint32_t places; /* that are free */
    bool is_closed, is_rung, has_news;
    int bell;
};

HL_MUST_CHECK enum hl_err hl_queue_init(struct hl_queue *queue, uint32_t places);
void hl_queue_fini(struct hl_queue *queue);

/* Loop's thread. */
void hl_queue_add(struct hl_queue *queue, struct hl_queue_entry *entry);
/* Loop's thread. False: it was taken already. */
bool hl_queue_remove(struct hl_queue *queue, struct hl_queue_entry *entry);
/* What still waits is given out, then NULL. */
void hl_queue_close(struct hl_queue *queue);

/* Takes a place and the first entry. Any thread: waits; NULL once it is closed and empty. */
struct hl_queue_entry *hl_queue_take(struct hl_queue *queue);
/* The same for those that are async. Never waits: NULL when it is not the turn of one. */
struct hl_queue_entry *hl_queue_take_async(struct hl_queue *queue);
/* Gives a place back. Any thread. */
void hl_queue_leave(struct hl_queue *queue);

/* Rings the bell because something happened to an async entry that was taken. Any thread. */
void hl_queue_tell(struct hl_queue *queue);
/* Silences the bell: look at the queue after that. True: hl_queue_tell had rung it. */
bool hl_queue_hear(struct hl_queue *queue);

#endif
