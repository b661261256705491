/* follow_guard.c - see follow_guard.h. It joins desks, which know nothing of tokens, and auth, which knows nothing
 * of desks. */
#include "worker/follow_guard.h"

#include "auth/auth.h"
#include "body/follow_desk.h"

static bool admits(void *keeper, const struct hl_id *account, uint64_t key)
{
    return hl_auth_admits(keeper, account, key);
}

void hl_follow_guard(struct hl_follow_desk *desk, struct hl_auth *auth)
{
    if (!auth)
        return;
    desk->admits = admits;
    desk->keeper = auth;
    hl_auth_add_bell(auth, &desk->look);
}

void hl_follow_unguard(struct hl_follow_desk *desk)
{
    if (desk->keeper)
        hl_auth_remove_bell(desk->keeper, &desk->look);
}
