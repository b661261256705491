/* account.h - service accounts in memory. The store's thread. */
#ifndef HL_STORE_MEMORY_ACCOUNT_H
#define HL_STORE_MEMORY_ACCOUNT_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_account;
struct hl_driver;
struct hl_limit_account;
struct hl_list_accounts;
struct hl_memory;
struct hl_revoke_account;
struct hl_touch_accounts;

enum hl_err hl_memory_account_add(struct hl_driver *d, const struct hl_account *account);
enum hl_err hl_memory_account_revoke(
    struct hl_driver *d, const struct hl_revoke_account *r, int64_t now_ms, int64_t *revoked_ms);
enum hl_err hl_memory_account_limit(struct hl_driver *d, struct hl_limit_account *l);
enum hl_err hl_memory_account_touch(struct hl_driver *d, const struct hl_touch_accounts *t);
HL_MUST_CHECK enum hl_err hl_memory_account_list(
    const struct hl_memory *m, struct hl_list_accounts *l);
/* When the next one goes. */
int64_t hl_memory_account_purge(struct hl_memory *m, int64_t now_ms, unsigned max);
void hl_memory_account_free_all(struct hl_memory *m);

#endif
