/* mailbox.c - the one way in which threads talk: many posters push on a stack, the one reader takes
 * the whole stack and reverses it. Posting is one compare-and-swap; a poster that finds the box
 * empty wakes the reader, any other knows that a wake-up is under way. There is no ABA problem:
 * nobody pops a single message. */
#include "loop/mailbox.h"

#include "base/compiler.h"

void hl_mailbox_init(struct hl_mailbox *box, void (*wake)(void *arg), void *arg)
{
    atomic_init(&box->newest, NULL);
    box->wake = wake;
    box->arg = arg;
}

void hl_mailbox_post(struct hl_mailbox *box, struct hl_msg *msg)
{
    struct hl_msg *newest = atomic_load_explicit(&box->newest, memory_order_relaxed);
    do
        msg->next = newest;
    while (!atomic_compare_exchange_weak_explicit(
        &box->newest, &newest, msg, memory_order_release, memory_order_relaxed));
    if (!newest)
        box->wake(box->arg);
}

struct hl_msg *hl_mailbox_take(struct hl_mailbox *box)
{
    struct hl_msg *msg = atomic_exchange_explicit(&box->newest, NULL, memory_order_acquire);
    struct hl_msg *oldest = NULL;
    while (msg) {
        struct hl_msg *older = msg->next;
        msg->next = oldest;
        oldest = msg;
        msg = older;
    }
    return oldest;
}

void hl_bell_init(struct hl_bell *bell, struct hl_mailbox *box, uint32_t msg_type)
{
    bell->msg = (struct hl_msg){.type = msg_type};
    bell->box = box;
    hl_list_init(&bell->node);
    atomic_init(&bell->is_rung, false);
}

void hl_bell_ring(struct hl_bell *bell)
{
    if (!atomic_exchange(&bell->is_rung, true))
        hl_mailbox_post(bell->box, &bell->msg);
}

void hl_bell_heard(struct hl_bell *bell)
{
    atomic_store(&bell->is_rung, false);
}

static void wake_loop(void *arg)
{
    struct hl_uv_mailbox *m = arg;
    uv_async_send(&m->async);
}

static void on_async(uv_async_t *async)
{
    struct hl_uv_mailbox *m = HL_CONTAINER_OF(async, struct hl_uv_mailbox, async);
    for (struct hl_msg *msg = hl_mailbox_take(&m->box), *next; msg; msg = next) {
        next = msg->next;
        m->on_message(m->self, msg);
    }
}

int hl_uv_mailbox_init(struct hl_uv_mailbox *m, uv_loop_t *loop,
    void (*on_message)(void *self, struct hl_msg *msg), void *self)
{
    hl_mailbox_init(&m->box, wake_loop, m);
    m->on_message = on_message;
    m->self = self;
    int status = uv_async_init(loop, &m->async, on_async);
    if (status == 0)
        uv_unref((uv_handle_t *)&m->async);
    return status;
}

void hl_uv_mailbox_close(struct hl_uv_mailbox *m)
{
    uv_close((uv_handle_t *)&m->async, NULL);
}
