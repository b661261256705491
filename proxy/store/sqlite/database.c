/* database.c - runs the prepared statements of the writing connection, and notes which bodies' files
 * its records name. The store's thread. Only this connection writes or checkpoints: SQLite before
 * 3.51.3 can corrupt a log that two connections write or checkpoint at once; the reader's (reading.c)
 * is opened read-only. */
#include "store/sqlite/database.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"

/* SQLite's message names tables and columns, never values. That the volume is full is the engine's
 * to say, once. */
static enum hl_err failed(struct hl_database *db, enum hl_sql which, int rc)
{
    enum hl_err err = hl_sql_err(db->db, rc);
    if (err != HL_ERR_FULL)
        HL_LOG(ERROR, "store: the database refused a statement",
            HL_LOG_TEXT("why", sqlite3_errmsg(db->db)), HL_LOG_INT("code", rc),
            HL_LOG_TEXT("statement", hl_sql_statements[which].name));
    if (sqlite3_get_autocommit(db->db))
        db->base.is_broken = true;
    return err ? err : HL_ERR_IO;
}

/* SQLite may have rolled back by itself: what came next would be a transaction of its own. */
static bool is_over(const struct hl_database *db, enum hl_sql which)
{
    return db->base.is_broken && which != HL_SQL_ROLLBACK;
}

enum hl_err hl_database_run(struct hl_database *db, enum hl_sql which)
{
    HL_ASSERT(db->args[which].unbound == 0);
    if (is_over(db, which))
        return HL_ERR_IO;
    int rc = sqlite3_step(db->st[which]);
    enum hl_err err = rc == SQLITE_DONE ? HL_OK : failed(db, which, rc);
    hl_database_done(db, which);
    return err;
}

enum hl_err hl_database_row(struct hl_database *db, enum hl_sql which, struct hl_sql_row *row)
{
    HL_ASSERT(db->args[which].unbound == 0);
    if (is_over(db, which))
        return HL_ERR_IO;
    int rc = sqlite3_step(db->st[which]);
    *row = (struct hl_sql_row){.st = db->st[which]};
    if (rc == SQLITE_ROW)
        return HL_OK;
    enum hl_err err = rc == SQLITE_DONE ? HL_ERR_NOT_FOUND : failed(db, which, rc);
    hl_database_done(db, which);
    return err;
}

void hl_database_done(struct hl_database *db, enum hl_sql which)
{
    sqlite3_reset(db->st[which]);
}

enum hl_err hl_database_end(struct hl_database *db, enum hl_err err)
{
    if (!hl_driver_is_answer(err))
        db->base.is_broken = true;
    return err;
}

/* --- bodies in files ------------------------------------------------------------------------ */

void hl_database_keep_file(struct hl_database *db, const struct hl_body *body)
{
    if (body->where == HL_BODY_FILE)
        db->now.file_bytes += body->size;
}

/* Out of memory: the file stays until the sweep of the next start finds it. */
void hl_database_doom_file(struct hl_database *db, const struct hl_id *file, uint64_t size)
{
    if (db->now.n_doomed == db->cap_doomed) {
        size_t cap = db->cap_doomed ? 2 * db->cap_doomed : 64;
        struct hl_doomed_file *doomed = realloc(db->doomed, cap * sizeof(*doomed));
        if (!doomed)
            return;
        db->doomed = doomed;
        db->cap_doomed = cap;
    }
    db->doomed[db->now.n_doomed++] = (struct hl_doomed_file){*file, size};
    db->now.file_bytes -= size < db->now.file_bytes ? size : db->now.file_bytes;
}
