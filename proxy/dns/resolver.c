/* resolver.c - look-ups on a loop: libcurl's own would be a thread each, which it joins on the multi's
 * thread when the transfer ends.
 *
 * Thread: its owner's. Promise: no call waits for a name server; a look-up that is cut is gone.
 * Not here: whom to ask for what (walk.c), a thread that waits for its look-up (fetcher.c), which addresses may be reached (net/guard.c), that libcurl resolves nothing by itself
 * (CURLOPT_RESOLVER_START_FUNCTION). */
#include "dns/resolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/str.h"
#include "dns/hosts.h"
#include "dns/order.h"
#include "net/guard.h"

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

/* Readers of addresses differ in some: 08.0.0.1. */
static bool is_number(struct hl_str name)
{
    size_t i = 0;
    while (i < name.n && (name.p[i] == '.' || (name.p[i] >= '0' && name.p[i] <= '9')))
        i++;
    return i == name.n;
}

static enum hl_name_status find_in_files(struct hl_lookup *lookup)
{
    bool is_there;
    lookup->n = hl_hosts_find(
        hl_str_from(lookup->name), lookup->addresses, HL_LOOKUP_ADDRESSES_MAX, &is_there);
    hl_order_addresses(lookup->addresses, lookup->n);
    if (lookup->n > 0)
        return HL_NAME_FOUND;
    return is_there ? HL_NAME_ABSENT : HL_NAME_UNAVAILABLE;
}

/* This machine, whatever a name server would say. */
static bool find_local(struct hl_lookup *lookup)
{
    if (!hl_hosts_is_local(hl_str_from(lookup->name)))
        return false;
    lookup->n = hl_ip_parse(HL_STR("127.0.0.1"), &lookup->addresses[0]);
    lookup->n += hl_ip_parse(HL_STR("::1"), &lookup->addresses[lookup->n]);
    hl_order_addresses(lookup->addresses, lookup->n);
    return true;
}

/* What a source says that needs not be waited for. */
static enum hl_name_status ask_source(struct hl_lookup *lookup, const struct hl_name_source *source)
{
    if (source->kind == HL_NAME_BY_FILES)
        return find_in_files(lookup);
    if (source->kind != HL_NAME_BY_DNS)
        return HL_NAME_UNAVAILABLE;
    return find_local(lookup) ? HL_NAME_FOUND : lookup->walked;
}

static bool must_walk(const struct hl_lookup *lookup)
{
    return lookup->at < lookup->sources.n &&
           lookup->sources.of[lookup->at].kind == HL_NAME_BY_DNS && !lookup->has_walked &&
           !hl_hosts_is_local(hl_str_from(lookup->name));
}

/* As far along the sources as nothing is to be waited for. What the last one that was asked has found counts. */
static void go_on(struct hl_lookup *lookup)
{
    static const char no_such_name[] = "dns_failed: there is no such name";
    bool ends = false;
    while (!ends && lookup->at < lookup->sources.n && !must_walk(lookup)) {
        const struct hl_name_source *source = &lookup->sources.of[lookup->at++];
        bool is_walked = source->kind == HL_NAME_BY_DNS && lookup->has_walked;
        lookup->n = is_walked ? lookup->n : 0;
        ends = source->ends[ask_source(lookup, source)];
    }
    if (ends)
        lookup->at = lookup->sources.n;
    if (lookup->at < lookup->sources.n || lookup->n > 0 || find_local(lookup))
        lookup->why = NULL;
    else if (!lookup->why)
        lookup->why = no_such_name;
}

enum hl_err hl_resolver_begin(
    struct hl_resolver *r, struct hl_lookup *lookup, struct hl_str name, uint64_t timeout_ms)
{
    struct hl_resolv_conf conf;
    uint64_t now_ms = hl_clock_mono_ms();
    lookup->why = NULL;
    lookup->n = 0;
    lookup->at = 0;
    lookup->has_walked = false;
    lookup->due_ms = now_ms;
    hl_resolv_conf_read(&conf);
    lookup->sources = conf.sources;
    if (name.n == 0 || is_number(name) || name.n >= sizeof(lookup->name)) {
        lookup->sources.n = 0;
        name.n = 0;
    }
    hl_str_put_cut(lookup->name, sizeof(lookup->name), name);
    go_on(lookup);
    if (must_walk(lookup)) {
        lookup->walk = hl_walk_new(&conf, name, now_ms, timeout_ms);
        if (!lookup->walk)
            return HL_ERR_NOMEM;
    }
    lookup->is_under_way = true;
    hl_list_push_back(&r->lookups, &lookup->node);
    return HL_OK;
}

void hl_resolver_cut(struct hl_lookup *lookup)
{
    if (!lookup->is_under_way)
        return;
    lookup->is_under_way = false;
    hl_list_remove(&lookup->node);
    hl_walk_free(lookup->walk);
    lookup->walk = NULL;
}

static bool reserve(struct hl_resolver *r, unsigned n)
{
    if (n <= r->cap)
        return true;
    unsigned cap = n > 2 * r->cap ? n : 2 * r->cap;
    struct curl_waitfd *fds = realloc(r->fds, cap * sizeof *fds);
    r->fds = fds ? fds : r->fds;
    struct hl_lane **owners = realloc(r->owners, cap * sizeof(struct hl_lane *));
    r->owners = owners ? owners : r->owners;
    if (fds && owners)
        r->cap = cap;
    return fds && owners;
}

