/* seat.h - one thread's access to auth: it answers who is calling. A token that was verified
 * before is answered from its own memory, without a lock and without a signature check. */
#ifndef HL_AUTH_SEAT_H
#define HL_AUTH_SEAT_H

#include "base/list.h"
#include "base/metric.h"

struct hl_auth;
struct hl_mailbox;
struct hl_msg;
struct hl_principal;
struct hl_refusal;
struct hl_str;

struct hl_auth_seat;

enum hl_auth_verdict {
    HL_AUTH_GRANTED,
    HL_AUTH_REFUSED,
    HL_AUTH_PENDING, /* the wait's on_checked will be called: once, unless it is cancelled */
};

/* Someone who waits for a signature to be checked. Embedded in the waiter. */
struct hl_auth_wait {
    struct hl_list node;
    /* The seat's thread, from hl_auth_seat_on_message. Ask again with the same token: the verdict is
     * there now, or, seldom, has to be waited for once more. */
    void (*on_checked)(struct hl_auth_wait *wait);
};

/* A place to ask from, for the one thread that reads `mailbox`: it gives messages of type
 * HL_AUTH_CHECKED to hl_auth_seat_on_message. NULL: out of memory. */
struct hl_auth_seat *hl_auth_seat_new(struct hl_auth *auth, struct hl_mailbox *mailbox);
void hl_auth_seat_free(struct hl_auth_seat *seat);                           /* NULL-safe */
void hl_auth_seat_on_message(struct hl_auth_seat *seat, struct hl_msg *msg); /* takes it */
#define HL_AUTH_CHECKED 220

void hl_auth_wait_init(struct hl_auth_wait *wait, void (*on_checked)(struct hl_auth_wait *wait));

/* Is `token` good, and does it reach `project` (empty: it is not asked)? GRANTED: `*who` is valid
 * until the next call with this seat. REFUSED: `*why`. PENDING: `wait` is in use, and is called
 * back. Never blocks, never calls back before it returns. */
enum hl_auth_verdict hl_auth_check(struct hl_auth_seat *seat, struct hl_str token,
    struct hl_str project, const struct hl_principal **who, struct hl_refusal *why,
    struct hl_auth_wait *wait);
/* Harmless when it does not wait. */
void hl_auth_cancel(struct hl_auth_wait *wait);

/* What one seat did. */
struct hl_auth_counts {
    struct hl_counter cached;     /* granted, from memory */
    struct hl_counter checked;    /* signatures that came back */
    struct hl_counter refused;    /* answers that were refusals, overflows included */
    struct hl_counter overflowed; /* too many were being checked */
};
const struct hl_auth_counts *hl_auth_seat_counts(const struct hl_auth_seat *seat);

#endif
