/* registry.c - the set of good keys, and which accounts there are. Any thread.
 * The exception to the rule that threads share nothing but mailboxes: a revocation has to count in
 * every thread before it is answered, which no message can promise. */
#include "auth/registry.h"

#include <stdlib.h>

#include "loop/mailbox.h"
#include "store/account.h"

enum hl_err hl_registry_init(struct hl_registry *registry)
{
    *registry = (struct hl_registry){.keys = hl_key_set_new()};
    pthread_mutex_init(&registry->lock, NULL);
    pthread_mutex_init(&registry->bells_lock, NULL);
    hl_list_init(&registry->bells);
    hl_id_map_init(&registry->accounts);
    return registry->keys ? HL_OK : HL_ERR_NOMEM;
}

void hl_registry_fini(struct hl_registry *registry)
{
    for (struct hl_known_account *account = registry->all, *next; account; account = next) {
        next = account->next;
        free(account);
    }
    hl_id_map_fini(&registry->accounts);
    hl_key_set_release(registry->keys);
    pthread_mutex_destroy(&registry->bells_lock);
    pthread_mutex_destroy(&registry->lock);
}

enum hl_err hl_registry_set_keys(
    struct hl_registry *registry, enum hl_key_source source, struct hl_key_list *list)
{
    bool is_any_gone = false;
    pthread_mutex_lock(&registry->lock);
    struct hl_key_set *before = registry->keys;
    struct hl_key_set *after = hl_key_set_with(before, source, list);
    if (after) {
        registry->keys = after;
        atomic_fetch_add(&registry->version, 1);
        is_any_gone = hl_key_set_retire(before, after);
        hl_key_set_release(before);
    }
    pthread_mutex_unlock(&registry->lock);
    if (is_any_gone)
        hl_registry_ring(registry);
    return after ? HL_OK : HL_ERR_NOMEM;
}

void hl_registry_ring(struct hl_registry *registry)
{
    pthread_mutex_lock(&registry->bells_lock);
    HL_LIST_EACH (node, &registry->bells)
        hl_bell_ring(HL_CONTAINER_OF(node, struct hl_bell, node));
    pthread_mutex_unlock(&registry->bells_lock);
}

struct hl_key_set *hl_registry_keys(struct hl_registry *registry, uint64_t *version)
{
    pthread_mutex_lock(&registry->lock);
    struct hl_key_set *keys = hl_key_set_hold(registry->keys);
    *version = atomic_load(&registry->version);
    pthread_mutex_unlock(&registry->lock);
    return keys;
}

/* The one that is there, or a new one. NULL: out of memory. */
static struct hl_known_account *know_account(struct hl_registry *registry, const struct hl_id *id)
{
    struct hl_known_account *account = hl_id_map_find(&registry->accounts, id);
    if (account)
        return account;
    account = calloc(1, sizeof(*account));
    if (!account || hl_id_map_reserve(&registry->accounts, 1) != HL_OK) {
        free(account);
        return NULL;
    }
    account->id = account->quota.account = *id;
    hl_quota_share(&account->quota, registry->lender, id);
    account->next = registry->all;
    registry->all = account;
    hl_id_map_put(&registry->accounts, id, account);
    return account;
}

static void set_limits(
    struct hl_registry *registry, struct hl_known_account *account, const struct hl_limits *limits)
{
    hl_quota_set(&account->quota, limits);
    if (limits->max_running > 0)
        hl_quotas_add(&registry->quotas, &account->quota);
}

enum hl_err hl_registry_admit(
    struct hl_registry *registry, const struct hl_id *id, const struct hl_limits *limits)
{
    pthread_mutex_lock(&registry->lock);
    struct hl_known_account *account = know_account(registry, id);
    if (account)
        set_limits(registry, account, limits);
    pthread_mutex_unlock(&registry->lock);
    return account ? HL_OK : HL_ERR_NOMEM;
}

void hl_registry_limit(
    struct hl_registry *registry, const struct hl_id *id, const struct hl_limits *limits)
{
    pthread_mutex_lock(&registry->lock);
    struct hl_known_account *account = hl_id_map_find(&registry->accounts, id);
    if (account)
        set_limits(registry, account, limits);
    pthread_mutex_unlock(&registry->lock);
}

void hl_registry_revoke(struct hl_registry *registry, const struct hl_id *id)
{
    pthread_mutex_lock(&registry->lock);
    struct hl_known_account *account = know_account(registry, id);
    if (account)
        atomic_store(&account->is_revoked, true);
    pthread_mutex_unlock(&registry->lock);
}

enum hl_account_standing hl_registry_standing(struct hl_registry *registry, const struct hl_id *id)
{
    pthread_mutex_lock(&registry->lock);
    const struct hl_known_account *account = hl_id_map_find(&registry->accounts, id);
    pthread_mutex_unlock(&registry->lock);
    if (!account)
        return HL_ACCOUNT_UNKNOWN;
    return atomic_load(&account->is_revoked) ? HL_ACCOUNT_REVOKED : HL_ACCOUNT_GOOD;
}

struct hl_known_account *hl_registry_account(struct hl_registry *registry, const struct hl_id *id)
{
    pthread_mutex_lock(&registry->lock);
    struct hl_known_account *account = hl_id_map_find(&registry->accounts, id);
    pthread_mutex_unlock(&registry->lock);
    return account && !atomic_load(&account->is_revoked) ? account : NULL;
}

size_t hl_registry_take_uses(struct hl_registry *registry, struct hl_account_use *uses)
{
    size_t n = 0;
    pthread_mutex_lock(&registry->lock);
    struct hl_known_account *account = registry->all;
    pthread_mutex_unlock(&registry->lock);
    for (; account && n < HL_TOUCH_MAX; account = account->next) {
        int64_t used_ms = atomic_load(&account->used_ms);
        if (used_ms == account->reported_ms)
            continue;
        account->reported_ms = used_ms;
        uses[n++] = (struct hl_account_use){account->id, used_ms};
    }
    return n;
}
