/* lender.c - see lender.h. */
#include "store/lender.h"

#include "base/compiler.h"

void hl_lender_init(struct hl_lender *lender, struct hl_mailbox *box)
{
    lender->box = box;
    atomic_store(&lender->replicas, 1);
    pthread_mutex_init(&lender->lock, NULL);
    hl_list_init(&lender->desks);
}

void hl_lender_fini(struct hl_lender *lender)
{
    pthread_mutex_destroy(&lender->lock);
}

void hl_lender_add(struct hl_lender *lender, struct hl_lender_desk *desk)
{
    if (!lender)
        return;
    pthread_mutex_lock(&lender->lock);
    hl_list_push_back(&lender->desks, &desk->bell.node);
    pthread_mutex_unlock(&lender->lock);
}

void hl_lender_remove(struct hl_lender *lender, struct hl_lender_desk *desk)
{
    if (!lender)
        return;
    pthread_mutex_lock(&lender->lock);
    hl_list_remove(&desk->bell.node);
    pthread_mutex_unlock(&lender->lock);
}

void hl_lender_ring(struct hl_lender *lender)
{
    pthread_mutex_lock(&lender->lock);
    HL_LIST_EACH (node, &lender->desks) {
        struct hl_bell *bell = HL_CONTAINER_OF(node, struct hl_bell, node);
        struct hl_lender_desk *desk = HL_CONTAINER_OF(bell, struct hl_lender_desk, bell);
        if (atomic_exchange(&desk->waits, false))
            hl_bell_ring(bell);
    }
    pthread_mutex_unlock(&lender->lock);
}

void hl_lender_note(struct hl_lender *lender, uint64_t replicas)
{
    atomic_store(&lender->replicas, replicas > 0 ? (uint32_t)replicas : 1);
}

uint32_t hl_lender_share(const struct hl_lender *lender, uint32_t count)
{
    uint32_t share = count / atomic_load(&lender->replicas);
    return share > 0 ? share : 1;
}
