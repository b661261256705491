/* own_keys.c - see own_keys.h. */
#include "auth/own_keys.h"

#include <stdlib.h>
#include <string.h>

#include "auth/issuer.h"
#include "auth/key_set.h"
#include "auth/registry.h"
#include "auth/verify_key.h"
#include "base/log.h"
#include "store/account.h"

static void add(struct hl_key_list *list, const struct hl_list_keys *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct hl_verify_key *key = hl_issuer_read_key(found->keys[i].bytes, found->keys[i].n);
        if (key)
            list->items[list->n++] = key;
        else
            HL_LOG(ERROR, "auth: an imported signing key cannot be used");
    }
}

static enum hl_err add_imported(struct hl_key_list *list, struct hl_store *store)
{
    struct hl_list_keys *found = calloc(1, sizeof(*found));
    if (!found)
        return HL_ERR_NOMEM;
    found->m.msg.type = HL_STORE_LIST_KEYS;
    enum hl_err err = hl_store_ask(store, &found->m);
    if (!err)
        add(list, found);
    explicit_bzero(found, sizeof(*found));
    free(found);
    return err;
}

enum hl_err hl_own_keys_read(
    struct hl_registry *registry, const struct hl_issuer *issuer, struct hl_store *store)
{
    struct hl_key_list list = {.n = 1};
    list.items[0] = hl_verify_key_hold(hl_issuer_key(issuer));
    enum hl_err err = hl_store_is_shared(store) ? add_imported(&list, store) : HL_OK;
    if (!err)
        return hl_registry_set_keys(registry, HL_KEYS_OWN, &list);
    hl_key_list_fini(&list);
    return err;
}
