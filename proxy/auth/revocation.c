/* revocation.c - accounts whose tokens are good no longer, and who is told of that at once.
 * Owns: the list of bells. Thread: any.
 * Promise: whoever hears a bell finds the account refused already.
 * Not here: tokens that are shown again (seat.c), what is heard of other replicas (auth.c). */
#include "auth/auth.h"
#include "auth/state.h"

void hl_auth_revoke(struct hl_auth *auth, const struct hl_id *account)
{
    hl_registry_revoke(&auth->registry, account);
    pthread_mutex_lock(&auth->bells_lock);
    HL_LIST_EACH (node, &auth->bells)
        hl_bell_ring(HL_CONTAINER_OF(node, struct hl_bell, node));
    pthread_mutex_unlock(&auth->bells_lock);
}

bool hl_auth_admits(struct hl_auth *auth, const struct hl_id *account)
{
    return hl_registry_standing(&auth->registry, account) == HL_ACCOUNT_GOOD;
}

void hl_auth_add_bell(struct hl_auth *auth, struct hl_bell *bell)
{
    pthread_mutex_lock(&auth->bells_lock);
    hl_list_push_back(&auth->bells, &bell->node);
    pthread_mutex_unlock(&auth->bells_lock);
}

void hl_auth_remove_bell(struct hl_auth *auth, struct hl_bell *bell)
{
    pthread_mutex_lock(&auth->bells_lock);
    hl_list_remove(&bell->node);
    pthread_mutex_unlock(&auth->bells_lock);
}
