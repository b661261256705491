/* listening.c - see listening.h. */
#include "worker/listening.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "net/listener.h"
#include "run/service.h"
#include "worker/worker.h"

static bool may_accept(void *owner)
{
    struct hl_worker *w = owner;
    return hl_callers_have_room(&w->callers);
}

static bool make_room(void *owner)
{
    struct hl_worker *w = owner;
    return hl_callers_make_room(&w->callers);
}

static bool may_use_reserve(void *owner)
{
    const struct hl_worker *w = owner;
    return w->callers.spares_taken < HL_SERVICE_RESERVE;
}

static void on_connection(struct hl_listener *listener)
{
    struct hl_worker *w = listener->host.owner;
    hl_callers_accept(&w->callers, listener);
}

enum hl_err hl_listening_open(struct hl_worker *w, char *why, size_t why_len)
{
    const struct hl_listen_list *list = &w->config->listen;
    const struct hl_listener_host host = {.loop = &w->loop,
        .wheel = &w->wheel,
        .owner = w,
        .may_accept = may_accept,
        .make_room = make_room,
        .may_use_reserve = may_use_reserve,
        .on_connection = on_connection};
    w->listeners = calloc(list->n, sizeof(*w->listeners));
    if (!w->listeners)
        return HL_ERR_NOMEM;
    for (size_t i = 0; i < list->n; i++) {
        int rc = hl_listener_open(
            &w->listeners[i], &host, (const struct sockaddr *)&list->items[i].addr, true);
        w->listener_count++;
        if (rc != 0) {
            snprintf(why, why_len, "cannot listen on HOOKLINE_LISTEN %s: %s", list->items[i].text,
                uv_strerror(rc));
            return HL_ERR_IO;
        }
    }
    return HL_OK;
}

void hl_listening_empty_queue(struct hl_worker *w)
{
    for (size_t i = 0; i < w->listener_count; i++) {
        int fd;
        while ((fd = hl_listener_take(&w->listeners[i])) >= 0)
            hl_callers_adopt(&w->callers, fd);
    }
}

void hl_listening_poke(struct hl_worker *w)
{
    for (size_t i = 0; i < w->listener_count; i++)
        hl_listener_poke(&w->listeners[i]);
}

void hl_listening_close(struct hl_worker *w)
{
    for (size_t i = 0; i < w->listener_count; i++)
        hl_listener_close(&w->listeners[i]);
}
