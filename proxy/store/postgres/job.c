/* job.c - see job.h. */
#include "store/postgres/job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "store/postgres/session.h"

/* How long who leaves a job waits for it to end. */
#define LEAVE_SECONDS 2

struct hl_pg_job {
    pthread_t thread;
    pthread_mutex_t lock; /* held while `arg` is used */
    uv_async_t *done;
    bool is_done;
    bool is_left; /* nobody waits for it: it frees itself */
    atomic_bool is_cancelled;
    struct hl_pg_settings settings;
    char *url;
    hl_pg_work work;
    void *arg;
    PGconn *conn;
    enum hl_err err;
    char why[HL_PG_WHY_MAX];
};

static void free_job(struct hl_pg_job *job)
{
    PQfinish(job->conn);
    pthread_mutex_destroy(&job->lock);
    explicit_bzero(job->url, strlen(job->url));
    free(job->url);
    free(job);
}

static void *run(void *arg)
{
    struct hl_pg_job *job = arg;
    struct hl_pg_session session;
    enum hl_err err = hl_pg_session_open(
        &session, &job->settings, &job->is_cancelled, job->why, sizeof(job->why));
    pthread_mutex_lock(&job->lock);
    if (!err && !job->is_left)
        err = job->work(&session, job->arg, job->why, sizeof(job->why));
    if (err)
        hl_pg_session_close(&session);
    job->err = err;
    job->conn = session.conn;
    hl_buf_fini(&session.setup);
    job->is_done = true;
    bool is_left = job->is_left;
    if (!is_left)
        uv_async_send(job->done);
    pthread_mutex_unlock(&job->lock);
    if (is_left)
        free_job(job);
    return NULL;
}

static bool start_thread(struct hl_pg_job *job)
{
    if (pthread_create(&job->thread, NULL, run, job) != 0)
        return false;
    pthread_setname_np(job->thread, "hl-store-job");
    return true;
}

struct hl_pg_job *hl_pg_job_start(
    const struct hl_pg_settings *settings, hl_pg_work work, void *arg, uv_async_t *done)
{
    struct hl_pg_job *job = calloc(1, sizeof(*job));
    char *url = strdup(settings->url);
    if (!job || !url) {
        free(job);
        free(url);
        return NULL;
    }
    pthread_mutex_init(&job->lock, NULL);
    job->settings = *settings;
    job->settings.url = job->url = url;
    job->work = work;
    job->arg = arg;
    job->done = done;
    if (start_thread(job))
        return job;
    free_job(job);
    return NULL;
}

bool hl_pg_job_is_done(struct hl_pg_job *job)
{
    pthread_mutex_lock(&job->lock);
    bool is_done = job->is_done;
    pthread_mutex_unlock(&job->lock);
    return is_done;
}

enum hl_err hl_pg_job_end(struct hl_pg_job *job, PGconn **conn, char *why, size_t why_len)
{
    pthread_join(job->thread, NULL);
    enum hl_err err = job->err;
    *conn = err ? NULL : job->conn;
    if (!err)
        job->conn = NULL;
    snprintf(why, why_len, "%s", err ? job->why : "");
    free_job(job);
    return err;
}

/* It sees soon that it is cancelled, unless a name server holds it up. One that is in the middle of
 * libpq or OpenSSL when the process exits would use what those have freed: its thread is waited for. */
void hl_pg_job_leave(struct hl_pg_job *job)
{
    struct timespec until;
    if (!job)
        return;
    atomic_store(&job->is_cancelled, true);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LEAVE_SECONDS;
    if (pthread_timedjoin_np(job->thread, NULL, &until) == 0) {
        free_job(job);
        return;
    }
    pthread_detach(job->thread);
    pthread_mutex_lock(&job->lock);
    bool is_done = job->is_done;
    job->is_left = true;
    pthread_mutex_unlock(&job->lock);
    if (is_done)
        free_job(job);
}
