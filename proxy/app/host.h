/* host.h - the addresses of the app's host: the one that HOOKLINE_APP_URL names, or those that its
 * name has just now. */
#ifndef HL_APP_HOST_H
#define HL_APP_HOST_H

#include <stdbool.h>
#include <uv.h>

struct hl_app_url;

#define HL_HOST_ADDRESSES_MAX 8

struct hl_host {
    uv_loop_t *loop;
    const struct hl_app_url *url;
    struct sockaddr_storage addresses[HL_HOST_ADDRESSES_MAX];
    unsigned address_count;
    uint64_t resolved_at; /* uv_now; 0: never */
    bool is_literal;      /* an address: nothing to resolve */
    uv_getaddrinfo_t *resolving;
    /* A look-up ended: 0 or libuv's error, after which the addresses are those of before. */
    void (*on_resolved)(struct hl_host *host, int status);
};

/* Borrows `url`. */
void hl_host_init(struct hl_host *host, uv_loop_t *loop, const struct hl_app_url *url,
    void (*on_resolved)(struct hl_host *host, int status));
/* A look-up under way ends without a word. */
void hl_host_close(struct hl_host *host);

/* There are no addresses, or they are no longer sure. */
bool hl_host_is_stale(const struct hl_host *host);
/* Begins a look-up unless one is under way. False: it cannot be made. */
bool hl_host_resolve(struct hl_host *host);

#endif
