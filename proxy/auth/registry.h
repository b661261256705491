/* registry.h - what all auth threads share: the set of valid keys, and the accounts that exist.
 *
 * A lock guards both. It is taken for each token that a thread has not seen before, for a few
 * comparisons, and never on the way of one that it has: those look at the flags `is_retired` and
 * `is_revoked`, which count at once in every thread. */
#ifndef HL_AUTH_REGISTRY_H
#define HL_AUTH_REGISTRY_H

#include <pthread.h>

#include "auth/key_set.h"
#include "store/quota.h"
#include "base/id_map.h"
#include "base/list.h"

struct hl_account_use;
struct hl_lender;
struct hl_limits;

/* A service account. It stays until the registry goes. */
struct hl_known_account {
    struct hl_id id;
    _Atomic bool is_revoked;
    _Atomic int64_t used_ms; /* when its token was last seen, about a minute exact; 0: never */
    struct hl_quota quota;
    int64_t reported_ms; /* what the store knows of that; the keeper's thread */
    struct hl_known_account *next;
};

struct hl_registry {
    pthread_mutex_t lock;
    struct hl_key_set *keys;
    _Atomic uint64_t version; /* of `keys` */
    struct hl_id_map accounts;
    struct hl_quotas quotas;
    /* of the store's; NULL: nobody shares rates. Set before any account is known */
    struct hl_lender *lender;
    struct hl_known_account *all; /* newest first; only grows */
    pthread_mutex_t bells_lock;
    struct hl_list bells; /* rung when an account was revoked, or a key is gone */
};

HL_MUST_CHECK enum hl_err hl_registry_init(struct hl_registry *registry);
void hl_registry_fini(struct hl_registry *registry);

/* Replaces the keys of one source; takes `list`. HL_ERR_NOMEM: nothing changed. */
HL_MUST_CHECK enum hl_err hl_registry_set_keys(
    struct hl_registry *registry, enum hl_key_source source, struct hl_key_list *list);
/* Whoever hears a bell finds refused what it was rung for. */
void hl_registry_ring(struct hl_registry *registry);
/* A reference to the present keys, and their version. */
struct hl_key_set *hl_registry_keys(struct hl_registry *registry, uint64_t *version);

/* With these limits, unless later ones are known. HL_OK also when it is there already. */
HL_MUST_CHECK enum hl_err hl_registry_admit(
    struct hl_registry *registry, const struct hl_id *id, const struct hl_limits *limits);
/* Its limits hold in every thread, unless later ones are known. One that was never admitted is not
 * admitted by that. */
void hl_registry_limit(
    struct hl_registry *registry, const struct hl_id *id, const struct hl_limits *limits);
/* One that was never admitted is remembered as well, and is not admitted any more. */
void hl_registry_revoke(struct hl_registry *registry, const struct hl_id *id);
enum hl_account_standing {
    HL_ACCOUNT_UNKNOWN,
    HL_ACCOUNT_GOOD,
    HL_ACCOUNT_REVOKED,
};
enum hl_account_standing hl_registry_standing(struct hl_registry *registry, const struct hl_id *id);
/* NULL: there is none, or it is revoked. */
struct hl_known_account *hl_registry_account(struct hl_registry *registry, const struct hl_id *id);

/* Fills `uses` with accounts that were used since they were reported, at most HL_TOUCH_MAX, and notes
 * them as reported. Their number. One thread only. */
size_t hl_registry_take_uses(struct hl_registry *registry, struct hl_account_use *uses);

#endif
