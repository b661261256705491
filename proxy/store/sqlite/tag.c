/* tag.c - see tag.h. A run without tags has no rows. */
#include "store/sqlite/tag.h"

#include "base/tag.h"
#include "store/sqlite/database.h"

static enum hl_err each(struct hl_database *db, enum hl_sql which, int64_t app_id,
    struct hl_str tags, const struct hl_id *run_id)
{
    enum hl_err err = HL_OK;
    struct hl_tag tag;
    while (!err && hl_tag_next(&tags, &tag)) {
        struct hl_sql_args *args = hl_database_bind(db, which);
        hl_sql_bind_int(args, HL_SQL_P_APP_ID, app_id);
        hl_sql_bind_text(args, HL_SQL_P_TAG, tag.whole);
        hl_sql_bind_text(args, HL_SQL_P_NAME, tag.name);
        hl_sql_bind_id(args, HL_SQL_P_RUN_ID, run_id);
        err = hl_database_run(db, which);
    }
    return err;
}

enum hl_err hl_stored_tags_add(
    struct hl_database *db, int64_t app_id, struct hl_str tags, const struct hl_id *run_id)
{
    return each(db, HL_SQL_TAG_ADD, app_id, tags, run_id);
}

enum hl_err hl_stored_tags_drop(
    struct hl_database *db, int64_t app_id, struct hl_str tags, const struct hl_id *run_id)
{
    return each(db, HL_SQL_TAG_DROP, app_id, tags, run_id);
}
