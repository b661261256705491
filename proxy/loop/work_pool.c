/* work_pool.c - see work_pool.h. Thread: control, at the start.
 * Not here: who has work for the pool (body/). */
#include "loop/work_pool.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

#include "loop/thread.h"

#define POOL_USUAL 4 /* libuv's numbers */
#define POOL_MAX   1024

static unsigned count_threads(void)
{
    const char *said = getenv("UV_THREADPOOL_SIZE");
    int n = said ? atoi(said) : POOL_USUAL;
    if (n == 0)
        return 1;
    return n < 0 || n > POOL_MAX ? POOL_MAX : (unsigned)n;
}

static void wait_for_end(void *arg)
{
    sem_t *end = arg;
    while (sem_wait(end) != 0)
        continue;
}

/* Whether so many can be had beside those that there are: tried with our own, for libuv aborts. */
static int try_threads(unsigned n)
{
    sem_t end;
    struct hl_thread *threads = calloc(n, sizeof(*threads));
    if (!threads || sem_init(&end, 0, 0) != 0) {
        free(threads);
        return ENOMEM;
    }
    int err = 0;
    unsigned started = 0;
    while (started < n && err == 0) {
        err = hl_thread_start(&threads[started], "hl-trial", wait_for_end, &end);
        started += err == 0;
    }
    for (unsigned i = 0; i < started; i++)
        sem_post(&end);
    for (unsigned i = 0; i < started; i++)
        hl_thread_join(&threads[i]);
    sem_destroy(&end);
    free(threads);
    return err;
}

static void on_work(uv_work_t *work)
{
    (void)work;
}

static void on_done(uv_work_t *work, int status)
{
    (void)status;
    free(work);
}

int hl_work_pool_start(uv_loop_t *loop)
{
    int err = try_threads(count_threads());
    uv_work_t *work = err ? NULL : malloc(sizeof(*work));
    if (!work)
        return err ? err : ENOMEM;
    /* Its threads take no signals, as ours do not. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = uv_queue_work(loop, work, on_work, on_done);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        free(work);
    return -rc;
}
