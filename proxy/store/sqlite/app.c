/* app.c - the ids of apps. The store's thread, inside a transaction. */
#include "store/sqlite/app.h"

#include <string.h>

#include "base/str.h"
#include "store/sqlite/database.h"

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

enum hl_err hl_stored_app_find_id(
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
