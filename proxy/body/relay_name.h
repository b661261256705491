/* relay_name.h - the address of another replica's host: one look-up at a time for each loop, however many ask,
 * so that a name server that hangs takes one thread of the pool; what was found is good for half a minute. */
#ifndef HL_BODY_RELAY_NAME_H
#define HL_BODY_RELAY_NAME_H

#include <uv.h>

#include "base/list.h"

#define HL_RELAY_HOST_MAX 255

/* One a loop. */
struct hl_relay_names {
    uv_loop_t *loop;
    struct hl_list waiting;
    uv_getaddrinfo_t *resolving;      /* NULL: no look-up is under way */
    char host[HL_RELAY_HOST_MAX + 1]; /* of the last one */
    struct sockaddr_storage found;    /* its address; no family: there is none */
    uint64_t found_ms;                /* uv_now */
};

/* Somebody who waits. */
struct hl_relay_name {
    struct hl_list node;
    char host[HL_RELAY_HOST_MAX + 1];
    /* NULL: it has none. */
    void (*on_found)(struct hl_relay_name *name, const struct sockaddr_storage *address);
};

void hl_relay_names_init(struct hl_relay_names *names, uv_loop_t *loop);
/* Nobody waits; a look-up ends without a word, before the loop does. */
void hl_relay_names_close(struct hl_relay_names *names);

/* Calls back, perhaps at once; without a port. `host` and `on_found` are set. */
void hl_relay_name_find(struct hl_relay_names *names, struct hl_relay_name *name);
/* It does not wait any more; harmless when it did not. */
void hl_relay_name_cut(struct hl_relay_name *name);

#endif
