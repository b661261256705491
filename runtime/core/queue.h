/* queue.h - calls that wait for a thread of the host: the loop adds, the host's threads take, in the
 * order of arrival. The one place where several readers share a lock: a mailbox has only one. */
#ifndef HL_RUNTIME_QUEUE_H
#define HL_RUNTIME_QUEUE_H

#include <pthread.h>

#include "base/list.h"
#include "base/str.h"

struct hl_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hl_list waiting;
    bool is_closed;
};

HL_MUST_CHECK enum hl_err hl_queue_init(struct hl_queue *queue);
void hl_queue_fini(struct hl_queue *queue);

/* Loop's thread. */
void hl_queue_add(struct hl_queue *queue, struct hl_list *node);
/* Loop's thread. False: a thread has it already. */
bool hl_queue_remove(struct hl_queue *queue, struct hl_list *node);
/* What still waits is given out, then NULL. */
void hl_queue_close(struct hl_queue *queue);

/* Any thread: waits; NULL once it is closed and empty. */
struct hl_list *hl_queue_take(struct hl_queue *queue);

#endif
