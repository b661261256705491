/* queue.c - calls that wait for the host, and the places inside it.
 * Thread: the loop's adds and removes, any takes and gives places back.
 * Promise: whose turn it is has been told: a thread by the condition, an event loop by the bell. */
#include "core/queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum hl_err hl_queue_init(struct hl_queue *queue, uint32_t places)
{
    *queue = (struct hl_queue){.places = places};
    hl_list_init(&queue->waiting);
    queue->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->bell < 0)
        return HL_ERR_NOMEM;
    if (pthread_mutex_init(&queue->lock, NULL) == 0) {
        if (pthread_cond_init(&queue->changed, NULL) == 0)
            return HL_OK;
        pthread_mutex_destroy(&queue->lock);
    }
    close(queue->bell);
    return HL_ERR_NOMEM;
}

void hl_queue_fini(struct hl_queue *queue)
{
    close(queue->bell);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

static void ring(struct hl_queue *queue)
{
    if (!queue->is_rung)
        eventfd_write(queue->bell, 1); /* cannot fail: it counts to 1 */
    queue->is_rung = true;
}

static struct hl_queue_entry *first(const struct hl_queue *queue)
{
    return hl_list_is_empty(&queue->waiting)
               ? NULL
               : HL_CONTAINER_OF(queue->waiting.next, struct hl_queue_entry, node);
}

/* To be called whenever another entry is first, or a place became free. */
static void tell_next(struct hl_queue *queue)
{
    const struct hl_queue_entry *entry = first(queue);
    if (!entry && queue->is_closed)
        pthread_cond_broadcast(&queue->changed);
    if (!entry || queue->places == 0)
        return;
    if (entry->is_async)
        ring(queue);
    else
        pthread_cond_signal(&queue->changed);
}

void hl_queue_add(struct hl_queue *queue, struct hl_queue_entry *entry)
{
    pthread_mutex_lock(&queue->lock);
    hl_list_push_back(&queue->waiting, &entry->node);
    if (first(queue) == entry)
        tell_next(queue);
    pthread_mutex_unlock(&queue->lock);
}

bool hl_queue_remove(struct hl_queue *queue, struct hl_queue_entry *entry)
{
    pthread_mutex_lock(&queue->lock);
    bool was_waiting = hl_list_is_linked(&entry->node);
    hl_list_remove(&entry->node);
    if (was_waiting)
        tell_next(queue);
    pthread_mutex_unlock(&queue->lock);
    return was_waiting;
}

void hl_queue_close(struct hl_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    tell_next(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* The first entry, if it is of that kind and there is a place for it. */
static struct hl_queue_entry *pop(struct hl_queue *queue, bool is_async)
{
    struct hl_queue_entry *entry = first(queue);
    if (!entry || entry->is_async != is_async || queue->places == 0)
        return NULL;
    hl_list_remove(&entry->node);
    queue->places--;
    tell_next(queue);
    return entry;
}

struct hl_queue_entry *hl_queue_take(struct hl_queue *queue)
{
    struct hl_queue_entry *entry;
    pthread_mutex_lock(&queue->lock);
    while (!(entry = pop(queue, false)) && !(queue->is_closed && hl_list_is_empty(&queue->waiting)))
        pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return entry;
}

struct hl_queue_entry *hl_queue_take_async(struct hl_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    struct hl_queue_entry *entry = pop(queue, true);
    pthread_mutex_unlock(&queue->lock);
    return entry;
}

void hl_queue_leave(struct hl_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->places++;
    tell_next(queue);
    pthread_mutex_unlock(&queue->lock);
}

void hl_queue_tell(struct hl_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->has_news = true;
    ring(queue);
    pthread_mutex_unlock(&queue->lock);
}

bool hl_queue_hear(struct hl_queue *queue)
{
    eventfd_t count;
    pthread_mutex_lock(&queue->lock);
    if (queue->is_rung)
        eventfd_read(queue->bell, &count);
    bool has_news = queue->has_news;
    queue->is_rung = queue->has_news = false;
    pthread_mutex_unlock(&queue->lock);
    return has_news;
}
