/* allowance.h - what one call has of its account's limits: a place among those inside the app, and a call
 * of its rate. Thread: the run's worker; what is counted is the process's (store/quota.h). */
#ifndef HL_RUN_ALLOWANCE_H
#define HL_RUN_ALLOWANCE_H

#include "store/quota.h"
#include "http/field_value.h"
#include "http/refusal.h"

struct hl_plan;

struct hl_allowance {
    struct hl_quota *quota; /* NULL: its caller has no limits */
    bool has_place, is_counted;
    bool is_over; /* of the rate: if the call's Idempotency-Key is not known it is refused */
};

enum hl_allowance_verdict {
    HL_ALLOWANCE_TAKEN,
    HL_ALLOWANCE_REFUSED, /* the limit `*hit` is in the way */
    HL_ALLOWANCE_LATER,   /* what is left of the limit `*hit` is not known yet: hl_quota_await */
};
/* `quota` has limits. Nothing is taken unless it says so. */
HL_MUST_CHECK enum hl_allowance_verdict hl_allowance_take(
    struct hl_allowance *a, struct hl_quota *quota, const struct hl_plan *plan, enum hl_limit *hit);
/* No longer inside the app. Harmless when it is not. */
static inline void hl_allowance_leave(struct hl_allowance *a)
{
    if (a->has_place) {
        a->has_place = false;
        hl_quota_leave(a->quota);
    }
}
/* Nothing came of the call, or it was another's repetition: as if it had not been made. */
void hl_allowance_undo(struct hl_allowance *a);

/* The answer to a call beyond `limit`; it points into `room`. */
struct hl_allowance_room {
    char detail[256];
    char fields[HL_RATE_LIMIT_MAX];
};
struct hl_refusal hl_allowance_refusal(
    const struct hl_quota *quota, enum hl_limit limit, struct hl_allowance_room *room);

#endif
