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

void hl_sql_bind_body(struct hl_sql_args *args, const struct hl_body *body)
{
    bool is_kept = body->where == HL_BODY_INLINE || body->where == HL_BODY_FILE;
    struct hl_str digest = {(const char *)body->sha256, sizeof(body->sha256)};
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

void hl_sql_body(struct hl_sql_row *row, struct hl_body *body, struct hl_str *bytes)
{
    *body = (struct hl_body){.where = (enum hl_body_where)hl_sql_int(row)};
    body->size = (uint64_t)hl_sql_int(row);
    struct hl_str digest = hl_sql_str(row);
    if (digest.n == sizeof(body->sha256))
        memcpy(body->sha256, digest.p, digest.n);
    hl_sql_id(row, &body->file);
    *bytes = hl_sql_str(row);
}

static void copy_field(char out[HL_CONTENT_FIELD_MAX + 1], struct hl_str from)
{
    size_t n = from.n <= HL_CONTENT_FIELD_MAX ? from.n : 0;
    if (n > 0)
        memcpy(out, from.p, n);
    out[n] = '\0';
}

void hl_sql_outcome(struct hl_sql_row *row, struct hl_outcome *o, struct hl_str *bytes)
{
    o->finished_ms = hl_sql_int(row);
    o->reason = (enum hl_run_reason)hl_sql_int(row);
    o->http_status = (uint16_t)hl_sql_int(row);
    copy_field(o->content_type, hl_sql_str(row));
    copy_field(o->content_encoding, hl_sql_str(row));
    o->encoding = (enum hl_encoding)hl_sql_int(row);
    o->escaped_size = (uint64_t)hl_sql_int(row);
    hl_sql_body(row, &o->body, bytes);
}
