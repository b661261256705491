/* client_open.c - a caller's connection comes and goes: accepted or taken over, closed when idle,
 * freed.
 * Owns: its memory and its place in the worker's list. Thread: the worker's.
 * Not here: what happens on it in between (client.c). */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "run/client.h"

#define SPARES        16 /* connections beyond a worker's share of HOOKLINE_MAX_CONNECTIONS */
#define NOTE_AGAIN_MS 60000

/* Once a minute, over all workers. */
static void note_full(struct hl_worker *w)
{
    struct hl_service *service = w->service;
    uint64_t now = uv_now(&w->loop) + 1, last = atomic_load(&service->full_noted_ms);
    if ((last == 0 || now - last >= NOTE_AGAIN_MS) &&
        atomic_compare_exchange_strong(&service->full_noted_ms, &last, now))
        HL_LOG(WARN,
            "HOOKLINE_MAX_CONNECTIONS callers are connected: new ones take the places of idle "
            "ones, "
            "or get 503",
            HL_LOG_INT("max", w->config->max_connections));
}

/* Closes the one that has been between calls for longest. One that has begun a call since leaves
 * the list here and comes back after it, so that calls themselves cost nothing. */
static bool shed_idle(struct hl_worker *w)
{
    struct hl_list *node;
    while ((node = hl_list_pop_front(&w->idle_clients)) != NULL) {
        struct hl_client *c = HL_CONTAINER_OF(node, struct hl_client, idle);
        if (c->state != HL_CLIENT_HEAD || c->held_n > 0 || hl_stream_is_blocked(&c->stream) ||
            hl_stream_has_unread(&c->stream))
            continue;
        hl_counter_add(&w->metrics.connections_shed, 1);
        hl_client_close(c);
        return true;
    }
    return false;
}

bool hl_client_has_room(struct hl_worker *w)
{
    if (w->places_taken < w->client_max)
        return true;
    note_full(w);
    return shed_idle(w) || w->spares_taken < SPARES;
}

static void note_peer(struct hl_client *c)
{
    struct sockaddr_storage ss;
    int len = sizeof(ss);
    struct hl_ip ip;
    c->peer[0] = '\0';
    c->is_peer_trusted = false;
    if (uv_tcp_getpeername(&c->stream.tcp, (struct sockaddr *)&ss, &len) != 0 ||
        !hl_ip_from_sockaddr((struct sockaddr *)&ss, &ip))
        return;
    hl_ip_format(&ip, c->peer);
    c->is_peer_trusted = hl_cidr_list_has(&c->worker->config->trusted_proxies, &ip);
}

static void client_free(struct hl_client *c)
{
    struct hl_worker *w = c->worker;
    hl_timer_fini(&w->wheel, &c->timer);
    hl_auth_cancel(&c->wait);
    hl_chunk_reader_fini(&c->chunks);
    free(c->held);
    free(c->line);
    hl_list_remove(&c->node);
    hl_list_remove(&c->paused);
    hl_slab_put(&w->clients, c);
    w->client_count--;
    hl_counter_sub(&w->metrics.connections_open, 1);
    for (size_t i = 0; i < w->listener_count; i++)
        hl_listener_poke(&w->listeners[i]);
}

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_client *c = HL_CONTAINER_OF(stream, struct hl_client, stream);
    if (event->kind == HL_STREAM_CLOSED)
        client_free(c);
    else
        hl_client_on_event(c, event);
}

/* A connection's memory; NULL: out of memory. */
static struct hl_client *client_new(struct hl_worker *w, bool is_spare)
{
    struct hl_client *c = hl_slab_get(&w->clients);
    if (!c)
        return NULL;
    memset(c, 0, sizeof(*c));
    c->worker = w;
    hl_client_detach(c);
    c->is_spare = is_spare;
    hl_list_init(&c->node);
    hl_list_init(&c->idle);
    hl_list_init(&c->paused);
    hl_timer_init(&c->timer, hl_client_on_timer);
    hl_auth_wait_init(&c->wait, hl_client_on_checked);
    if (hl_stream_init_tcp(&c->stream, &w->loop, &w->reader, on_event) != 0) {
        hl_slab_put(&w->clients, c);
        return NULL;
    }
    hl_list_push_back(&w->client_list, &c->node);
    w->client_count++;
    if (is_spare)
        w->spares_taken++;
    else
        w->places_taken++;
    hl_counter_add(&w->metrics.connections_accepted, 1);
    hl_counter_add(&w->metrics.connections_open, 1);
    return c;
}

static void client_start(struct hl_client *c, int error)
{
    if (error) {
        hl_client_close(c);
        return;
    }
    note_peer(c);
    hl_client_begin(c);
}

void hl_client_accept(struct hl_worker *w, struct hl_listener *listener)
{
    struct hl_client *c = client_new(w, w->places_taken >= w->client_max);
    if (c) /* else the connection waits until memory is free */
        client_start(c, hl_listener_accept(listener, &c->stream));
}

void hl_client_adopt(struct hl_worker *w, int fd)
{
    struct hl_client *c = client_new(w, false);
    int error = c ? uv_tcp_open(&c->stream.tcp, fd) : UV_ENOMEM;
    if (error)
        close(fd);
    if (c)
        client_start(c, error);
}
