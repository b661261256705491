/* resolver.c - look-ups by c-ares, a channel for each: libcurl's own would be a thread each, which
 * it joins on the multi's thread when the transfer ends, and c-ares can give up a channel, but no
 * single look-up of it.
 *
 * Thread: its owner's. Promise: no call waits for a name server; a look-up that is cut is gone.
 * Not here: which addresses may be reached (net/guard.c), how libcurl gets them (pin.c). */
#include "dns/resolver.h"

#include <netdb.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/str.h"

/* A server is asked again after 1, then 2, then 4 s; in turn with the others that resolv.conf
 * names. */
#define ANSWER_MS      1000
#define TRIES          3
#define NAME_MAX_BYTES 255

void hl_resolver_init(struct hl_resolver *r)
{
    *r = (struct hl_resolver){0};
    hl_list_init(&r->lookups);
    ares_library_init(ARES_LIB_INIT_ALL);
}

void hl_resolver_fini(struct hl_resolver *r)
{
    free(r->fds);
    free(r->owners);
    ares_library_cleanup();
}

void hl_lookup_init(struct hl_lookup *lookup)
{
    *lookup = (struct hl_lookup){0};
    hl_list_init(&lookup->node);
}

static void on_addresses(void *arg, int status, int timeouts, struct ares_addrinfo *result);

/* c-ares takes some for addresses that no other reader sees in them: 08.0.0.1. */
static bool is_number(struct hl_str name)
{
    size_t i = 0;
    while (i < name.n && (name.p[i] == '.' || (name.p[i] >= '0' && name.p[i] <= '9')))
        i++;
    return i == name.n;
}

enum hl_err hl_resolver_begin(
    struct hl_resolver *r, struct hl_lookup *lookup, struct hl_str name, uint64_t timeout_ms)
{
    char z[NAME_MAX_BYTES + 1];
    struct ares_options options = {.timeout = ANSWER_MS, .tries = TRIES};
    const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    lookup->why = NULL;
    lookup->n = 0;
    lookup->is_done = false;
    lookup->until_ms =
        hl_clock_mono_ms() + (timeout_ms < HL_LOOKUP_MAX_MS ? timeout_ms : HL_LOOKUP_MAX_MS);
    if (ares_init_options(&lookup->channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES) !=
        ARES_SUCCESS) {
        lookup->channel = NULL;
        return HL_ERR_NOMEM;
    }
    hl_list_push_back(&r->lookups, &lookup->node);
    if (name.n > NAME_MAX_BYTES || is_number(name)) {
        on_addresses(lookup, ARES_ENOTFOUND, 0, NULL);
        return HL_OK;
    }
    memcpy(z, name.p, name.n);
    z[name.n] = '\0';
    ares_getaddrinfo(lookup->channel, z, NULL, &hints, on_addresses, lookup);
    return HL_OK;
}

static const char *failure(int status)
{
    switch (status) {
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED:
        return "dns_failed: no name server answers";
    case ARES_ENOTFOUND:
        return "dns_failed: there is no such name";
    case ARES_ENODATA:
        return "dns_failed: the name has no address";
    default:
        return "dns_failed";
    }
}

/* c-ares has ended, perhaps before ares_getaddrinfo returned: only noted here. */
static void on_addresses(void *arg, int status, int timeouts, struct ares_addrinfo *result)
{
    struct hl_lookup *lookup = arg;
    (void)timeouts;
    lookup->is_done = true;
    const struct ares_addrinfo_node *node = result ? result->nodes : NULL;
    for (; node && lookup->n < HL_LOOKUP_ADDRESSES_MAX; node = node->ai_next)
        lookup->n += hl_ip_from_sockaddr(node->ai_addr, &lookup->addresses[lookup->n]);
    if (lookup->n == 0)
        lookup->why = failure(status == ARES_SUCCESS ? ARES_ENODATA : status);
    ares_freeaddrinfo(result);
}

void hl_resolver_cut(struct hl_lookup *lookup)
{
    if (!lookup->channel)
        return;
    hl_list_remove(&lookup->node);
    ares_destroy(lookup->channel);
    lookup->channel = NULL;
}

static bool reserve(struct hl_resolver *r, unsigned n)
{
    if (n <= r->cap)
        return true;
    unsigned cap = n > 2 * r->cap ? n : 2 * r->cap;
    struct curl_waitfd *fds = realloc(r->fds, cap * sizeof *fds);
    r->fds = fds ? fds : r->fds;
    struct hl_lookup **owners = realloc(r->owners, cap * sizeof(struct hl_lookup *));
    r->owners = owners ? owners : r->owners;
    if (fds && owners)
        r->cap = cap;
    return fds && owners;
}

/* Out of memory: a look-up without its sockets is read when its time is over. */
void hl_resolver_collect(struct hl_resolver *r)
{
    r->n = 0;
    HL_LIST_EACH (node, &r->lookups) {
        struct hl_lookup *lookup = HL_CONTAINER_OF(node, struct hl_lookup, node);
        ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
        unsigned bits = (unsigned)ares_getsock(lookup->channel, sockets, ARES_GETSOCK_MAXNUM);
        for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
            bool reads = ARES_GETSOCK_READABLE(bits, i), writes = ARES_GETSOCK_WRITABLE(bits, i);
            if (!(reads || writes) || !reserve(r, r->n + 1))
                break;
            int events = (reads ? CURL_WAIT_POLLIN : 0) | (writes ? CURL_WAIT_POLLOUT : 0);
            r->owners[r->n] = lookup;
            r->fds[r->n++] = (struct curl_waitfd){.fd = sockets[i], .events = (short)events};
        }
    }
}

uint64_t hl_resolver_wait_ms(const struct hl_resolver *r, uint64_t now_ms)
{
    uint64_t least = UINT64_MAX;
    HL_LIST_EACH (node, &r->lookups) {
        const struct hl_lookup *lookup = HL_CONTAINER_OF(node, struct hl_lookup, node);
        if (lookup->is_done || lookup->until_ms <= now_ms)
            return 0;
        struct timeval left;
        uint64_t wait = lookup->until_ms - now_ms;
        if (ares_timeout(lookup->channel, NULL, &left)) {
            uint64_t ms = (uint64_t)left.tv_sec * 1000 + (uint64_t)(left.tv_usec + 999) / 1000;
            wait = ms < wait ? ms : wait;
        }
        least = wait < least ? wait : least;
    }
    return least;
}

static void read_sockets(struct hl_resolver *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        const struct curl_waitfd *fd = &r->fds[i];
        if (fd->revents == 0)
            continue;
        bool reads = fd->revents & CURL_WAIT_POLLIN, writes = fd->revents & CURL_WAIT_POLLOUT;
        /* An error on the socket is found by reading it. */
        ares_process_fd(r->owners[i]->channel, reads || !writes ? fd->fd : ARES_SOCKET_BAD,
            writes ? fd->fd : ARES_SOCKET_BAD);
    }
    r->n = 0;
}

void hl_resolver_turn(struct hl_resolver *r)
{
    read_sockets(r);
    uint64_t now = hl_clock_mono_ms();
    HL_LIST_EACH_SAFE (node, &r->lookups) {
        struct hl_lookup *lookup = HL_CONTAINER_OF(node, struct hl_lookup, node);
        if (!lookup->is_done)
            ares_process_fd(lookup->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        if (!lookup->is_done && now < lookup->until_ms)
            continue;
        bool is_late = !lookup->is_done;
        hl_resolver_cut(lookup);
        if (is_late)
            lookup->why = failure(ARES_ETIMEOUT);
        r->on_end(r->self, lookup);
    }
}
