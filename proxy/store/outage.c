/* outage.c - see outage.h. */
#include "store/outage.h"

#include "store/message.h"

/* --- a disk that has failed ---------------------------------------------------------------------- */

void hl_reopening_fail(struct hl_reopening *r, uint64_t now_us)
{
    bool is_first = r->since_us == 0;
    if (is_first)
        r->since_us = now_us;
    if (is_first && (r->worked_us == 0 || now_us - r->worked_us >= HL_REOPENING_CALM_US))
        r->pause_us = HL_REOPENING_MIN_US;
    r->next_us = now_us + r->pause_us;
    r->pause_us *= 2;
    if (r->pause_us > HL_REOPENING_MAX_US)
        r->pause_us = HL_REOPENING_MAX_US;
}

void hl_reopening_succeed(struct hl_reopening *r, uint64_t now_us)
{
    r->since_us = 0;
    r->worked_us = now_us;
}

bool hl_reopening_is_hopeless(const struct hl_reopening *r, uint64_t now_us)
{
    return r->since_us > 0 && now_us - r->since_us >= HL_REOPENING_HOPELESS_US;
}

/* --- requests that wait -------------------------------------------------------------------------- */

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
