/* meta.c - what the database knows beside runs and accounts. The store's thread; reading also the
 * opener's, before that. */
#include "store/sqlite/database.h"

#define SEEN "seen_ms"

enum hl_err hl_meta_read_time(struct hl_database *db, int64_t *seen_ms)
{
    struct hl_sql_row row;
    struct hl_sql_args args = hl_database_bind(db, HL_SQL_META_GET);
    hl_sql_bind_text(&args, HL_STR(SEEN));
    *seen_ms = 0;
    enum hl_err err = hl_database_row(db, HL_SQL_META_GET, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    *seen_ms = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_META_GET);
    return HL_OK;
}

enum hl_err hl_meta_note_time(struct hl_driver *d, int64_t seen_ms)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_args args = hl_database_bind(db, HL_SQL_META_PUT);
    hl_sql_bind_text(&args, HL_STR(SEEN));
    hl_sql_bind_int(&args, seen_ms);
    return hl_database_end(db, hl_database_run(db, HL_SQL_META_PUT));
}
