/* departure.c - callers who leave while nothing is read from them.
 * Owns: the list of those whose reading is paused. Thread: the worker's.
 * Promise: a call whose caller has gone ends within half a second, whatever lies unread; while
 * nobody is paused nothing runs.
 * Not here: what a FIN means when it is read (client.c). */
#include "caller/departure.h"

#include "caller/client.h"
#include "caller/taker.h"

#define LOOK_MS 500

/* A call that is done for someone else than its caller goes on once the request is whole: only
 * reading can tell whether it is. */
bool hl_client_has_left(const struct hl_client *c)
{
    return c->state == HL_CLIENT_CALL && c->taker->needs_caller(c->owner) &&
           hl_stream_has_peer_left(&c->stream);
}

void hl_departures_watch(struct hl_departures *d, struct hl_client *c)
{
    if (hl_list_is_linked(&c->paused))
        return;
    hl_list_push_back(&d->paused, &c->paused);
    if (!hl_timer_is_armed(&d->timer))
        hl_timer_arm(d->wheel, &d->timer, LOOK_MS);
}

/* A call that ends lets others begin or end, each with a pause or two: so the list is taken as it
 * stands, one after the other, and what is still paused goes to the next one. */
static void on_look(struct hl_timer *timer)
{
    struct hl_departures *d = HL_CONTAINER_OF(timer, struct hl_departures, timer);
    struct hl_list still, *node;
    hl_list_init(&still);
    while ((node = hl_list_pop_front(&d->paused)) != NULL) {
        struct hl_client *c = HL_CONTAINER_OF(node, struct hl_client, paused);
        if (hl_client_has_left(c))
            d->on_left(c);
        else if (c->state == HL_CLIENT_CALL && !c->stream.is_reading)
            hl_list_push_back(&still, node);
    }
    hl_list_move_all(&still, &d->paused);
    if (!hl_list_is_empty(&d->paused))
        hl_timer_arm(d->wheel, timer, LOOK_MS);
}

void hl_departures_init(
    struct hl_departures *d, struct hl_wheel *wheel, void (*on_left)(struct hl_client *c))
{
    d->wheel = wheel;
    d->on_left = on_left;
    hl_list_init(&d->paused);
    hl_timer_init(&d->timer, on_look);
}
