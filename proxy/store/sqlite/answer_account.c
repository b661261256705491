/* answer_account.c - lists of service accounts and of apps. The reader's thread, inside a
 * transaction. */
#include "store/sqlite/answer_account.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "base/str.h"
#include "store/account.h"
#include "store/question.h"
#include "store/sqlite/account.h"
#include "store/sqlite/reading.h"

enum hl_err hl_sqlite_answer_list_accounts(struct hl_reading *r, struct hl_list_accounts *l)
{
    enum hl_ask which = l->project[0] ? HL_ASK_ACCOUNTS_OF_PROJECT : HL_ASK_ACCOUNTS;
    struct hl_id before = hl_id_is_nil(&l->before) ? hl_id_last() : l->before;
    struct hl_sql_args *args = hl_reading_bind(r, which);
    struct hl_sql_row row;
    enum hl_err err;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    hl_sql_bind_id(args, HL_ASK_P_BEFORE, &before);
    hl_sql_bind_int(args, HL_ASK_P_MAX, l->limit + 1);
    if (l->project[0])
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    while (!(err = hl_reading_row(r, which, &row))) {
        if (l->count == l->limit) {
            l->has_more = true;
            break;
        }
        hl_account_read(&row, &l->rows[l->count]);
        l->next = l->rows[l->count++].id;
    }
    hl_reading_done(r, which);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_sqlite_answer_list_apps(struct hl_reading *r, struct hl_list_apps *l)
{
    enum hl_ask which = *l->project ? HL_ASK_APP_NAMES : HL_ASK_PROJECT_NAMES;
    struct hl_sql_row row;
    enum hl_err err;
    l->names = calloc(HL_LIST_MAX, sizeof(*l->names));
    if (!l->names)
        return HL_ERR_NOMEM;
    struct hl_sql_args *args = hl_reading_bind(r, which);
    if (*l->project)
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_LIST_MAX);
    while (!(err = hl_reading_row(r, which, &row)))
        hl_str_put_cut(l->names[l->count++], sizeof(*l->names), hl_sql_str(&row));
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}
