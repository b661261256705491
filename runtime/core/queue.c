/* queue.c - calls that wait for a thread of the host.
 * Thread: the loop's adds and removes, any takes. A node is linked exactly while it waits. */
#include "core/queue.h"

enum hl_err hl_queue_init(struct hl_queue *queue)
{
    hl_list_init(&queue->waiting);
    queue->is_closed = false;
    if (pthread_mutex_init(&queue->lock, NULL) != 0)
        return HL_ERR_NOMEM;
    if (pthread_cond_init(&queue->changed, NULL) == 0)
        return HL_OK;
    pthread_mutex_destroy(&queue->lock);
    return HL_ERR_NOMEM;
}

void hl_queue_fini(struct hl_queue *queue)
{
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

void hl_queue_add(struct hl_queue *queue, struct hl_list *node)
{
    pthread_mutex_lock(&queue->lock);
    hl_list_push_back(&queue->waiting, node);
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

bool hl_queue_remove(struct hl_queue *queue, struct hl_list *node)
{
    pthread_mutex_lock(&queue->lock);
    bool was_waiting = hl_list_is_linked(node);
    hl_list_remove(node);
    pthread_mutex_unlock(&queue->lock);
    return was_waiting;
}

void hl_queue_close(struct hl_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

struct hl_list *hl_queue_take(struct hl_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (hl_list_is_empty(&queue->waiting) && !queue->is_closed)
        pthread_cond_wait(&queue->changed, &queue->lock);
    struct hl_list *node = hl_list_pop_front(&queue->waiting);
    pthread_mutex_unlock(&queue->lock);
    return node;
}
