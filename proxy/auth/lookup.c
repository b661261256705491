/* lookup.c - see lookup.h.
 * Promise: what the store says goes into the registry before the check is answered: an account that is
 * not there is remembered as revoked, and is not asked for again. */
#include "auth/lookup.h"

#include <stdlib.h>

#include "auth/check.h"
#include "auth/claims.h"
#include "auth/registry.h"
#include "auth/verify_key.h"
#include "store/account.h"

struct lookup {
    struct hl_list_accounts list;
    struct hl_id account;
    struct hl_check *check;
};

/* Which account is to be asked for. False: none. */
static bool find_unknown(
    const struct hl_lookups *lookups, const struct hl_check *check, struct hl_id *account)
{
    struct hl_claims claims;
    if (!lookups->store || !check->key->is_own ||
        hl_claims_read_own(check->jwt.claims, &claims) != HL_REFUSAL_NONE)
        return false;
    *account = claims.account;
    return !hl_id_is_nil(account) &&
           hl_registry_standing(lookups->registry, account) == HL_ACCOUNT_UNKNOWN;
}

/* The list goes from the newest to the oldest: the one before the next id is this one. */
static struct hl_id id_after(const struct hl_id *id)
{
    struct hl_id next = *id;
    for (size_t i = sizeof(next.b); i-- > 0 && ++next.b[i] == 0;)
        continue;
    return next;
}

bool hl_lookup_begin(struct hl_lookups *lookups, struct hl_check *check)
{
    struct hl_id account;
    if (!find_unknown(lookups, check, &account))
        return false;
    struct lookup *lookup = lookups->n < HL_LOOKUPS_MAX ? calloc(1, sizeof(*lookup)) : NULL;
    if (!lookup) {
        hl_check_answer(check, HL_CHECK_UNSURE);
        return true;
    }
    lookup->account = account;
    lookup->check = check;
    lookup->list = (struct hl_list_accounts){.m.msg.type = HL_STORE_LIST_ACCOUNTS,
        .m.reply_to = lookups->mail,
        .limit = 1,
        .before = id_after(&account)};
    if (hl_store_post(lookups->store, &lookup->list.m) != HL_OK) {
        free(lookup);
        hl_check_answer(check, HL_CHECK_UNSURE);
        return true;
    }
    lookups->n++;
    return true;
}

static bool is_there(const struct lookup *lookup)
{
    const struct hl_list_accounts *list = &lookup->list;
    return list->count == 1 && hl_id_eq(&list->rows[0].id, &lookup->account) &&
           list->rows[0].revoked_ms == 0;
}

void hl_lookup_end(struct hl_lookups *lookups, struct hl_msg *msg)
{
    struct lookup *lookup = HL_CONTAINER_OF(msg, struct lookup, list.m.msg);
    enum hl_err err = lookup->list.m.rc;
    if (!err && is_there(lookup))
        err = hl_registry_admit(lookups->registry, &lookup->account, &lookup->list.rows[0].limits);
    else if (!err)
        hl_registry_revoke(lookups->registry, &lookup->account);
    hl_check_answer(lookup->check, err ? HL_CHECK_UNSURE : HL_CHECK_GOOD);
    hl_list_accounts_fini(&lookup->list);
    free(lookup);
    lookups->n--;
}
