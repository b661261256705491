/* snapshot.c - see snapshot.h. */
#include "store/sqlite/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/data_dir.h"
#include "store/path.h"
#include "store/sqlite/statement.h"

#define BUSY_MS 10000

static enum hl_err explain_db(struct hl_snapshot *s, int rc, char *why, size_t why_len)
{
    snprintf(why, why_len, "%s/hookline.db: %s", s->dir, sqlite3_errmsg(s->db));
    enum hl_err err = hl_sql_err(s->db, rc);
    return err ? err : HL_ERR_IO;
}

static enum hl_err open_store(struct hl_snapshot *s, char *why, size_t why_len)
{
    char path[HL_PATH_MAX];
    struct stat st;
    enum hl_err err = hl_path(path, "%s/hookline.db", s->dir);
    if (err) {
        snprintf(why, why_len, "cannot read %s: %s", s->dir, hl_err_text(err));
        return err;
    }
    if (stat(path, &st) < 0) {
        snprintf(why, why_len, "cannot read the store %s: %s", path, strerror(errno));
        return hl_err_from_errno(errno);
    }
    if (st.st_size == 0) {
        snprintf(why, why_len, "there is no store in %s", path);
        return HL_ERR_NOT_FOUND;
    }
    int rc = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(s->db, BUSY_MS);
    return rc == SQLITE_OK ? HL_OK : explain_db(s, rc, why, why_len);
}

enum hl_err hl_snapshot_begin(struct hl_snapshot *s, const char *dir, char *why, size_t why_len)
{
    *s = (struct hl_snapshot){.dir = dir, .bodies_fd = -1};
    enum hl_err err = open_store(s, why, why_len);
    if (err)
        return err;
    s->bodies_fd = hl_data_dir_hold_bodies(dir);
    if (s->bodies_fd < 0) {
        snprintf(
            why, why_len, "cannot protect from removal the bodies in %s: %s", dir, strerror(errno));
        return hl_err_from_errno(errno);
    }
    int rc = sqlite3_exec(s->db, "BEGIN; SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
    return rc == SQLITE_OK ? HL_OK : explain_db(s, rc, why, why_len);
}

void hl_snapshot_end(struct hl_snapshot *s)
{
    sqlite3_close(s->db);
    if (s->bodies_fd >= 0)
        close(s->bodies_fd);
}

int64_t hl_snapshot_ask(const struct hl_snapshot *s, const char *sql)
{
    sqlite3_stmt *st = NULL;
    int64_t n = 0;
    if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

enum hl_err hl_snapshot_each_body(const struct hl_snapshot *s, hl_snapshot_body each, void *data)
{
    static const char sql[] =
        "SELECT body_file, body_size, run_id FROM ticket WHERE body_file IS NOT NULL"
        " UNION ALL SELECT body_file, body_size, run_id FROM result WHERE body_file IS NOT NULL"
        " UNION ALL SELECT body_file, body_size, run_id FROM request WHERE body_file IS NOT NULL";
    sqlite3_stmt *st = NULL;
    enum hl_err err = HL_OK;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    for (; rc == SQLITE_ROW && !err; rc = err ? rc : sqlite3_step(st)) {
        struct hl_sql_row row = {.st = st};
        struct hl_id file, run_id;
        if (!hl_sql_id(&row, &file))
            continue;
        uint64_t size = (uint64_t)hl_sql_int(&row);
        hl_sql_id(&row, &run_id);
        err = each(data, &file, size, &run_id);
    }
    sqlite3_finalize(st);
    if (err || rc == SQLITE_DONE)
        return err;
    err = hl_sql_err(s->db, rc);
    return err ? err : HL_ERR_IO;
}
