/* revocation.c - accounts and keys whose tokens are good no longer, and who is told of that at once. Any thread.
 * Not here: tokens that are shown again (seat.c), what is heard of other replicas (auth.c). */
#include "auth/auth.h"
#include "auth/state.h"

void hl_auth_revoke(struct hl_auth *auth, const struct hl_id *account)
{
    hl_registry_revoke(&auth->registry, account);
    hl_registry_ring(&auth->registry);
}

static bool has_key(struct hl_auth *auth, uint64_t serial)
{
    uint64_t version;
    struct hl_key_set *keys = hl_registry_keys(&auth->registry, &version);
    bool has = hl_key_set_has(keys, serial);
    hl_key_set_release(keys);
    return has;
}

bool hl_auth_admits(struct hl_auth *auth, const struct hl_id *account, uint64_t key)
{
    bool is_good =
        hl_id_is_nil(account) || hl_registry_standing(&auth->registry, account) == HL_ACCOUNT_GOOD;
    return is_good && (key == 0 || has_key(auth, key));
}

void hl_auth_add_bell(struct hl_auth *auth, struct hl_bell *bell)
{
    pthread_mutex_lock(&auth->registry.bells_lock);
    hl_list_push_back(&auth->registry.bells, &bell->node);
    pthread_mutex_unlock(&auth->registry.bells_lock);
}

void hl_auth_remove_bell(struct hl_auth *auth, struct hl_bell *bell)
{
    pthread_mutex_lock(&auth->registry.bells_lock);
    hl_list_remove(&bell->node);
    pthread_mutex_unlock(&auth->registry.bells_lock);
}
