/* client_body.h - the present request's body: taken off the connection's bytes, given to its taker. */
#ifndef HL_CALLER_CLIENT_BODY_H
#define HL_CALLER_CLIENT_BODY_H

#include "caller/client.h"

/* What is wrong with a body: the call cannot go on. `status` 0: nothing. */
struct hl_body_fault {
    uint16_t status;
    const char *detail;
};

/* Gives body bytes to the taker as long as it has room. Returns how many were used; all of them with
 * a fault. */
size_t hl_client_body_take(
    struct hl_client *c, const char *p, size_t n, struct hl_body_fault *fault);

#endif
