/* reader.c - answers GET_… on a read-only connection. Its thread owns the connection. It sees what
 * was committed before it looks: a reply of the store's thread that was seen is seen here too.
 * Read-only matters: this connection can neither write nor checkpoint (database.c says why). */
#include "store/sqlite/reader.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "loop/thread.h"
#include "store/query.h"
#include "store/sqlite/database.h"

static const char get_run_sql[] =
    "SELECT run.state, run.attempt,"
    " (SELECT count(*) FROM delivery WHERE delivery.run_id = run.run_id AND delivery.state = 0),"
    " (SELECT count(*) FROM delivery WHERE delivery.run_id = run.run_id AND delivery.state = 1),"
    " (SELECT count(*) FROM delivery WHERE delivery.run_id = run.run_id AND delivery.state = 2),"
    " result.id IS NOT NULL, " HL_SQL_RESULT
    " FROM run LEFT JOIN result ON result.id = run.result_id WHERE run.run_id = ?";

struct hl_reader {
    struct hl_thread thread;
    struct hl_mailbox box;
    sem_t wake;
    atomic_bool is_stopping;
    sqlite3 *db;
    sqlite3_stmt *get_run;
};

static enum hl_err read_body(struct hl_get_run *g, struct hl_str bytes)
{
    struct hl_body *body = &g->outcome.body;
    enum hl_err err = hl_sql_copy_body(body, bytes);
    if (err || body->where != HL_BODY_INLINE || hl_body_is_intact(body))
        return err;
    HL_LOG(ERROR, "store: a kept response is damaged", HL_LOG_ID("run_id", &g->run_id));
    uint64_t size = body->size;
    hl_body_fini(body);
    *body = (struct hl_body){.where = HL_BODY_DROPPED, .size = size};
    return HL_ERR_CORRUPT;
}

static enum hl_err read_run(struct hl_get_run *g, sqlite3_stmt *st)
{
    struct hl_sql_row row = {.st = st};
    g->run.state = (enum hl_run_state)hl_sql_int(&row);
    g->run.attempt = (uint32_t)hl_sql_int(&row);
    g->run.deliveries_pending = (uint32_t)hl_sql_int(&row);
    g->run.deliveries_ok = (uint32_t)hl_sql_int(&row);
    g->run.deliveries_dead = (uint32_t)hl_sql_int(&row);
    g->outcome = (struct hl_outcome){.state = g->run.state};
    if (!hl_sql_int(&row))
        return HL_OK;
    struct hl_str bytes;
    hl_sql_outcome(&row, &g->outcome, &bytes);
    return g->with_body ? read_body(g, bytes) : HL_OK;
}

static enum hl_err get_run(struct hl_reader *r, struct hl_get_run *g)
{
    struct hl_sql_args args = {.st = r->get_run};
    hl_sql_bind_id(&args, &g->run_id);
    int rc = sqlite3_step(r->get_run);
    enum hl_err err = rc == SQLITE_ROW    ? read_run(g, r->get_run)
                      : rc == SQLITE_DONE ? HL_ERR_NOT_FOUND
                                          : hl_sql_err(r->db, rc);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        HL_LOG(ERROR, "store: a run could not be read", HL_LOG_TEXT("why", sqlite3_errmsg(r->db)),
            HL_LOG_ID("run_id", &g->run_id));
    sqlite3_reset(r->get_run);
    return err;
}

static void answer_all(struct hl_reader *r)
{
    for (struct hl_msg *msg = hl_mailbox_take(&r->box), *next; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        m->rc = msg->type == HL_STORE_GET_RUN ? get_run(r, (struct hl_get_run *)m) : HL_ERR_INVALID;
        hl_mailbox_post(m->reply_to, msg);
    }
}

static void run(void *arg)
{
    struct hl_reader *r = arg;
    while (!atomic_load(&r->is_stopping)) {
        answer_all(r);
        sem_wait(&r->wake);
    }
    answer_all(r);
}

static void wake(void *arg)
{
    struct hl_reader *r = arg;
    sem_post(&r->wake);
}

static int connect_to(struct hl_reader *r, const char *path)
{
    int rc = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(r->db, 1000);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(r->db, "PRAGMA mmap_size = 0", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v3(
            r->db, get_run_sql, -1, SQLITE_PREPARE_PERSISTENT, &r->get_run, NULL);
    return rc;
}

static void free_reader(struct hl_reader *r)
{
    sqlite3_finalize(r->get_run);
    sqlite3_close(r->db);
    sem_destroy(&r->wake);
    free(r);
}

enum hl_err hl_reader_start(struct hl_reader **out, const char *path, char *why, size_t why_len)
{
    struct hl_reader *r = calloc(1, sizeof(*r));
    if (!r || sem_init(&r->wake, 0, 0) < 0) {
        free(r);
        snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
        return HL_ERR_NOMEM;
    }
    hl_mailbox_init(&r->box, wake, r);
    int rc = connect_to(r, path);
    if (rc != SQLITE_OK) {
        snprintf(why, why_len, "cannot read the store %s: %s", path, sqlite3_errmsg(r->db));
        enum hl_err err = hl_sql_err(r->db, rc);
        free_reader(r);
        return err;
    }
    int failed = hl_thread_start(&r->thread, "hl-store-read", run, r);
    if (failed) {
        snprintf(why, why_len, "cannot start the store's reader: %s", strerror(failed));
        free_reader(r);
        return hl_err_from_errno(failed);
    }
    *out = r;
    return HL_OK;
}

void hl_reader_post(struct hl_reader *r, struct hl_store_msg *m)
{
    hl_mailbox_post(&r->box, &m->msg);
}

void hl_reader_stop(struct hl_reader *r)
{
    if (!r)
        return;
    atomic_store(&r->is_stopping, true);
    sem_post(&r->wake);
    hl_thread_join(&r->thread);
    free_reader(r);
}