/* Out of memory: a lane without its sockets is read when its time is over. */
static void collect_lane(struct hl_resolver *r, struct hl_lane *lane)
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    unsigned bits = (unsigned)ares_getsock(lane->channel, sockets, ARES_GETSOCK_MAXNUM);
    for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        bool reads = ARES_GETSOCK_READABLE(bits, i), writes = ARES_GETSOCK_WRITABLE(bits, i);
        if (!(reads || writes) || !reserve(r, r->n + 1))
            return;
        int events = (reads ? CURL_WAIT_POLLIN : 0) | (writes ? CURL_WAIT_POLLOUT : 0);
        r->owners[r->n] = lane;
        r->fds[r->n++] = (struct curl_waitfd){.fd = sockets[i], .events = (short)events};
    }
}

void hl_resolver_collect(struct hl_resolver *r)
{
    r->n = 0;
    HL_LIST_EACH (node, &r->lookups) {
        struct hl_lookup *lookup = HL_CONTAINER_OF(node, struct hl_lookup, node);
        size_t n = 0;
        struct hl_lane *lanes = lookup->walk ? hl_walk_lanes(lookup->walk, &n) : NULL;
        for (size_t i = 0; i < n; i++)
            collect_lane(r, &lanes[i]);
    }
}

static uint64_t lane_wait_ms(const struct hl_lane *lane)
{
    struct timeval left;
    return ares_timeout(lane->channel, NULL, &left)
               ? (uint64_t)left.tv_sec * 1000 + (uint64_t)(left.tv_usec + 999) / 1000
               : UINT64_MAX;
}

uint64_t hl_resolver_wait_ms(const struct hl_resolver *r, uint64_t now_ms)
{
    uint64_t least = UINT64_MAX;
    HL_LIST_EACH (node, &r->lookups) {
        const struct hl_lookup *lookup = HL_CONTAINER_OF(node, struct hl_lookup, node);
        size_t n = 0;
        if (lookup->due_ms <= now_ms)
            return 0;
        uint64_t wait = lookup->due_ms - now_ms;
        const struct hl_lane *lanes = lookup->walk ? hl_walk_lanes(lookup->walk, &n) : NULL;
        for (size_t i = 0; i < n; i++) {
            uint64_t ms = lane_wait_ms(&lanes[i]);
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

/* False: it goes on. */
static bool has_ended(struct hl_lookup *lookup, uint64_t now_ms)
{
    struct hl_walk_end end = {.n = 0};
    size_t n;
    if (!lookup->walk)
        return true;
    struct hl_lane *lanes = hl_walk_lanes(lookup->walk, &n);
    for (size_t i = 0; i < n; i++)
        ares_process_fd(lanes[i].channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    if (hl_walk_step(lookup->walk, now_ms, &lookup->due_ms, &end) == HL_WALK_ON)
        return false;
    memcpy(lookup->addresses, end.addresses, end.n * sizeof(*end.addresses));
    lookup->n = end.n;
    lookup->why = end.why;
    lookup->has_walked = true;
    lookup->walked = end.n > 0       ? HL_NAME_FOUND
                     : end.is_absent ? HL_NAME_ABSENT
                                     : HL_NAME_UNAVAILABLE;
    go_on(lookup);
    return true;
}

void hl_resolver_turn(struct hl_resolver *r)
{
    read_sockets(r);
    uint64_t now_ms = hl_clock_mono_ms();
    HL_LIST_EACH_SAFE (node, &r->lookups) {
        struct hl_lookup *lookup = HL_CONTAINER_OF(node, struct hl_lookup, node);
        if (!has_ended(lookup, now_ms))
            continue;
        hl_resolver_cut(lookup);
        r->on_end(r->self, lookup);
    }
}

/* ---- addresses in a table of one transfer's own: the multi handle's is that of all its
 * transfers. There the entry may stand for any name, so that nothing hangs on how libcurl spells the URL's ---- */

static void write_entry(struct hl_pin *pin, uint16_t port, const struct hl_ip *addresses, size_t n)
{
    const size_t cap = sizeof(pin->text);
    char text[HL_IP_TEXT];
    size_t used = (size_t)snprintf(pin->text, cap, "*:%u:", port);
    for (size_t i = 0; i < n; i++) {
        bool is_v4 = hl_ip_is_v4(&addresses[i]);
        hl_ip_format(&addresses[i], text);
        used += (size_t)snprintf(
            pin->text + used, cap - used, is_v4 ? "%s%s" : "%s[%s]", i > 0 ? "," : "", text);
        HL_ASSERT(used < cap);
    }
}

enum hl_err hl_pin_set(
    struct hl_pin *pin, CURL *easy, uint16_t port, const struct hl_ip *addresses, size_t n)
{
    HL_ASSERT(n > 0 && n <= HL_LOOKUP_ADDRESSES_MAX);
    hl_pin_clear(pin, easy);
    write_entry(pin, port, addresses, n);
    pin->resolve = (struct curl_slist){.data = pin->text};
    pin->names = curl_share_init();
    bool is_set =
        pin->names &&
        curl_share_setopt(pin->names, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) == CURLSHE_OK &&
        curl_easy_setopt(easy, CURLOPT_SHARE, pin->names) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_RESOLVE, &pin->resolve) == CURLE_OK;
    return is_set ? HL_OK : HL_ERR_NOMEM;
}

void hl_pin_clear(struct hl_pin *pin, CURL *easy)
{
    if (!pin->names)
        return;
    curl_easy_setopt(easy, CURLOPT_RESOLVE, NULL);
    curl_easy_setopt(easy, CURLOPT_SHARE, NULL);
    curl_share_cleanup(pin->names);
    pin->names = NULL;
}
