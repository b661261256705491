/* host.c - the addresses of the app's host.
 * Owns: the look-up under way. Thread: the worker's; libuv's pool asks the resolver.
 * Promise: addresses stay until others are known.
 * Not here: which address is connected to (upstream_wait.c). */
#include "app/host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/choice.h"

#define RESOLVE_AGAIN_MS 5000

static void resolve_literal(struct hl_host *host)
{
    const struct hl_app_url *url = host->url;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&host->addresses[0];
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&host->addresses[0];
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
}

void hl_host_init(struct hl_host *host, uv_loop_t *loop, const struct hl_app_url *url,
    void (*on_resolved)(struct hl_host *host, int status))
{
    *host = (struct hl_host){.loop = loop, .url = url, .on_resolved = on_resolved};
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

bool hl_host_is_stale(const struct hl_host *host)
{
    if (host->url->is_unix || host->is_literal)
        return false;
    return host->resolved_at == 0 || uv_now(host->loop) - host->resolved_at > RESOLVE_AGAIN_MS;
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
    if (status == 0)
        host->address_count = 0;
    else
        HL_LOG(DEBUG, "the app's host name does not resolve", HL_LOG_TEXT("host", host->url->host),
            HL_LOG_TEXT("error", uv_strerror(status)));
    for (struct addrinfo *a = found; a && host->address_count < HL_HOST_ADDRESSES_MAX;
         a = a->ai_next)
        memcpy(&host->addresses[host->address_count++], a->ai_addr, a->ai_addrlen);
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
