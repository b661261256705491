/* app.c - apps: their ids, their names in lists, and how their runs end, counted by minute (tally.h). What a transaction
 * adds to a minute waits for its end: then each row that it touches is written once. The store's thread, inside a
 * transaction; the list is the reader's. Not here: the end of those that nothing names any more (purge.c). */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "store/claim.h"
#include "store/notice.h"
#include "store/question.h"
#include "store/sqlite/database.h"
#include "store/sqlite/reading.h"
#include "store/sqlite/running_run.h"

/* More apps and minutes in one transaction than this: the rest is written before its end. */
#define TALLIES_MAX 256

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
    struct hl_sql_args *args = hl_database_bind(db, which);
    hl_sql_bind_text(args, HL_SQL_P_PROJECT, project);
    hl_sql_bind_text(args, HL_SQL_P_APP, name);
    enum hl_err err = hl_database_row(db, which, &row);
    if (err)
        return err;
    *app_id = hl_sql_int(&row);
    hl_database_done(db, which);
    remember(db, project, name, *app_id);
    return HL_OK;
}

enum hl_err hl_app_find_id(
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

/* --- how its runs end, by minute ---------------------------------------------------------------- */

static struct hl_minute_tally *find_minute(struct hl_database *db, int64_t app_id, int64_t minute)
{
    for (size_t i = db->n_tallies; i-- > 0;)
        if (db->tallies[i].app_id == app_id && db->tallies[i].minute == minute)
            return &db->tallies[i];
    return NULL;
}

static enum hl_err grow(struct hl_database *db)
{
    size_t cap = db->cap_tallies ? 2 * db->cap_tallies : 8;
    struct hl_minute_tally *tallies = realloc(db->tallies, cap * sizeof(*tallies));
    if (!tallies)
        return HL_ERR_NOMEM;
    for (size_t i = db->cap_tallies; i < cap; i++)
        tallies[i] = (struct hl_minute_tally){0};
    db->tallies = tallies;
    db->cap_tallies = cap;
    return HL_OK;
}

static enum hl_err take_minute(
    struct hl_database *db, int64_t app_id, int64_t minute, struct hl_minute_tally **out)
{
    *out = find_minute(db, app_id, minute);
    if (*out)
        return HL_OK;
    enum hl_err err = db->n_tallies == TALLIES_MAX ? hl_app_write_minutes(db) : HL_OK;
    if (!err && db->n_tallies == db->cap_tallies)
        err = grow(db);
    if (err)
        return err;
    *out = &db->tallies[db->n_tallies++];
    (*out)->app_id = app_id;
    (*out)->minute = minute;
    (*out)->tally.n = 0;
    return HL_OK;
}

enum hl_err hl_app_add_end(struct hl_database *db, const struct hl_stored_run *run,
    const struct hl_outcome *outcome, const struct hl_finish *times)
{
    struct hl_minute_tally *to;
    enum hl_err err = take_minute(db, run->app_id, outcome->finished_ms / HL_TALLY_MINUTE_MS, &to);
    return err ? err
               : hl_tally_add_end(&to->tally, run->is_async, outcome->state, outcome->reason,
                     times ? times->run_us : -1, times ? times->queued_us : -1);
}

static enum hl_err tell_minute(struct hl_database *db, const struct hl_told_minute *told)
{
    int64_t app_id;
    struct hl_minute_tally *to;
    enum hl_err err =
        hl_app_find_id(db, hl_str_from(told->project), hl_str_from(told->app), true, &app_id);
    if (!err)
        err = take_minute(db, app_id, told->minute, &to);
    return err ? err : hl_tally_add_all(&to->tally, told->tally.counts, told->tally.n);
}

enum hl_err hl_app_tell_minutes(struct hl_driver *d, const struct hl_told_tally *t)
{
    struct hl_database *db = hl_database_of(d);
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < t->n && !err; i++)
        err = tell_minute(db, &t->minutes[i]);
    return hl_database_end(db, err);
}

/* What is there already of the row, and what is added. A row that cannot be read begins anew. */
static enum hl_err add_stored(struct hl_database *db, const struct hl_minute_tally *added)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TALLY_GET);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, added->app_id);
    hl_sql_bind_int(args, HL_SQL_P_MINUTE, added->minute);
    db->tally.n = 0;
    enum hl_err err = hl_database_row(db, HL_SQL_TALLY_GET, &row);
    if (!err) {
        err = hl_tally_read(&db->tally, hl_sql_str(&row));
        hl_database_done(db, HL_SQL_TALLY_GET);
    }
    if (err && err != HL_ERR_NOT_FOUND && err != HL_ERR_CORRUPT)
        return err;
    return hl_tally_add_all(&db->tally, added->tally.counts, added->tally.n);
}

static enum hl_err write_one(struct hl_database *db, const struct hl_minute_tally *added)
{
    enum hl_err err = add_stored(db, added);
    if (!err)
        err = hl_buf_reserve(&db->tally_bytes, 8 * db->tally.n);
    if (err)
        return err;
    hl_tally_write(&db->tally, db->tally_bytes.p);
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_TALLY_PUT);
    hl_sql_bind_int(args, HL_SQL_P_APP_ID, added->app_id);
    hl_sql_bind_int(args, HL_SQL_P_MINUTE, added->minute);
    hl_sql_bind_blob(args, HL_SQL_P_COUNTS, (struct hl_str){db->tally_bytes.p, 8 * db->tally.n});
    return hl_database_run(db, HL_SQL_TALLY_PUT);
}

enum hl_err hl_app_write_minutes(struct hl_database *db)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < db->n_tallies && !err; i++)
        err = write_one(db, &db->tallies[i]);
    if (!err)
        hl_app_forget_minutes(db);
    return err;
}

void hl_app_forget_minutes(struct hl_database *db)
{
    db->n_tallies = 0;
}

void hl_app_free_minutes(struct hl_database *db)
{
    for (size_t i = 0; i < db->cap_tallies; i++)
        hl_tally_fini(&db->tallies[i].tally);
    free(db->tallies);
    hl_tally_fini(&db->tally);
    hl_buf_fini(&db->tally_bytes);
}

/* --- the list ----------------------------------------------------------------------------------- */

static enum hl_err read_name(struct hl_sql_row *row, struct hl_store_msg *m)
{
    struct hl_name *name = HL_LISTING_ADD((struct hl_list_apps *)m);
    if (name)
        hl_str_put_cut(name->text, sizeof(name->text), hl_sql_str(row));
    return HL_OK;
}

enum hl_err hl_sqlite_answer_list_apps(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_apps *l = (struct hl_list_apps *)m;
    enum hl_ask which = *l->project ? HL_ASK_APP_NAMES : HL_ASK_PROJECT_NAMES;
    struct hl_sql_args *args = hl_reading_bind(r, which);
    if (*l->project)
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_LIST_MAX);
    return hl_reading_list(r, which, &l->m, read_name);
}
