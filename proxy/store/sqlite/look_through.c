/* look_through.c - `hookline store check`: what in a data directory is missing, damaged or another's (backup.h). */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "store/body_file.h"
#include "store/key.h"
#include "store/path.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/database.h"
#include "store/sqlite/snapshot.h"

static enum hl_err report_rows(
    const struct hl_snapshot *s, const char *sql, struct hl_buf *problems)
{
    sqlite3_stmt *st = NULL;
    enum hl_err err = HL_OK;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
    while (rc == SQLITE_OK && !err && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *line = (const char *)sqlite3_column_text(st, 0);
        rc = SQLITE_OK;
        if (line && strcmp(line, "ok") != 0)
            err = hl_buf_printf(problems, "%s\n", line);
    }
    if (!err && rc != SQLITE_DONE)
        err = hl_buf_printf(problems, "%s\n", sqlite3_errmsg(s->db));
    sqlite3_finalize(st);
    return err;
}

struct bodies {
    const char *dir;
    uint64_t n;
    struct hl_buf *problems;
};

static enum hl_err look_at_body(
    void *data, const struct hl_id *file, uint64_t size, const struct hl_id *run_id)
{
    struct bodies *bodies = data;
    char name[HL_ID_TEXT], run[HL_ID_TEXT];
    bodies->n++;
    if (hl_body_file_is_of_size(bodies->dir, file, size))
        return HL_OK;
    hl_id_format(file, name);
    hl_id_format(run_id, run);
    return hl_buf_printf(bodies->problems,
        "the file %.*s of the run %.*s is missing or has another length\n", HL_ID_TEXT, name,
        HL_ID_TEXT, run);
}

static enum hl_err report_bodies(
    const struct hl_snapshot *s, struct hl_looked_through *done, struct hl_buf *problems)
{
    struct bodies bodies = {.dir = s->dir, .problems = problems};
    enum hl_err err = hl_snapshot_each_body(s, look_at_body, &bodies);
    done->bodies = bodies.n;
    return err && err != HL_ERR_NOMEM ? hl_buf_printf(problems, "%s\n", sqlite3_errmsg(s->db))
                                      : err;
}

/* Only what is there can be wrong: a key that is kept elsewhere is not missed. */
static enum hl_err report_key(const struct hl_snapshot *s, struct hl_str key_file,
    struct hl_looked_through *done, struct hl_buf *problems)
{
    char path[HL_PATH_MAX], why[HL_PATH_MAX];
    struct hl_key key;
    struct stat st;
    uint8_t stored[HL_KEY_SIZE];
    int n;
    enum hl_err err = hl_key_path(path, key_file, s->dir);
    if (err)
        return err;
    done->has_key = stat(path, &st) == 0;
    if (!done->has_key)
        return HL_OK;
    if (hl_key_load(&key, path, HL_KEY_MISSED, why, sizeof(why)) != HL_OK)
        return hl_buf_printf(problems, "%s\n", why);
    int rc = hl_meta_read_key_check(s->db, stored, &n);
    bool is_other = rc == SQLITE_OK && n >= 0 &&
                    (n != HL_KEY_SIZE || memcmp(stored, key.check, HL_KEY_SIZE) != 0);
    hl_key_wipe(&key);
    return is_other ? hl_buf_printf(
                          problems, "the key file %s is not the one that it was made with\n", path)
                    : HL_OK;
}

enum hl_err hl_look_through(const char *data_dir, struct hl_str key_file,
    struct hl_looked_through *done, struct hl_buf *problems, char *why, size_t why_len)
{
    *done = (struct hl_looked_through){0};
    struct hl_snapshot s;
    enum hl_err err = hl_backup_check(data_dir, why, why_len);
    if (err)
        return err;
    err = hl_snapshot_begin(&s, data_dir, why, why_len);
    if (!err)
        err = report_rows(&s, "PRAGMA integrity_check(100)", problems);
    if (!err)
        err = report_rows(&s,
            "SELECT 'a row of ' || \"table\" || ' names one of ' || parent || ' that does not "
            "exist' FROM pragma_foreign_key_check LIMIT 100",
            problems);
    if (!err)
        err = report_bodies(&s, done, problems);
    if (!err)
        err = report_key(&s, key_file, done, problems);
    if (!err)
        done->runs = (uint64_t)hl_snapshot_ask(&s, "SELECT count(*) FROM run");
    hl_snapshot_end(&s);
    return err;
}
