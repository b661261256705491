/* answer_account.h - lists of service accounts and of apps. The reader's thread, inside a
 * transaction. */
#ifndef HL_STORE_SQLITE_ANSWER_ACCOUNT_H
#define HL_STORE_SQLITE_ANSWER_ACCOUNT_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_list_accounts;
struct hl_list_apps;
struct hl_reading;

HL_MUST_CHECK enum hl_err hl_sqlite_answer_list_accounts(
    struct hl_reading *r, struct hl_list_accounts *l);
HL_MUST_CHECK enum hl_err hl_sqlite_answer_list_apps(struct hl_reading *r, struct hl_list_apps *l);

#endif
