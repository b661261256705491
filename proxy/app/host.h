/* host.h - the addresses of the app's host: the one that HOOKLINE_APP_URL names, or those that its
 * name has just now. */
#ifndef HL_APP_HOST_H
#define HL_APP_HOST_H

#include <stdbool.h>
#include <uv.h>

struct hl_app_url;

#define HL_HOST_ADDRESSES_MAX 8

/* Old addresses: a connect asks for others meanwhile, one that waits long or has failed asks sooner. */
#define HL_HOST_FRESH_MS 5000
#define HL_HOST_DOUBT_MS 1000
/* While connections are kept, and none is made, it may have moved all the same. */
#define HL_HOST_KEPT_MS 30000

struct hl_host_address {
    struct sockaddr_storage socket;
    uint64_t mark; /* one bit; no other address that the host has, or had just before, has it */
};

struct hl_host {
    uv_loop_t *loop;
    const struct hl_app_url *url;
    struct hl_host_address addresses[HL_HOST_ADDRESSES_MAX]; /* in the order to try them */
    unsigned address_count;
    uint64_t marks;       /* of all of them */
    uint64_t added;       /* of those that were not there before the last look-up */
    uint64_t best;        /* of the one that answered last; 0: none has */
    uint64_t last_mark;   /* given */
    uint64_t resolved_at; /* uv_now; 0: never */
    bool is_literal;      /* an address: nothing to resolve */
    bool is_cut;          /* the name has more addresses than there are here */
    uv_getaddrinfo_t *resolving;
    /* A look-up ended: 0 or libuv's error, after which the addresses are those of before. */
    void (*on_resolved)(struct hl_host *host, int status);
};

/* Borrows `url`. */
void hl_host_init(struct hl_host *host, uv_loop_t *loop, const struct hl_app_url *url,
    void (*on_resolved)(struct hl_host *host, int status));
/* A look-up under way ends without a word. */
void hl_host_close(struct hl_host *host);

/* There are no addresses, or they are older than that and may have changed. */
bool hl_host_is_stale(const struct hl_host *host, uint64_t age_ms);
/* Begins a look-up unless one is under way. False: it cannot be made. */
bool hl_host_resolve(struct hl_host *host);

/* The first that is not among `marks`, or NULL. */
const struct hl_host_address *hl_host_next(const struct hl_host *host, uint64_t marks);
/* It answered: it is the first from now on, also after look-ups that have it. True: it was not. */
bool hl_host_prefer(struct hl_host *host, uint64_t mark);

#endif
