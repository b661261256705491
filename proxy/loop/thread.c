/* thread.c - named threads with all signals blocked: the control thread takes them; and what libuv is helped
 * with. Thread: any; the pool and its memory: control, at the start.
 * Not here: who has work for the pool (body/). */
#include "loop/thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <uv.h>

#include "base/assert.h"
#include "base/compiler.h"

/* What a thread does to itself is not blocked: the kernel would end the process before a sanitizer has said where. */
static void fill_mask(sigset_t *all)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigfillset(all);
    for (size_t i = 0; i < HL_ARRAY_LEN(own); i++)
        sigdelset(all, own[i]);
}

static void *run(void *arg)
{
    struct hl_thread *t = arg;
    pthread_setname_np(pthread_self(), t->name);
    t->main(t->arg);
    return NULL;
}

int hl_thread_start(struct hl_thread *t, const char *name, void (*main)(void *arg), void *arg)
{
    sigset_t all, before;
    t->main = main;
    t->arg = arg;
    snprintf(t->name, sizeof(t->name), "%s", name);

    /* A thread inherits the mask of its maker: blocked here, no signal can arrive before its first
     * line. */
    fill_mask(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&t->handle, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

void hl_thread_join(struct hl_thread *t)
{
    HL_ASSERT(pthread_join(t->handle, NULL) == 0);
}

/* ---- the end of watching a signal ---- */

/* Blocked while libuv gives the signal its default action back: what comes meanwhile waits, and is gone when
 * it is ignored. Our own threads have all signals blocked. */
void hl_signal_close(uv_signal_t *handle)
{
    sigset_t all, before;
    int signum = handle->signum;
    fill_mask(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uv_close((uv_handle_t *)handle, NULL);
    if (signum != 0) /* 0: it was never started */
        signal(signum, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- memory for libuv ---- */

/* libuv tells its callers when there is no memory, but for the list of descriptors that a loop watches: where
 * that cannot grow it aborts. It grows by doubling, and is what realloc is used for; so realloc waits until
 * there is memory again. Any thread. */
#define PAUSE_NS     (10 * 1000 * 1000)
#define PATIENCE_MAX 3000 /* pauses: 30 s */

static void *patient_realloc(void *p, size_t n)
{
    for (unsigned i = 0;; i++) {
        void *grown = realloc(p, n);
        if (grown || n == 0 || i == PATIENCE_MAX)
            return grown;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

void hl_loop_memory_set(void)
{
    (void)uv_replace_allocator(malloc, patient_realloc, calloc, free);
}

/* ---- libuv's pool of threads, which it makes when it is first asked for work, and ends the process if it cannot ---- */

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
    fill_mask(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = uv_queue_work(loop, work, on_work, on_done);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        free(work);
    return -rc;
}
