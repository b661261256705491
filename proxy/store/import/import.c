/* import.c - see import.h: what is looked at before anything is changed, and the stages in their order.
 * Not here: reading the directory (source.c), how far a move has come (passage.c), what goes over
 * (shared.c, run.c, delivery.c). */
#include "store/import/import.h"

#include <stdio.h>

#include "base/clock.h"
#include "config/config.h"
#include "store/data_dir.h"
#include "store/import/passage.h"
#include "store/import/source.h"
#include "store/key.h"
#include "store/postgres/check.h"
#include "store/postgres/meta.h"
#include "store/postgres/partition.h"
#include "store/postgres/schema.h"
#include "store/sqlite/database.h"

#define TRIES 5 /* in a row or not: who needs more has a database in trouble */

/* --- there -------------------------------------------------------------------------------------- */

/* The schema, made or brought up to date as a start would, with room for all that is to come. */
static enum hl_err prepare_schema(struct hl_passage *p, const struct hl_config *config)
{
    enum hl_err err = hl_pg_look(&p->session, &p->sealer, false, p->why, p->why_len);
    if (!err)
        err = hl_pg_schema_migrate(&p->session, p->why, p->why_len);
    if (!err)
        err = hl_pg_meta_keep_key(&p->session, &p->sealer, p->why, p->why_len);
    return err ? err
               : hl_pg_partitions_make(
                     &p->session, (int64_t)config->retention_ms, p->why, p->why_len);
}

/* The first and the last id of what is to come. NOT_FOUND: nothing is. */
static enum hl_err read_span(struct hl_passage *p, struct hl_id *first, struct hl_id *last)
{
    struct hl_sql_row row;
    struct hl_sql_args args;
    sqlite3_stmt *st = hl_import_source_prepare(p->db, HL_READ_SPAN, &args, p->why, p->why_len);
    if (!st)
        return HL_ERR_IO;
    enum hl_err err = hl_import_source_step(p->db, st, &row, p->why, p->why_len);
    if (!err && (!hl_sql_id(&row, first) || !hl_sql_id(&row, last)))
        err = HL_ERR_NOT_FOUND;
    sqlite3_finalize(st);
    return err;
}

/* Rows are kept by the time in their ids. */
static enum hl_err make_room(struct hl_passage *p)
{
    struct hl_id first, last;
    int64_t end_ms;
    enum hl_err err = read_span(p, &first, &last);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    err = hl_pg_partitions_end(&p->session, &end_ms, p->why, p->why_len);
    if (!err && hl_id_time_ms(&last) >= end_ms) {
        snprintf(p->why, p->why_len,
            "DATA_DIR: %s holds runs dated in the future: its clock was wrong, or the database's "
            "is",
            p->db->dir.path);
        return HL_ERR_INVALID;
    }
    if (!err)
        err = hl_pg_partitions_reach_back(&p->session, &first, p->why, p->why_len);
    if (err == HL_ERR_DENIED)
        snprintf(p->why, p->why_len,
            "DATA_DIR: %s holds runs from before the schema's history: run this as the role that "
            "owns the schema",
            p->db->dir.path);
    return err;
}

/* --- the mark ------------------------------------------------------------------------------------- */

/* Before the first row goes over: a start from the directory would run what has gone a second time. */
static enum hl_err mark(struct hl_passage *p, const struct hl_config *config)
{
    char where[400];
    const char *path = p->db->dir.path;
    enum hl_err err = hl_imported_mark_read(path, &p->move);
    if (err != HL_ERR_NOT_FOUND && err != HL_ERR_INVALID)
        return err;
    snprintf(where, sizeof(where),
        "hookline store import has moved this store to PostgreSQL, schema %.*s. It starts no more.",
        HL_STR_ARG(config->postgres_schema));
    p->move = hl_id_next(&p->ids, p->now_ms);
    err = hl_imported_mark_write(path, &p->move, where);
    if (err)
        snprintf(p->why, p->why_len, "DATA_DIR: cannot write in %s: %s", path, hl_err_text(err));
    return err;
}

/* --- the whole ------------------------------------------------------------------------------------ */

static enum hl_err carry_stage(struct hl_passage *p)
{
    static enum hl_err (*const stages[])(struct hl_passage * p) = {
        [HL_IMPORT_SIGNING_KEY] = hl_import_signing_key,
        [HL_IMPORT_RUNS] = hl_import_runs,
        [HL_IMPORT_DELIVERIES] = hl_import_deliveries,
        [HL_IMPORT_DONE] = NULL,
    };
    return stages[p->stage] ? stages[p->stage](p) : hl_import_rows(p);
}

/* A lock that was not to be had, a deadlock with a replica: once more from the last note on. */
static enum hl_err go_back(struct hl_passage *p)
{
    hl_pg_columns_clear(&p->rows);
    hl_pg_columns_clear(&p->more);
    enum hl_err err = hl_pg_session_run(&p->session, "ROLLBACK", p->why, p->why_len);
    return err ? err : hl_passage_resume(p);
}

static enum hl_err carry(struct hl_passage *p)
{
    enum hl_err err = hl_passage_resume(p);
    for (int tries = 1; !err && p->stage < HL_IMPORT_DONE;) {
        err = carry_stage(p);
        if (err == HL_ERR_UNAVAILABLE && p->session.sqlstate[0] && tries++ < TRIES)
            err = go_back(p);
    }
    return err;
}

static enum hl_err carry_over(struct hl_passage *p, const struct hl_config *config)
{
    struct hl_pg_settings settings;
    hl_pg_settings_init(&settings, config);
    settings.ttl_ms = 0; /* it joins nobody: any lifetime is right */
    enum hl_err err = hl_pg_session_open(&p->session, &settings, NULL, p->why, p->why_len);
    if (err) {
        hl_pg_session_name_setting(err, p->why, p->why_len);
        return err;
    }
    p->now_ms = hl_clock_wall_ms(); /* the database's */
    err = prepare_schema(p, config);
    if (!err)
        err = make_room(p);
    if (!err)
        err = mark(p, config);
    if (!err)
        err = carry(p);
    hl_pg_session_close(&p->session);
    hl_pg_session_name_setting(err, p->why, p->why_len);
    return err;
}

static enum hl_err import_with(struct hl_passage *p, const struct hl_shared_keys *keys,
    const struct hl_config *config, const char *data_dir)
{
    enum hl_err err = hl_import_source_open(&p->db, data_dir, keys, p->why, p->why_len);
    if (!err)
        err = hl_sealer_init_shared(&p->sealer, keys);
    if (!err) {
        p->db->keep_requests = config->keep_requests;
        err = carry_over(p, config);
    }
    hl_sealer_fini(&p->sealer);
    if (p->db)
        hl_sqlite_free(p->db);
    return err;
}

enum hl_err hl_import(const struct hl_config *config, const char *data_dir,
    struct hl_imported *done, char *why, size_t why_len)
{
    struct hl_shared_keys keys;
    struct hl_passage p = {.done = done, .why = why, .why_len = why_len};
    *done = (struct hl_imported){0};
    snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
    hl_pg_columns_init(&p.rows);
    hl_pg_columns_init(&p.more);
    hl_pg_params_init(&p.params);
    hl_id_source_init(&p.ids);
    enum hl_err err = hl_shared_keys_open(&keys, config, why, why_len);
    if (!err)
        err = import_with(&p, &keys, config, data_dir);
    hl_pg_columns_fini(&p.rows);
    hl_pg_columns_fini(&p.more);
    hl_pg_params_fini(&p.params);
    hl_shared_keys_wipe(&keys);
    return err;
}
