/* held_request.c - requests that wait for space on the volume, or for a store that has failed. */
#include "store/held_request.h"

#include "store/message.h"

void hl_held_requests_init(struct hl_held_requests *h)
{
    *h = (struct hl_held_requests){.least = SIZE_MAX, .retry_us = UINT64_MAX};
}

void hl_held_requests_add(struct hl_held_requests *h, struct hl_store_msg *m, size_t weight)
{
    m->msg.next = NULL;
    if (h->last)
        h->last->next = &m->msg;
    else
        h->first = &m->msg;
    h->last = &m->msg;
    if (weight < h->least)
        h->least = weight;
}

bool hl_held_requests_blocks(
    const struct hl_held_requests *h, const struct hl_store_msg *m, size_t weight)
{
    if (h->first && weight >= h->least)
        return true;
    const struct hl_msg *held = m->msg.type == HL_STORE_ATTEMPT ? h->first : NULL;
    while (held && !hl_store_message_follows(m, (const struct hl_store_msg *)held))
        held = held->next;
    return held;
}

void hl_held_requests_release(
    struct hl_held_requests *h, struct hl_msg **first, struct hl_msg **last)
{
    if (!h->first)
        return;
    h->last->next = *first;
    *first = h->first;
    if (!*last)
        *last = h->last;
    hl_held_requests_init(h);
}
