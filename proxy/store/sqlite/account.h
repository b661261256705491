/* account.h - what is kept of service accounts. The store's thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_ACCOUNT_H
#define HL_STORE_SQLITE_ACCOUNT_H

#include <stdint.h>

#include "base/err.h"

struct hl_account;
struct hl_driver;
struct hl_limit_account;
struct hl_revoke_account;
struct hl_sql_row;
struct hl_touch_accounts;

/* See driver.h. */
enum hl_err hl_account_add(struct hl_driver *d, const struct hl_account *account);
enum hl_err hl_account_revoke(
    struct hl_driver *d, const struct hl_revoke_account *r, int64_t now_ms, int64_t *revoked_ms);
enum hl_err hl_account_limit(struct hl_driver *d, struct hl_limit_account *l);
enum hl_err hl_account_touch(struct hl_driver *d, const struct hl_touch_accounts *t);

/* {account} of sql/account.sql. */
void hl_account_read(struct hl_sql_row *row, struct hl_account *account);

#endif
