/* reader.c - a thread that answers questions. It sees what was committed before it looks: a reply of
 * the store's thread that was seen is seen here too. Each answer is made in one transaction, so that
 * it shows one moment. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/mailbox.h"
#include "loop/thread.h"
#include "store/alert.h"
#include "store/audit.h"
#include "store/op.h"
#include "store/operation.h"
#include "store/path.h"
#include "store/sqlite/reading.h"

struct hl_sqlite_reader {
    struct hl_thread thread;
    struct hl_mailbox box;
    sem_t wake;
    atomic_bool is_stopping;
    struct hl_reading reading;

    /* What the store's thread wants of the connection, and waits for. */
    _Atomic enum wish { WISH_NONE, WISH_REST, WISH_RESUME } wish;
    sem_t is_done;
    char path[HL_PATH_MAX];
    const struct hl_key *key;
};

/* --- answers -------------------------------------------------------------------------------- */

static enum hl_err answer_get_settings(struct hl_reading *r, struct hl_store_msg *m)
{
    return hl_sqlite_answer_text(r, "settings", &((struct hl_get_settings *)m)->value);
}

static enum hl_err answer_get_alerts(struct hl_reading *r, struct hl_store_msg *m)
{
    return hl_sqlite_answer_text(r, "alerts", &((struct hl_get_alerts *)m)->value);
}

enum hl_err hl_sqlite_reader_answer(struct hl_reading *r, struct hl_store_msg *m)
{
    static hl_sqlite_answer *const answers[] = {
        [HL_STORE_GET_RUN] = hl_sqlite_answer_get_run,
        [HL_STORE_LIST_RUNS] = hl_sqlite_answer_list_runs,
        [HL_STORE_GET_DELIVERY] = hl_sqlite_answer_get_delivery,
        [HL_STORE_LIST_DELIVERIES] = hl_sqlite_answer_list_deliveries,
        [HL_STORE_LIST_DESTINATIONS] = hl_sqlite_answer_list_destinations,
        [HL_STORE_LIST_APPS] = hl_sqlite_answer_list_apps,
        [HL_STORE_OVERVIEW] = hl_sqlite_answer_overview,
        [HL_STORE_LIST_ERRORS] = hl_sqlite_answer_list_errors,
        [HL_STORE_LIST_ACCOUNTS] = hl_sqlite_answer_list_accounts,
        [HL_STORE_LIST_AUDIT] = hl_sqlite_answer_list_audit,
        [HL_STORE_LIST_JOBS] = hl_sqlite_answer_list_jobs,
        [HL_STORE_LIST_JOB_PIECES] = hl_sqlite_answer_list_job_pieces,
        [HL_STORE_GET_SETTINGS] = answer_get_settings,
        [HL_STORE_GET_ALERTS] = answer_get_alerts,
    };
    hl_sqlite_answer *answer = m->msg.type < HL_ARRAY_LEN(answers) ? answers[m->msg.type] : NULL;
    return answer ? answer(r, m) : HL_ERR_INVALID;
}

/* The moment that is shown is that of the first statement inside. */
static enum hl_err answer_at_once(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_sql_row none;
    if (!r->db)
        return HL_ERR_UNAVAILABLE;
    enum hl_err err = hl_reading_row(r, HL_ASK_BEGIN, &none);
    if (err != HL_ERR_NOT_FOUND)
        return err;
    enum hl_err rc = hl_sqlite_reader_answer(r, m);
    err = hl_reading_row(r, HL_ASK_END, &none);
    return rc || err == HL_ERR_NOT_FOUND ? rc : err;
}

static void answer_all(struct hl_sqlite_reader *r)
{
    for (struct hl_msg *msg = hl_mailbox_take(&r->box), *next; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        hl_operation_end(m, answer_at_once(&r->reading, m));
        hl_mailbox_post(m->reply_to, msg);
    }
}

/* --- the thread ----------------------------------------------------------------------------- */

static void fulfil(struct hl_sqlite_reader *r)
{
    char why[256];
    enum wish wish = atomic_exchange(&r->wish, WISH_NONE);
    if (wish == WISH_NONE)
        return;
    hl_reading_close(&r->reading);
    if (wish == WISH_RESUME &&
        hl_reading_open(&r->reading, r->path, r->key, why, sizeof(why)) != HL_OK)
        hl_reading_close(&r->reading);
    sem_post(&r->is_done);
}

static void wish(struct hl_sqlite_reader *r, enum wish wish)
{
    if (!r)
        return;
    atomic_store(&r->wish, wish);
    sem_post(&r->wake);
    while (sem_wait(&r->is_done) != 0)
        continue;
}

void hl_sqlite_reader_rest(struct hl_sqlite_reader *r)
{
    wish(r, WISH_REST);
}

void hl_sqlite_reader_resume(struct hl_sqlite_reader *r)
{
    wish(r, WISH_RESUME);
}

static void run(void *arg)
{
    struct hl_sqlite_reader *r = arg;
    while (!atomic_load(&r->is_stopping)) {
        fulfil(r);
        answer_all(r);
        sem_wait(&r->wake);
    }
    answer_all(r);
}

static void wake(void *arg)
{
    struct hl_sqlite_reader *r = arg;
    sem_post(&r->wake);
}

static void free_reader(struct hl_sqlite_reader *r)
{
    hl_reading_close(&r->reading);
    sem_destroy(&r->wake);
    sem_destroy(&r->is_done);
    free(r);
}

enum hl_err hl_sqlite_reader_start(struct hl_sqlite_reader **out, const char *data_dir,
    const char *path, const struct hl_key *key, char *why, size_t why_len)
{
    struct hl_sqlite_reader *r = calloc(1, sizeof(*r));
    if (!r || sem_init(&r->wake, 0, 0) < 0 || sem_init(&r->is_done, 0, 0) < 0) {
        free(r);
        snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
        return HL_ERR_NOMEM;
    }
    hl_mailbox_init(&r->box, wake, r);
    r->reading.data_dir = data_dir;
    r->key = key;
    enum hl_err err = hl_path(r->path, "%s", path);
    if (!err)
        err = hl_reading_open(&r->reading, path, key, why, why_len);
    if (err) {
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

void hl_sqlite_reader_post(struct hl_sqlite_reader *r, struct hl_store_msg *m)
{
    hl_mailbox_post(&r->box, &m->msg);
}

void hl_sqlite_reader_stop(struct hl_sqlite_reader *r)
{
    if (!r)
        return;
    atomic_store(&r->is_stopping, true);
    sem_post(&r->wake);
    hl_thread_join(&r->thread);
    free_reader(r);
}
