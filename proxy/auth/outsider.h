/* outsider.h - the subjects of tokens from outside, where these have limits (HOOKLINE_JWT_LIMITS,
 * HOOKLINE_JWT_LIMIT_CLAIMS): what each has used of them.
 *
 * A lock guards them. It is taken for each token that a thread has not seen before, and never on the way of one
 * that it has: those look at `generation`. At most HL_OUTSIDERS_MAX are known, or as many as have calls inside the
 * app: for a new one another is forgotten that has none there and was not heard of for longest. */
#ifndef HL_AUTH_OUTSIDER_H
#define HL_AUTH_OUTSIDER_H

#include <pthread.h>

#include "base/id_map.h"
#include "base/list.h"
#include "store/quota.h"

#define HL_OUTSIDERS_MAX 10000

/* It stays until its list goes, but may become another's. */
struct hl_outsider {
    struct hl_list node;
    struct hl_id digest; /* of its identity */
    struct hl_quota quota;
    _Atomic uint32_t generation; /* another one: it is another's now */
    _Atomic bool is_used;        /* since it was last looked at to be forgotten */
};

struct hl_outsiders {
    pthread_mutex_t lock;
    struct hl_id_map map;
    struct hl_list all; /* the one to forget next is first */
    size_t n;
    struct hl_lender *lender; /* of the store's; NULL: nobody shares rates */
};

void hl_outsiders_init(struct hl_outsiders *outsiders, struct hl_lender *lender);
void hl_outsiders_fini(struct hl_outsiders *outsiders);

/* Whose identity (principal.h) that is, with these limits unless later ones are known. NULL: out of memory. */
struct hl_outsider *hl_outsiders_meet(struct hl_outsiders *outsiders, struct hl_str identity,
    const struct hl_limits *limits, uint32_t *generation);
/* It was heard of. Any thread. */
static inline void hl_outsider_note_use(struct hl_outsider *outsider)
{
    atomic_store_explicit(&outsider->is_used, true, memory_order_relaxed);
}

#endif
