/* audit.c - who changed what: written on the store's thread, inside the transaction of the change; listed on the
 * reader's. Not here: their end (purge.c). */
#include <string.h>

#include "base/id.h"
#include "store/audit.h"
#include "store/search.h"
#include "store/sqlite/database.h"
#include "store/sqlite/reading.h"

enum hl_err hl_audit_write(struct hl_driver *d, const struct hl_audit *audit)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_AUDIT_ADD);
    hl_sql_bind_id(args, HL_SQL_P_AUDIT_ID, &audit->id);
    hl_sql_bind_text(args, HL_SQL_P_PROJECT, hl_str_from(audit->project));
    hl_sql_bind_int(args, HL_SQL_P_ACTION, audit->action);
    hl_sql_bind_int(args, HL_SQL_P_COUNT, audit->count);
    hl_sql_bind_text(args, HL_SQL_P_TOLD, hl_audit_told(audit));
    enum hl_err err = hl_database_run(db, HL_SQL_AUDIT_ADD);
    return hl_database_end(db, err);
}

/* ---- texts that are kept for the next start ---- */

enum hl_err hl_text_keep(
    struct hl_driver *d, const char *name, struct hl_str former, struct hl_str value)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_META_GET);
    hl_sql_bind_text(args, HL_SQL_P_NAME, hl_str_from(name));
    enum hl_err err = hl_database_row(db, HL_SQL_META_GET, &row);
    bool is_former = err ? former.n == 0 : hl_str_eq(hl_sql_str(&row), former);
    if (!err)
        hl_database_done(db, HL_SQL_META_GET);
    else if (err != HL_ERR_NOT_FOUND)
        return hl_database_end(db, err);
    if (!is_former)
        return HL_ERR_STALE;
    args = hl_database_bind(db, HL_SQL_META_PUT);
    hl_sql_bind_text(args, HL_SQL_P_NAME, hl_str_from(name));
    hl_sql_bind_blob(args, HL_SQL_P_VALUE, value);
    err = hl_database_run(db, HL_SQL_META_PUT);
    return hl_database_end(db, err);
}

enum hl_err hl_sqlite_answer_text(struct hl_reading *r, const char *name, struct hl_buf *value)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_META);
    hl_sql_bind_text(args, HL_ASK_P_NAME, hl_str_from(name));
    enum hl_err err = hl_reading_row(r, HL_ASK_META, &row);
    if (err)
        return err;
    err = hl_buf_append_str(value, hl_sql_str(&row));
    hl_reading_done(r, HL_ASK_META);
    return err;
}

/* ---- the list ---- */

static enum hl_err read_row(struct hl_sql_row *row, struct hl_store_msg *m)
{
    struct hl_audit audit = {0};
    hl_sql_id(row, &audit.id);
    hl_str_put_cut(audit.project, sizeof(audit.project), hl_sql_str(row));
    audit.action = (enum hl_audit_action)hl_sql_int(row);
    audit.count = hl_sql_int(row);
    return hl_list_audit_add((struct hl_list_audit *)m, &audit, hl_sql_str(row));
}

enum hl_err hl_sqlite_answer_list_audit(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_audit *l = (struct hl_list_audit *)m;
    enum hl_ask which = l->project[0] ? HL_ASK_AUDIT_OF_PROJECT : HL_ASK_AUDIT;
    struct hl_id from, before;
    struct hl_sql_args *args = hl_reading_bind(r, which);
    hl_list_bounds(&l->before, l->since_ms, l->until_ms, &before, &from);
    hl_sql_bind_id(args, HL_ASK_P_FROM, &from);
    hl_sql_bind_id(args, HL_ASK_P_BEFORE, &before);
    hl_sql_bind_int(args, HL_ASK_P_ACTION, l->action);
    hl_sql_bind_int(args, HL_ASK_P_MAX, l->limit + 1);
    if (l->project[0])
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    return hl_reading_list(r, which, &l->m, read_row);
}
