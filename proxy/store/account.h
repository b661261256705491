/* account.h - service accounts in the store: requests like those of store.h. One that is revoked is
 * kept some days beyond the end of its token: a revocation must not be forgotten while the token
 * would be good. No other is ever removed. */
#ifndef HL_STORE_ACCOUNT_H
#define HL_STORE_ACCOUNT_H

#include "store/listing.h"
#include "store/op.h"
#include "store/store.h"

/* How long after its token's end. */
#define HL_ACCOUNT_KEEP_MS (7 * 24 * 3600 * 1000ll)

/* How far away that may be: one that is further is a typing error more likely. */
#define HL_ACCOUNT_DAYS_MAX 3650
#define HL_LINK_DAYS_MAX    366 /* of a read-only link to the dashboard */

/* ADD_ACCOUNT. Reply OK: it is on disk. EXISTS: one with that id is there; nothing changed. */
struct hl_add_account {
    struct hl_store_msg m;
    struct hl_account account;
};

/* REVOKE_ACCOUNT. Reply OK: it is revoked, on disk, now or since earlier. NOT_FOUND: no such account
 * in that project (empty: any). */
struct hl_revoke_account {
    struct hl_store_msg m;
    struct hl_id id;
    char project[HL_STORE_NAME_MAX + 1];
    int64_t revoked_ms; /* reply: since when */
};

/* LIMIT_ACCOUNT. Reply OK: its limits are changed, on disk, and `account` is all that is known of it.
 * NOT_FOUND: as above. */
struct hl_limit_account {
    struct hl_store_msg m;
    struct hl_id id;
    char project[HL_STORE_NAME_MAX + 1];
    struct hl_limits_change change;
    struct hl_account account; /* reply */
};

/* TOUCH_ACCOUNTS: when they were last used; many in one message, not for each call. Unknown ones are
 * passed over. May be lost. */
#define HL_TOUCH_MAX 64

struct hl_touch_accounts {
    struct hl_store_msg m;
    size_t n;
    struct hl_account_use {
        struct hl_id id;
        int64_t used_ms;
    } uses[HL_TOUCH_MAX];
};

/* WATCH_ACCOUNTS, to a store that is shared: from the reply on `watch` is called for each account that
 * another replica makes, changes or revokes; for the same one perhaps again, and in any order, so that one
 * that was revoked never comes back, nor limits that were changed since. On the store's thread: it must not
 * block, nor post. One watcher; NULL ends it. */
typedef void hl_account_watch_fn(
    void *watcher, const struct hl_id *account, bool is_revoked, const struct hl_limits *limits);

struct hl_watch_accounts {
    struct hl_store_msg m;
    hl_account_watch_fn *watch;
    void *watcher;
};

/* LIST_KEYS, to a store that is shared: private keys of embedded stores that were moved here. Nothing is
 * signed with them any more; what they signed is good. The asker wipes them. */
#define HL_OLD_KEYS_MAX 16

struct hl_list_keys {
    struct hl_store_msg m;
    size_t count; /* reply */
    struct hl_old_key {
        uint8_t bytes[HL_SIGNING_KEY_MAX];
        size_t n;
    } keys[HL_OLD_KEYS_MAX];
};

/* LIST_ACCOUNTS: newest first by id, revoked and expired ones too; goes on as the lists of question.h.
 */
struct hl_list_accounts {
    struct hl_store_msg m;
    char project[HL_STORE_NAME_MAX + 1]; /* empty: all projects */
    uint32_t limit;                      /* 1 to 200; what is beyond is cut */
    struct hl_id before;

    HL_LISTING(struct hl_account); /* reply */
};

#endif
