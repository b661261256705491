/* account.c - service accounts: made, limited, revoked, touched on the store's thread, inside a transaction; listed on
 * the reader's. Not here: their end (purge.c). */
#include <stdlib.h>

#include "base/id.h"
#include "base/str.h"
#include "store/account.h"
#include "store/question.h"
#include "store/sqlite/database.h"
#include "store/sqlite/reading.h"

static void bind_limits(struct hl_sql_args *args, const struct hl_limits *limits)
{
    static const unsigned params[HL_LIMITS_NUMBERS] = {HL_SQL_P_MAX_RUNNING, HL_SQL_P_MAX_QUEUED,
        HL_SQL_P_RATE_COUNT, HL_SQL_P_RATE_WINDOW_S, HL_SQL_P_MAX_PRIORITY,
        HL_SQL_P_LIMITS_REVISION};
    int64_t numbers[HL_LIMITS_NUMBERS];
    hl_limits_to_numbers(limits, numbers);
    for (size_t i = 0; i < HL_LIMITS_NUMBERS; i++)
        hl_sql_bind_int(args, params[i], numbers[i]);
}

enum hl_err hl_account_add(struct hl_driver *d, const struct hl_account *account)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ACCOUNT_FIND);
    hl_sql_bind_id(args, HL_SQL_P_ACCOUNT_ID, &account->id);
    enum hl_err err = hl_database_row(db, HL_SQL_ACCOUNT_FIND, &row);
    if (!err) {
        hl_database_done(db, HL_SQL_ACCOUNT_FIND);
        return HL_ERR_EXISTS;
    }
    if (err != HL_ERR_NOT_FOUND)
        return hl_database_end(db, err);
    args = hl_database_bind(db, HL_SQL_ACCOUNT_ADD);
    hl_sql_bind_id(args, HL_SQL_P_ACCOUNT_ID, &account->id);
    hl_sql_bind_columns(args, HL_SQL_P_PROJECT, &hl_account_columns, account);
    bind_limits(args, &account->limits);
    err = hl_database_run(db, HL_SQL_ACCOUNT_ADD);
    return hl_database_end(db, err);
}

enum hl_err hl_account_revoke(
    struct hl_driver *d, const struct hl_revoke_account *r, int64_t now_ms, int64_t *revoked_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ACCOUNT_FIND);
    hl_sql_bind_id(args, HL_SQL_P_ACCOUNT_ID, &r->id);
    enum hl_err err = hl_database_row(db, HL_SQL_ACCOUNT_FIND, &row);
    if (err)
        return hl_database_end(db, err);
    bool is_owner = !r->project[0] || hl_str_eq(hl_sql_str(&row), hl_str_from(r->project));
    row.at = 1;
    *revoked_ms = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_ACCOUNT_FIND);
    if (!is_owner)
        return HL_ERR_NOT_FOUND;
    if (*revoked_ms != 0)
        return HL_OK;
    *revoked_ms = now_ms;
    args = hl_database_bind(db, HL_SQL_ACCOUNT_REVOKE);
    hl_sql_bind_id(args, HL_SQL_P_ACCOUNT_ID, &r->id);
    hl_sql_bind_int(args, HL_SQL_P_NOW_MS, now_ms);
    err = hl_database_run(db, HL_SQL_ACCOUNT_REVOKE);
    return hl_database_end(db, err);
}

static void read_account(struct hl_sql_row *row, struct hl_account *account)
{
    int64_t numbers[HL_LIMITS_NUMBERS];
    hl_sql_id(row, &account->id);
    hl_sql_columns(row, &hl_account_columns, account);
    for (size_t i = 0; i < HL_LIMITS_NUMBERS; i++)
        numbers[i] = hl_sql_int(row);
    hl_limits_from_numbers(&account->limits, numbers);
}

enum hl_err hl_account_limit(struct hl_driver *d, struct hl_limit_account *l)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ACCOUNT_GET);
    hl_sql_bind_id(args, HL_SQL_P_ACCOUNT_ID, &l->id);
    enum hl_err err = hl_database_row(db, HL_SQL_ACCOUNT_GET, &row);
    if (err)
        return hl_database_end(db, err);
    read_account(&row, &l->account);
    hl_database_done(db, HL_SQL_ACCOUNT_GET);
    if (l->project[0] && strcmp(l->account.project, l->project) != 0)
        return HL_ERR_NOT_FOUND;
    hl_limits_apply(&l->account.limits, &l->change);
    args = hl_database_bind(db, HL_SQL_ACCOUNT_LIMIT);
    hl_sql_bind_id(args, HL_SQL_P_ACCOUNT_ID, &l->id);
    bind_limits(args, &l->account.limits);
    err = hl_database_run(db, HL_SQL_ACCOUNT_LIMIT);
    return hl_database_end(db, err);
}

enum hl_err hl_account_touch(struct hl_driver *d, const struct hl_touch_accounts *t)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < t->n && i < HL_TOUCH_MAX && !err; i++) {
        struct hl_sql_args *args = hl_database_bind(db, HL_SQL_ACCOUNT_TOUCH);
        hl_sql_bind_id(args, HL_SQL_P_ACCOUNT_ID, &t->uses[i].id);
        hl_sql_bind_int(args, HL_SQL_P_USED_MS, t->uses[i].used_ms);
        err = hl_database_run(db, HL_SQL_ACCOUNT_TOUCH);
    }
    return hl_database_end(db, err);
}

/* --- the list --------------------------------------------------------------------------------- */

static enum hl_err read_row(struct hl_sql_row *row, struct hl_store_msg *m)
{
    struct hl_list_accounts *l = (struct hl_list_accounts *)m;
    struct hl_account *account = HL_LISTING_ADD(l);
    if (!account)
        return HL_OK;
    read_account(row, account);
    l->next = account->id;
    return HL_OK;
}

enum hl_err hl_sqlite_answer_list_accounts(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_accounts *l = (struct hl_list_accounts *)m;
    enum hl_ask which = l->project[0] ? HL_ASK_ACCOUNTS_OF_PROJECT : HL_ASK_ACCOUNTS;
    struct hl_id before = hl_id_is_nil(&l->before) ? hl_id_last() : l->before;
    struct hl_sql_args *args = hl_reading_bind(r, which);
    hl_sql_bind_id(args, HL_ASK_P_BEFORE, &before);
    hl_sql_bind_int(args, HL_ASK_P_MAX, l->limit + 1);
    if (l->project[0])
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    return hl_reading_list(r, which, &l->m, read_row);
}
