/* statement.c - values into statements and out of rows. The thread that owns the connection. A bind
 * that fails leaves NULL, which the schema's NOT NULL then refuses. */
#include "store/sqlite/statement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/id.h"
#include "store/record.h"
#include "store/sqlite/sql.h"

static enum hl_err io_err(sqlite3 *db, int extended)
{
    int err = sqlite3_system_errno(db);
    if (extended == SQLITE_IOERR_NOMEM)
        return HL_ERR_NOMEM;
    /* The shared memory of the log grows by writing: that fails first when nothing is free. */
    if (extended == SQLITE_IOERR_SHMSIZE || err == ENOSPC || err == EDQUOT)
        return HL_ERR_FULL;
    return err == EMFILE || err == ENFILE ? HL_ERR_EXHAUSTED : HL_ERR_IO;
}

enum hl_err hl_sql_err(sqlite3 *db, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return HL_OK;
    case SQLITE_FULL:
        return HL_ERR_FULL;
    case SQLITE_NOMEM:
        return HL_ERR_NOMEM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return HL_ERR_CORRUPT;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return HL_ERR_INVALID;
    case SQLITE_TOOBIG:
        return HL_ERR_TOO_LARGE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return HL_ERR_UNAVAILABLE;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return HL_ERR_DENIED;
    default:
        return io_err(db, sqlite3_extended_errcode(db));
    }
}

/* --- parameters ----------------------------------------------------------------------------- */

struct hl_sql_args *hl_sql_args_row(struct hl_sql_args *args, size_t row)
{
    args->next = args->statement->params;
    args->zero = (uintptr_t)args->next - row * args->statement->n_params;
    return args;
}

static const uint8_t *find(const struct hl_sql_args *args, unsigned param)
{
    const uint8_t *at = args->statement->params;
    while (*at != param && *at != HL_STATEMENT_END)
        at++;
    return at;
}

bool hl_sql_takes(const struct hl_sql_args *args, unsigned param)
{
    return *find(args, param) == param;
}

const uint8_t *hl_sql_args_find(const struct hl_sql_args *args, unsigned param)
{
    const uint8_t *at = find(args, param);
    HL_ASSERT(*at == param);
    return at;
}

static void bind_column(
    sqlite3_stmt *st, int at, const struct hl_column *column, const void *record)
{
    static const struct hl_id nil;
    struct hl_str s = {NULL, 0};
    int64_t v = 0;
    const struct hl_id *id =
        (const struct hl_id *)(const void *)((const char *)record + column->at);
    if (column->type == HL_COLUMN_INT)
        v = hl_column_int(column, record);
    else if (column->type != HL_COLUMN_ID)
        s = hl_column_str(column, record);
    else
        v = !column->or_null || memcmp(id, &nil, sizeof(nil)) != 0;
    if (column->or_null && v == 0 && s.n == 0)
        sqlite3_bind_null(st, at);
    else if (column->type == HL_COLUMN_INT)
        sqlite3_bind_int64(st, at, v);
    else if (column->type == HL_COLUMN_ID)
        sqlite3_bind_blob(st, at, id->b, sizeof(id->b), SQLITE_STATIC);
    else if (column->type == HL_COLUMN_BYTES)
        sqlite3_bind_blob64(st, at, s.n ? s.p : "", s.n, SQLITE_STATIC);
    else
        sqlite3_bind_text64(st, at, s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

void hl_sql_bind_columns(
    struct hl_sql_args *args, unsigned first, const struct hl_columns *columns, const void *record)
{
    int at = hl_sql_args_take(args, first);
    for (size_t i = 0; i < columns->n; i++)
        bind_column(args->st, at + (int)i, &columns->each[i], record);
    args->next += columns->n - 1;
    args->unbound -= (int)columns->n - 1;
}

void hl_sql_bind_body(struct hl_sql_args *args, const struct hl_body *body)
{
    bool is_kept = body->where == HL_BODY_INLINE || body->where == HL_BODY_FILE;
    struct hl_str digest = {(const char *)body->digest, sizeof(body->digest)};
    hl_sql_bind_int(args, HL_SQL_P_BODY_WHERE, body->where);
    hl_sql_bind_int(args, HL_SQL_P_BODY_SIZE, (int64_t)body->size);
    if (is_kept)
        hl_sql_bind_blob(args, HL_SQL_P_BODY_SHA256, digest);
    else
        hl_sql_bind_null(args, HL_SQL_P_BODY_SHA256);
    if (body->where == HL_BODY_FILE)
        hl_sql_bind_id(args, HL_SQL_P_BODY_FILE, &body->file);
    else
        hl_sql_bind_null(args, HL_SQL_P_BODY_FILE);
    if (body->where == HL_BODY_INLINE)
        hl_sql_bind_blob(args, HL_SQL_P_BODY_BYTES, (struct hl_str){body->bytes, body->size});
    else
        hl_sql_bind_null(args, HL_SQL_P_BODY_BYTES);
}

/* --- columns -------------------------------------------------------------------------------- */

int64_t hl_sql_int(struct hl_sql_row *row)
{
    return sqlite3_column_int64(row->st, row->at++);
}

bool hl_sql_id(struct hl_sql_row *row, struct hl_id *id)
{
    bool is_blob = sqlite3_column_type(row->st, row->at) == SQLITE_BLOB;
    struct hl_str s = hl_sql_str(row);
    *id = (struct hl_id){{0}};
    if (!is_blob || s.n != sizeof(id->b))
        return false;
    memcpy(id->b, s.p, sizeof(id->b));
    return true;
}

struct hl_str hl_sql_str(struct hl_sql_row *row)
{
    int at = row->at++;
    const char *p = sqlite3_column_blob(row->st, at);
    return (struct hl_str){p, (size_t)sqlite3_column_bytes(row->st, at)};
}

void hl_sql_columns(struct hl_sql_row *row, const struct hl_columns *columns, void *record)
{
    for (size_t i = 0; i < columns->n; i++) {
        const struct hl_column *column = &columns->each[i];
        if (column->type == HL_COLUMN_INT)
            hl_column_set_int(column, record, hl_sql_int(row));
        else if (column->type == HL_COLUMN_ID)
            hl_sql_id(row, (struct hl_id *)(void *)((char *)record + column->at));
        else
            hl_column_set_str(column, record, hl_sql_str(row));
    }
}

void hl_sql_body(struct hl_sql_row *row, struct hl_body *body, struct hl_str *bytes)
{
    *body = (struct hl_body){.where = (enum hl_body_where)hl_sql_int(row)};
    body->size = (uint64_t)hl_sql_int(row);
    struct hl_str digest = hl_sql_str(row);
    if (digest.n == sizeof(body->digest))
        memcpy(body->digest, digest.p, digest.n);
    hl_sql_id(row, &body->file);
    *bytes = hl_sql_str(row);
}

void hl_sql_outcome(struct hl_sql_row *row, struct hl_outcome *o, struct hl_str *bytes)
{
    hl_sql_columns(row, &hl_outcome_columns, o);
    hl_sql_body(row, &o->body, bytes);
}
