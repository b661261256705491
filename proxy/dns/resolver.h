/* resolver.h - resolves names on the loop of whoever sleeps in curl_multi_poll (c-ares): no
 * thread, and only those who asked wait for a name server.
 *
 * Each look-up stands for itself: its own sockets, and resolv.conf, hosts and nsswitch.conf as they
 * are at that moment. Nothing is kept. It finds what getaddrinfo of glibc finds. One thread owns it. */
#ifndef HL_DNS_RESOLVER_H
#define HL_DNS_RESOLVER_H

#include <curl/curl.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "dns/walk.h"

#define HL_LOOKUP_ADDRESSES_MAX HL_QUESTION_ADDRESSES

struct hl_lookup {
    void *owner;     /* whose it is */
    const char *why; /* at its end: NULL, or what went wrong, static */
    struct hl_ip addresses[HL_LOOKUP_ADDRESSES_MAX]; /* in the order to try them (RFC 6724) */
    size_t n;

    /* private */
    struct hl_list node;
    struct hl_walk *walk; /* NULL: no name server is asked */
    char name[256];
    struct hl_name_sources sources;
    size_t at;       /* in the sources; the one that is asked */
    bool has_walked; /* then `walked` is what came of it */
    enum hl_name_status walked;
    uint64_t due_ms; /* monotonic */
    bool is_under_way;
};

struct hl_resolver {
    struct hl_list lookups; /* under way */
    struct curl_waitfd *fds;
    struct hl_lane **owners; /* of the fds */
    unsigned n, cap;
    /* Called by hl_resolver_turn alone; the look-up is over and may begin anew. */
    void (*on_end)(void *self, struct hl_lookup *lookup);
    void *self;
};

/* On the control thread, both: c-ares counts its users without a lock. */
void hl_resolver_init(struct hl_resolver *r);
void hl_resolver_fini(struct hl_resolver *r); /* nothing is under way */

void hl_lookup_init(struct hl_lookup *lookup);

/* Begins; on_end follows within `timeout_ms`, at most HL_WALK_MAX_MS. On failure (NOMEM) nothing
 * was begun. */
HL_MUST_CHECK enum hl_err hl_resolver_begin(
    struct hl_resolver *r, struct hl_lookup *lookup, struct hl_str name, uint64_t timeout_ms);
/* Ends it without a word; harmless when none is under way. */
void hl_resolver_cut(struct hl_lookup *lookup);

/* Collects what curl_multi_poll is to wait for: r->fds, r->n of them. */
void hl_resolver_collect(struct hl_resolver *r);
/* Milliseconds until hl_resolver_turn has something to do, whatever comes; UINT64_MAX: never. */
uint64_t hl_resolver_wait_ms(const struct hl_resolver *r, uint64_t now_ms);
/* After the wait for what was collected: reads it, asks again, ends what is over. */
void hl_resolver_turn(struct hl_resolver *r);

/* ---- the addresses that a libcurl transfer is to use, in the place of its own resolving ---- */

struct hl_pin {
    CURLSH *names; /* where libcurl finds the addresses: this transfer's alone; NULL: it has none */
    struct curl_slist resolve;
    char text[HL_LOOKUP_ADDRESSES_MAX * (HL_IP_TEXT + 3) + 16];
};

/* Whatever the URL's host is, these are its addresses until hl_pin_clear. `n` from 1 to
 * HL_LOOKUP_ADDRESSES_MAX; `port`: the URL's. `easy` borrows `pin`; it is in no multi handle. NOMEM. */
HL_MUST_CHECK enum hl_err hl_pin_set(
    struct hl_pin *pin, CURL *easy, uint16_t port, const struct hl_ip *addresses, size_t n);
/* Before `easy` is cleaned up. Harmless when nothing is set. */
void hl_pin_clear(struct hl_pin *pin, CURL *easy);

#endif
