/* database.c - runs the prepared statements and transactions of the writing connection. The store's
 * thread. Only this connection writes or checkpoints: SQLite before 3.51.3 can corrupt a log that
 * two connections write or checkpoint at once; the reader's (reading.c) is opened read-only. */
#include "store/sqlite/database.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct hl_sql_args hl_database_bind(struct hl_database *db, enum hl_sql which)
{
    return (struct hl_sql_args){.st = db->st[which]};
}

/* SQLite's message names tables and columns, never values. That the volume is full is the engine's
 * to say, once. */
static enum hl_err failed(struct hl_database *db, enum hl_sql which, int rc)
{
    enum hl_err err = hl_sql_err(db->db, rc);
    if (err != HL_ERR_FULL)
        HL_LOG(ERROR, "store: the database refused a statement",
            HL_LOG_TEXT("why", sqlite3_errmsg(db->db)), HL_LOG_INT("code", rc),
            HL_LOG_TEXT("statement", hl_sql_text(which)));
    return err ? err : HL_ERR_IO;
}

enum hl_err hl_database_run(struct hl_database *db, enum hl_sql which)
{
    int rc = sqlite3_step(db->st[which]);
    enum hl_err err = rc == SQLITE_DONE ? HL_OK : failed(db, which, rc);
    hl_database_done(db, which);
    return err;
}

enum hl_err hl_database_row(struct hl_database *db, enum hl_sql which, struct hl_sql_row *row)
{
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

enum hl_err hl_database_write(struct hl_database *db)
{
    enum hl_err err = hl_fresh_write(db);
    return err ? err : hl_ended_write(db);
}

enum hl_err hl_database_end(struct hl_database *db, enum hl_err err)
{
    if (!hl_driver_is_answer(err))
        db->base.is_broken = true;
    return err;
}

enum hl_err hl_database_begin(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    db->base.is_broken = false;
    db->before = db->now;
    return hl_database_run(db, HL_SQL_BEGIN);
}

void hl_database_rollback(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    /* A full volume or an I/O error may have rolled back already. */
    if (!sqlite3_get_autocommit(db->db) && hl_database_run(db, HL_SQL_ROLLBACK) != HL_OK)
        HL_LOG(ERROR, "store: a rollback failed");
    db->now = db->before;
    db->app_id = 0;
    hl_fresh_forget(db);
    db->n_ended = 0;
    hl_running_forget(db);
    db->base.is_broken = false;
}

enum hl_err hl_database_commit(struct hl_driver *d)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = hl_database_write(db);
    if (!err)
        err = hl_database_run(db, HL_SQL_COMMIT);
    if (err)
        hl_database_rollback(d);
    else
        db->before = db->now;
    return err;
}

/* --- apps ----------------------------------------------------------------------------------- */

static bool is_remembered(const struct hl_database *db, struct hl_str project, struct hl_str name)
{
    return db->app_id != 0 && hl_str_eq(project, hl_str_from(db->app_project)) &&
           hl_str_eq(name, hl_str_from(db->app_name));
}

static void remember(
    struct hl_database *db, struct hl_str project, struct hl_str name, int64_t app_id)
{
    if (project.n >= sizeof(db->app_project) || name.n >= sizeof(db->app_name))
        return;
    memcpy(db->app_project, project.p, project.n);
    memcpy(db->app_name, name.p, name.n);
    db->app_project[project.n] = db->app_name[name.n] = '\0';
    db->app_id = app_id;
}

static enum hl_err ask_app(struct hl_database *db, enum hl_sql which, struct hl_str project,
    struct hl_str name, int64_t *app_id)
{
    struct hl_sql_row row;
    struct hl_sql_args args = hl_database_bind(db, which);
    hl_sql_bind_text(&args, project);
    hl_sql_bind_text(&args, name);
    enum hl_err err = hl_database_row(db, which, &row);
    if (err)
        return err;
    *app_id = hl_sql_int(&row);
    hl_database_done(db, which);
    remember(db, project, name, *app_id);
    return HL_OK;
}

enum hl_err hl_database_app(
    struct hl_database *db, struct hl_str project, struct hl_str name, bool adds, int64_t *app_id)
{
    *app_id = db->app_id;
    if (is_remembered(db, project, name))
        return HL_OK;
    enum hl_err err = ask_app(db, HL_SQL_APP_FIND, project, name, app_id);
    if (err == HL_ERR_NOT_FOUND && adds)
        err = ask_app(db, HL_SQL_APP_ADD, project, name, app_id);
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
