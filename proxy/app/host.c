/* host.c - the addresses of the app's host.
 * Owns: the look-up under way. Thread: the worker's; libuv's pool asks the resolver.
 * Promise: addresses stay until others are known, and the one that answered stays the first.
 * Not here: which address is connected to (upstream_wait.c). */
#include "app/host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/choice.h"

static void resolve_literal(struct hl_host *host)
{
    const struct hl_app_url *url = host->url;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&host->addresses[0].socket;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&host->addresses[0].socket;
    if (inet_pton(AF_INET, url->host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(url->port);
    } else if (inet_pton(AF_INET6, url->host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(url->port);
    } else {
        return;
    }
    host->is_literal = true;
    host->address_count = 1;
    host->addresses[0].mark = host->marks = 1;
}

void hl_host_init(struct hl_host *host, uv_loop_t *loop, const struct hl_app_url *url,
    void (*on_resolved)(struct hl_host *host, int status))
{
    *host = (struct hl_host){.loop = loop, .url = url, .last_mark = 1, .on_resolved = on_resolved};
    if (!url->is_unix)
        resolve_literal(host);
}

void hl_host_close(struct hl_host *host)
{
    if (!host->resolving)
        return;
    uv_cancel((uv_req_t *)host->resolving);
    host->resolving->data = NULL;
    host->resolving = NULL;
}

bool hl_host_is_stale(const struct hl_host *host, uint64_t age_ms)
{
    if (host->url->is_unix || host->is_literal)
        return false;
    return host->resolved_at == 0 || uv_now(host->loop) - host->resolved_at > age_ms;
}

const struct hl_host_address *hl_host_next(const struct hl_host *host, uint64_t marks)
{
    for (unsigned i = 0; i < host->address_count; i++)
        if ((marks & host->addresses[i].mark) == 0)
            return &host->addresses[i];
    return NULL;
}

bool hl_host_prefer(struct hl_host *host, uint64_t mark)
{
    host->best = mark;
    for (unsigned i = 1; i < host->address_count; i++)
        if (host->addresses[i].mark == mark) {
            struct hl_host_address best = host->addresses[i];
            memmove(&host->addresses[1], &host->addresses[0], i * sizeof(best));
            host->addresses[0] = best;
            return true;
        }
    return false;
}

/* ---- a look-up ---- */

static uint64_t find_mark(
    const struct hl_host_address *addresses, unsigned n, const struct sockaddr_storage *socket)
{
    for (unsigned i = 0; i < n; i++)
        if (memcmp(&addresses[i].socket, socket, sizeof(*socket)) == 0)
            return addresses[i].mark;
    return 0;
}

/* `before`: the host as it was. */
static void add(struct hl_host *host, const struct hl_host *before, const struct addrinfo *a)
{
    struct hl_host_address *to = &host->addresses[host->address_count];
    memset(to, 0, sizeof(*to));
    memcpy(&to->socket, a->ai_addr, a->ai_addrlen);
    if (find_mark(host->addresses, host->address_count, &to->socket) != 0)
        return;
    to->mark = find_mark(before->addresses, before->address_count, &to->socket);
    if (to->mark == 0) {
        do
            host->last_mark = host->last_mark << 1 | host->last_mark >> 63;
        while (host->last_mark & (before->marks | host->marks));
        to->mark = host->last_mark;
        host->added |= to->mark;
    }
    host->marks |= to->mark;
    host->address_count++;
}

static const struct addrinfo *skip(const struct addrinfo *a, int family, bool is_same)
{
    while (a && (a->ai_family == family) != is_same)
        a = a->ai_next;
    return a;
}

/* The families take turns (RFC 8305 4): all addresses of one may be out of reach. */
static void take_addresses(struct hl_host *host, const struct addrinfo *found)
{
    struct hl_host before = *host;
    int family = found->ai_family;
    const struct addrinfo *next[2] = {found, skip(found, family, false)};
    host->address_count = 0;
    host->marks = 0;
    for (unsigned turn = 0; host->address_count < HL_HOST_ADDRESSES_MAX; turn ^= 1) {
        if (!next[turn])
            turn ^= 1;
        if (!next[turn])
            break;
        add(host, &before, next[turn]);
        next[turn] = skip(next[turn]->ai_next, family, turn == 0);
    }
    host->is_cut = next[0] || next[1];
    hl_host_prefer(host, host->best);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct hl_host *host = request->data;
    free(request);
    if (!host) { /* it was closed meanwhile */
        uv_freeaddrinfo(found);
        return;
    }
    host->resolving = NULL;
    host->resolved_at = uv_now(host->loop);
    host->added = 0;
    if (status == 0 && found)
        take_addresses(host, found);
    else
        HL_LOG(DEBUG, "the app's host name does not resolve", HL_LOG_TEXT("host", host->url->host),
            HL_LOG_TEXT("error", uv_strerror(status)));
    uv_freeaddrinfo(found);
    host->on_resolved(host, status);
}

bool hl_host_resolve(struct hl_host *host)
{
    if (host->resolving)
        return true;
    uv_getaddrinfo_t *request = malloc(sizeof(*request));
    if (!request)
        return false;
    char port[8];
    snprintf(port, sizeof(port), "%u", host->url->port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    request->data = host;
    if (uv_getaddrinfo(host->loop, request, on_resolved, host->url->host, port, &hints) != 0) {
        free(request);
        return false;
    }
    host->resolving = request;
    return true;
}
