/* reader.c - answers questions on a read-only connection. Its thread owns the connection. It sees
 * what was committed before it looks: a reply of the store's thread that was seen is seen here too.
 * Read-only matters: this connection can neither write nor checkpoint (database.c says why). */
#include "store/sqlite/reader.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "loop/thread.h"
#include "store/message.h"
#include "store/sqlite/answer.h"

static const char *const texts[] = {
#define X(name, text) [HL_ASK_##name] = (text),
    HL_ASK_MAP(X)
#undef X
};

struct hl_reader {
    struct hl_thread thread;
    struct hl_mailbox box;
    sem_t wake;
    atomic_bool is_stopping;
    struct hl_reading reading;
};

/* --- statements ----------------------------------------------------------------------------- */

struct hl_sql_args hl_reading_bind(struct hl_reading *r, enum hl_ask which)
{
    return (struct hl_sql_args){.st = r->st[which]};
}

enum hl_err hl_reading_row(struct hl_reading *r, enum hl_ask which, struct hl_sql_row *row)
{
    int rc = sqlite3_step(r->st[which]);
    *row = (struct hl_sql_row){.st = r->st[which]};
    if (rc == SQLITE_ROW)
        return HL_OK;
    enum hl_err err = rc == SQLITE_DONE ? HL_ERR_NOT_FOUND : hl_sql_err(r->db, rc);
    if (rc != SQLITE_DONE)
        HL_LOG(ERROR, "store: a question could not be answered",
            HL_LOG_TEXT("why", sqlite3_errmsg(r->db)), HL_LOG_TEXT("statement", texts[which]));
    hl_reading_done(r, which);
    return err;
}

void hl_reading_done(struct hl_reading *r, enum hl_ask which)
{
    sqlite3_reset(r->st[which]);
}

struct hl_id hl_id_last(void)
{
    struct hl_id id;
    memset(id.b, 0xff, sizeof(id.b));
    return id;
}

/* RFC 9562 5.7: 48 bits of milliseconds come first. */
struct hl_id hl_id_first_at(int64_t ms)
{
    struct hl_id id = {{0}};
    for (int i = 0; i < 6; i++)
        id.b[5 - i] = (uint8_t)(ms >> (8 * i));
    return id;
}

/* --- answers -------------------------------------------------------------------------------- */

static enum hl_err answer(struct hl_reading *r, struct hl_store_msg *m)
{
    switch (m->msg.type) {
    case HL_STORE_GET_RUN:
        return hl_answer_get_run(r, (struct hl_get_run *)m);
    case HL_STORE_LIST_RUNS:
        return hl_answer_list_runs(r, (struct hl_list_runs *)m);
    case HL_STORE_GET_DELIVERY:
        return hl_answer_get_delivery(r, (struct hl_get_delivery *)m);
    case HL_STORE_LIST_DELIVERIES:
        return hl_answer_list_deliveries(r, (struct hl_list_deliveries *)m);
    case HL_STORE_LIST_APPS:
        return hl_answer_list_apps(r, (struct hl_list_apps *)m);
    case HL_STORE_LIST_ACCOUNTS:
        return hl_answer_list_accounts(r, (struct hl_list_accounts *)m);
    default:
        return HL_ERR_INVALID;
    }
}

/* The moment that is shown is that of the first statement inside. */
static enum hl_err answer_at_once(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_sql_row none;
    enum hl_err err = hl_reading_row(r, HL_ASK_BEGIN, &none);
    if (err != HL_ERR_NOT_FOUND)
        return err;
    enum hl_err rc = answer(r, m);
    err = hl_reading_row(r, HL_ASK_END, &none);
    if (rc)
        hl_question_clear(m);
    return rc || err == HL_ERR_NOT_FOUND ? rc : err;
}

static void answer_all(struct hl_reader *r)
{
    for (struct hl_msg *msg = hl_mailbox_take(&r->box), *next; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        m->rc = answer_at_once(&r->reading, m);
        hl_mailbox_post(m->reply_to, msg);
    }
}

/* --- the thread ----------------------------------------------------------------------------- */

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

static int connect_to(struct hl_reading *r, const char *path)
{
    int rc = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(r->db, 1000);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(r->db, "PRAGMA mmap_size = 0", NULL, NULL, NULL);
    for (int i = 0; rc == SQLITE_OK && i < HL_ASK_COUNT; i++)
        rc = sqlite3_prepare_v3(r->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &r->st[i], NULL);
    return rc;
}

static void free_reader(struct hl_reader *r)
{
    for (int i = 0; i < HL_ASK_COUNT; i++)
        sqlite3_finalize(r->reading.st[i]);
    sqlite3_close(r->reading.db);
    hl_sealer_fini(&r->reading.sealer);
    sem_destroy(&r->wake);
    free(r);
}

enum hl_err hl_reader_start(
    struct hl_reader **out, const char *path, const struct hl_key *key, char *why, size_t why_len)
{
    struct hl_reader *r = calloc(1, sizeof(*r));
    if (!r || sem_init(&r->wake, 0, 0) < 0) {
        free(r);
        snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
        return HL_ERR_NOMEM;
    }
    hl_mailbox_init(&r->box, wake, r);
    enum hl_err err = hl_sealer_init(&r->reading.sealer, key);
    int rc = err ? SQLITE_NOMEM : connect_to(&r->reading, path);
    if (rc != SQLITE_OK) {
        snprintf(why, why_len, "cannot read the store %s: %s", path,
            err ? hl_err_text(err) : sqlite3_errmsg(r->reading.db));
        err = err ? err : hl_sql_err(r->reading.db, rc);
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
