/* walk.h - the lookup of one name along the search list, with all servers, in both families. */
#ifndef HL_DNS_WALK_H
#define HL_DNS_WALK_H

#include "dns/question.h"

struct hl_walk;

enum hl_walk_state { HL_WALK_ON, HL_WALK_FOUND, HL_WALK_ENDED };

struct hl_walk_end {
    struct hl_ip addresses[HL_QUESTION_ADDRESSES]; /* FOUND: in the order to try them */
    size_t n;
    const char *why; /* ENDED: static */
    bool is_absent;  /* ENDED: that the name has no address is known */
};

/* As long as one may last. */
#define HL_WALK_MAX_MS 30000

/* Takes `conf` as it is now. Lasts about as long as getaddrinfo would, but `limit_ms` and HL_WALK_MAX_MS at
 * most. NULL: out of memory. */
struct hl_walk *hl_walk_new(
    const struct hl_resolv_conf *conf, struct hl_str name, uint64_t now_ms, uint64_t limit_ms);
void hl_walk_free(struct hl_walk *walk); /* NULL-safe */

/* The lanes that are open, for whoever waits for their sockets. */
struct hl_lane *hl_walk_lanes(struct hl_walk *walk, size_t *n);

/* Takes up what the lanes have heard and what the time brings. With ON, `*due_ms` is when it is to be
 * called again, whatever comes. After the limit it does not go on. */
enum hl_walk_state hl_walk_step(
    struct hl_walk *walk, uint64_t now_ms, uint64_t *due_ms, struct hl_walk_end *end);

#endif
