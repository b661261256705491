/* callers.c - the callers of one worker: connections come and go.
 * Owns: their memory and places. Thread: the worker's.
 * Promise: no more connections are open than HOOKLINE_MAX_CONNECTIONS and a few for health checks, which
 * have a place, and a descriptor, when callers have none.
 * Not here: what happens on a connection in between (client.c). */
#include "caller/callers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "caller/client.h"
#include "config/config.h"
#include "net/listener.h"
#include "tls/tls.h"

#define SPARES        16 /* connections beyond a worker's share of HOOKLINE_MAX_CONNECTIONS */
#define NOTE_AGAIN_MS 60000
#define SLAB_CHUNK    64

/* Once a minute, over all workers. */
static void note_full(struct hl_callers *callers)
{
    uint64_t now = uv_now(callers->loop) + 1, last = atomic_load(callers->full_noted_ms);
    if ((last == 0 || now - last >= NOTE_AGAIN_MS) &&
        atomic_compare_exchange_strong(callers->full_noted_ms, &last, now))
        HL_LOG(WARN,
            "HOOKLINE_MAX_CONNECTIONS callers are connected: new ones replace idle ones, or get "
            "503",
            HL_LOG_INT("max", callers->config->max_connections));
}

/* Closes the one that has been between calls for longest. One that has begun a call since leaves
 * the list here and comes back after it, so that calls themselves cost nothing. `spares_new`: a first
 * request may be on its way, and who has come just now would get no answer at all. */
static bool shed_idle(struct hl_callers *callers, bool spares_new)
{
    HL_LIST_EACH_SAFE (node, &callers->idle) {
        struct hl_client *c = HL_CONTAINER_OF(node, struct hl_client, idle);
        if (spares_new && !c->has_had_call)
            continue;
        hl_list_remove(node);
        if (hl_stream_is_blocked(&c->stream) || !hl_client_is_idle(c))
            continue;
        hl_counter_add(&callers->metrics->connections_shed, 1);
        hl_client_close(c);
        return true;
    }
    return false;
}

/* Closes a spare one whose answer the kernel has. */
static bool shed_answered(struct hl_callers *callers)
{
    HL_LIST_EACH (node, &callers->answered) {
        struct hl_client *c = HL_CONTAINER_OF(node, struct hl_client, idle);
        if (hl_stream_is_blocked(&c->stream))
            continue;
        hl_client_close(c);
        return true;
    }
    return false;
}

bool hl_callers_have_room(struct hl_callers *callers)
{
    if (callers->places_taken < callers->max)
        return true;
    note_full(callers);
    return shed_idle(callers, false) || callers->spares_taken < SPARES;
}

bool hl_callers_make_room(struct hl_callers *callers)
{
    return shed_answered(callers) || shed_idle(callers, true);
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
    c->is_peer_trusted = hl_cidr_list_has(&c->callers->config->trusted_proxies, &ip);
}

static void client_free(struct hl_client *c)
{
    struct hl_callers *callers = c->callers;
    hl_timer_fini(callers->wheel, &c->timer);
    hl_auth_cancel(&c->wait);
    hl_message_reader_fini(&c->messages);
    hl_buf_fini(&c->held);
    free(c->line);
    hl_list_remove(&c->node);
    hl_list_remove(&c->paused);
    hl_slab_put(&callers->memory, c);
    callers->count--;
    hl_counter_sub(&callers->metrics->connections_open, 1);
    callers->on_closed(callers);
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
static struct hl_client *client_new(struct hl_callers *callers, bool is_spare)
{
    struct hl_client *c = hl_slab_get_zeroed(&callers->memory);
    if (!c)
        return NULL;
    c->callers = callers;
    hl_client_detach(c);
    hl_message_reader_init(&c->messages, &callers->rules);
    c->is_spare = is_spare;
    hl_list_init(&c->node);
    hl_list_init(&c->idle);
    hl_list_init(&c->paused);
    hl_timer_init(&c->timer, hl_client_on_timer);
    hl_auth_wait_init(&c->wait, hl_client_on_checked);
    if (hl_stream_init_tcp(&c->stream, callers->loop, callers->reader, on_event) != 0) {
        hl_slab_put(&callers->memory, c);
        return NULL;
    }
    hl_list_push_back(&callers->list, &c->node);
    callers->count++;
    if (is_spare)
        callers->spares_taken++;
    else
        callers->places_taken++;
    hl_counter_add(&callers->metrics->connections_accepted, 1);
    hl_counter_add(&callers->metrics->connections_open, 1);
    return c;
}

static void client_start(struct hl_client *c, int error)
{
    if (error) {
        hl_client_close(c);
        return;
    }
    note_peer(c);
    if (c->callers->tls && hl_tls_accept(c->callers->tls, HL_TLS_CALLERS, &c->stream) != HL_OK)
        hl_client_close(c);
    else
        hl_client_begin(c);
}

/* What is open below `fd_max` is as much as callers may have, for each of their calls takes one more
 * descriptor at least. */
static bool exceeds_share(struct hl_callers *callers, int fd)
{
    return callers->fd_max > 0 && fd >= callers->fd_max && !shed_idle(callers, true);
}

void hl_callers_accept(struct hl_callers *callers, struct hl_listener *listener)
{
    bool is_spare = callers->places_taken >= callers->max || listener->is_from_reserve ||
                    exceeds_share(callers, listener->accepted);
    struct hl_client *c = client_new(callers, is_spare);
    if (c) /* else the connection waits until memory is free */
        client_start(c, hl_listener_accept(listener, &c->stream));
}

void hl_callers_adopt(struct hl_callers *callers, int fd)
{
    struct hl_client *c = client_new(callers, false);
    int error = c ? uv_tcp_open(&c->stream.tcp, fd) : UV_ENOMEM;
    if (error)
        close(fd);
    if (c)
        client_start(c, error);
}

/* ---- all together ---- */

void hl_callers_init(struct hl_callers *callers)
{
    hl_list_init(&callers->list);
    hl_list_init(&callers->idle);
    hl_list_init(&callers->answered);
    hl_departures_init(&callers->departures, callers->wheel, hl_client_lose);
    hl_strangers_init(&callers->strangers, callers->wheel);
    callers->has_access_log = callers->config->access_log;
    hl_slab_init(&callers->memory, sizeof(struct hl_client), SLAB_CHUNK);
}

void hl_callers_fini(struct hl_callers *callers)
{
    hl_slab_fini(&callers->memory);
}

void hl_callers_close(struct hl_callers *callers)
{
    callers->is_draining = callers->is_closed = true;
    HL_LIST_EACH_SAFE (node, &callers->list)
        hl_client_close_idle(HL_CONTAINER_OF(node, struct hl_client, node));
}

void hl_callers_cut(struct hl_callers *callers)
{
    callers->is_draining = true;
    HL_LIST_EACH_SAFE (node, &callers->list)
        hl_client_cut(HL_CONTAINER_OF(node, struct hl_client, node));
}
