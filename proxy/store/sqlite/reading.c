/* reading.c - see reading.h. */
#include "store/sqlite/reading.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "store/operation.h"

/* --- opening and closing -------------------------------------------------------------------- */

static int prepare(struct hl_reading *r)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < HL_ASK_COUNT; i++) {
        rc = sqlite3_prepare_v3(
            r->db, hl_ask_statements[i].text, -1, SQLITE_PREPARE_PERSISTENT, &r->st[i], NULL);
        (void)hl_reading_bind(r, (enum hl_ask)i);
    }
    return rc;
}

static int connect_to(struct hl_reading *r, const char *path)
{
    int rc = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(r->db, 1000);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(r->db, "PRAGMA mmap_size = 0", NULL, NULL, NULL);
    return rc == SQLITE_OK ? prepare(r) : rc;
}

enum hl_err hl_reading_open(
    struct hl_reading *r, const char *path, const struct hl_key *key, char *why, size_t why_len)
{
    enum hl_err err = hl_sealer_init(&r->sealer, key);
    int rc = err ? SQLITE_NOMEM : connect_to(r, path);
    if (rc == SQLITE_OK)
        return HL_OK;
    snprintf(why, why_len, "cannot read the store %s: %s", path,
        err ? hl_err_text(err) : sqlite3_errmsg(r->db));
    return err ? err : hl_sql_err(r->db, rc);
}

enum hl_err hl_reading_share(struct hl_reading *r, sqlite3 *db, const struct hl_key *key)
{
    r->db = db;
    r->is_shared = true;
    enum hl_err err = hl_sealer_init(&r->sealer, key);
    return err ? err : hl_sql_err(db, prepare(r));
}

void hl_reading_close(struct hl_reading *r)
{
    for (int i = 0; i < HL_ASK_COUNT; i++) {
        sqlite3_finalize(r->st[i]);
        r->st[i] = NULL;
    }
    if (!r->is_shared)
        sqlite3_close(r->db);
    r->db = NULL;
    hl_sealer_fini(&r->sealer);
}

/* --- statements ----------------------------------------------------------------------------- */

struct hl_sql_args *hl_reading_bind(struct hl_reading *r, enum hl_ask which)
{
    hl_sql_args_begin(&r->args[which], r->st[which], &hl_ask_statements[which]);
    return &r->args[which];
}

enum hl_err hl_reading_row(struct hl_reading *r, enum hl_ask which, struct hl_sql_row *row)
{
    HL_ASSERT(r->args[which].unbound == 0);
    int rc = sqlite3_step(r->st[which]);
    *row = (struct hl_sql_row){.st = r->st[which]};
    if (rc == SQLITE_ROW)
        return HL_OK;
    enum hl_err err = rc == SQLITE_DONE ? HL_ERR_NOT_FOUND : hl_sql_err(r->db, rc);
    if (rc != SQLITE_DONE)
        HL_LOG(ERROR, "store: a query could not be answered",
            HL_LOG_TEXT("why", sqlite3_errmsg(r->db)),
            HL_LOG_TEXT("statement", hl_ask_statements[which].name));
    hl_reading_done(r, which);
    return err;
}

void hl_reading_done(struct hl_reading *r, enum hl_ask which)
{
    sqlite3_reset(r->st[which]);
}

enum hl_err hl_reading_count(struct hl_reading *r, enum hl_ask which, uint64_t *count)
{
    struct hl_sql_row row;
    enum hl_err err = hl_reading_row(r, which, &row);
    if (err)
        return err;
    *count = (uint64_t)hl_sql_int(&row);
    hl_reading_done(r, which);
    return HL_OK;
}

/* --- lists ---------------------------------------------------------------------------------- */

enum hl_err hl_reading_list(struct hl_reading *r, enum hl_ask which, struct hl_store_msg *list,
    enum hl_err (*read_row)(struct hl_sql_row *row, struct hl_store_msg *list))
{
    struct hl_sql_row row;
    enum hl_err err = hl_operation_open_listing(list);
    while (!err && !(err = hl_reading_row(r, which, &row)))
        err = read_row(&row, list);
    hl_reading_done(r, which);
    return err == HL_ERR_NOT_FOUND ? hl_operation_close_listing(list) : err;
}
