/* quota_blocked.h - subjects whose queued runs may not start for now, because their accounts' quota of
 * calls inside the app is used up. Found out when a run of theirs has its turn, and forgotten when
 * something may have ended; meanwhile others pass. The store's thread owns it. */
#ifndef HL_STORE_QUOTA_BLOCKED_H
#define HL_STORE_QUOTA_BLOCKED_H

#include "base/err.h"
#include "base/priority.h"
#include "store/quota.h"

struct hl_key;

struct hl_quota_blocked {
    struct hl_quotas *_Atomic *quotas; /* borrowed; NULL: nobody has any */
    struct hl_quota_bell *bell; /* borrowed: rings when one that is blocked may start again */
    uint64_t *subjects;
    size_t n, cap;
    uint64_t queued[HL_PRIORITIES]; /* of theirs */
};

void hl_quota_blocked_fini(struct hl_quota_blocked *b);
/* All may start again, as far as is known. */
void hl_quota_blocked_forget(struct hl_quota_blocked *b);
bool hl_quota_blocked_has(const struct hl_quota_blocked *b, uint64_t subject);
/* The first of them; NULL: nobody has, or had, a max_running. */
static inline struct hl_quota *hl_quota_blocked_first(struct hl_quotas *quotas)
{
    return quotas ? atomic_load(&quotas->first) : NULL;
}
/* Whose subject that is; NULL: nobody's with such a limit. `key` hashes subjects. */
struct hl_quota *hl_quota_blocked_find(
    struct hl_quotas *quotas, const struct hl_key *key, uint64_t subject);
uint64_t hl_quota_blocked_subject(struct hl_quota *quota, const struct hl_key *key);
/* May a run of the subject start? OK: `*place` is where it has a place then, NULL: its account has no such
 * limit. BUSY: it may not, and is blocked now. NOMEM. `key` hashes subjects. */
HL_MUST_CHECK enum hl_err hl_quota_blocked_ask(struct hl_quota_blocked *b, const struct hl_key *key,
    uint64_t subject, struct hl_quota **place);

#endif
