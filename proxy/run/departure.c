/* departure.c - callers who leave while nothing is read from them.
 * Owns: the worker's list of callers whose reading is paused. Thread: the worker's.
 * Promise: a call whose caller has gone ends within half a second, whatever lies unread; while
 * nobody is paused nothing runs.
 * Not here: what a FIN means when it is read (client.c). */
#include "run/departure.h"

#define LOOK_MS 500

/* An asynchronous call and one with a webhook are done for someone else than its caller, once the
 * request is whole: only reading can tell whether it is. */
bool hl_departure_has_left(const struct hl_client *c)
{
    if (c->state != HL_CLIENT_CALL || c->taker == HL_TAKER_ACCEPT ||
        (c->run && c->run->has_webhook))
        return false;
    return hl_stream_has_peer_left(&c->stream);
}

void hl_departure_watch(struct hl_client *c)
{
    struct hl_worker *w = c->worker;
    if (hl_list_is_linked(&c->paused))
        return;
    hl_list_push_back(&w->paused_clients, &c->paused);
    if (!hl_timer_is_armed(&w->departure_timer))
        hl_timer_arm(&w->wheel, &w->departure_timer, LOOK_MS);
}

/* A call that ends lets others begin or end, each with a pause or two: so the list is taken as it
 * stands, one after the other, and who is still paused goes to the next one. */
static void on_look(struct hl_timer *timer)
{
    struct hl_worker *w = HL_CONTAINER_OF(timer, struct hl_worker, departure_timer);
    struct hl_list still, *node;
    hl_list_init(&still);
    while ((node = hl_list_pop_front(&w->paused_clients)) != NULL) {
        struct hl_client *c = HL_CONTAINER_OF(node, struct hl_client, paused);
        if (hl_departure_has_left(c))
            hl_client_lose(c);
        else if (c->state == HL_CLIENT_CALL && !c->stream.is_reading)
            hl_list_push_back(&still, node);
    }
    while ((node = hl_list_pop_front(&still)) != NULL)
        hl_list_push_back(&w->paused_clients, node);
    if (!hl_list_is_empty(&w->paused_clients))
        hl_timer_arm(&w->wheel, timer, LOOK_MS);
}

void hl_departure_init(struct hl_worker *w)
{
    hl_list_init(&w->paused_clients);
    hl_timer_init(&w->departure_timer, on_look);
}
