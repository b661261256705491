/* stranger.h - peers that speak another protocol than their port: the first of each told in the log, the
 * others counted. Those that speak TLS, HTTP/2 or the PROXY protocol to a port of plain HTTP/1.1 are known by their first
 * bytes. */
#ifndef HL_CALLER_STRANGER_H
#define HL_CALLER_STRANGER_H

#include <stdbool.h>

#include "base/str.h"
#include "http/refusal.h"
#include "loop/wheel.h"
#include "net/address.h"

/* What such bytes are refused for; NONE: they begin with neither. */
enum hl_refusal_cause hl_stranger_find(struct hl_str bytes);

#define HL_STRANGERS 64 /* peers in one hour; of what is beyond only the number is said */

struct hl_stranger {
    char peer[HL_IP_TEXT];
    enum hl_refusal_cause cause;
    uint64_t left_out;
};

/* One worker's. */
struct hl_strangers {
    struct hl_wheel *wheel;
    struct hl_timer timer; /* armed while an hour runs */
    size_t n;
    struct hl_stranger known[HL_STRANGERS];
    uint64_t left_out; /* of peers that have no place */
};

void hl_strangers_init(struct hl_strangers *strangers, struct hl_wheel *wheel);
/* What was counted and not said yet is said. The wheel is still open. */
void hl_strangers_fini(struct hl_strangers *strangers);
/* `peer` was refused for that: what hl_stranger_find says, or PLAIN_TEXT on a port of TLS. */
void hl_strangers_note(
    struct hl_strangers *strangers, const char *peer, enum hl_refusal_cause cause);

#endif
