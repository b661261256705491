/* client_body.h - the present request's body: taken off the connection's bytes, given to its taker. */
#ifndef HL_CALLER_CLIENT_BODY_H
#define HL_CALLER_CLIENT_BODY_H

#include <stddef.h>

struct hl_client;
struct hl_refusal;

/* Gives body bytes to the taker as long as it has room. Returns how many were used; all of them with
 * a fault: the call cannot go on then. `fault->status` stays 0 without one. */
size_t hl_client_body_take(struct hl_client *c, const char *p, size_t n, struct hl_refusal *fault);

#endif
