/* fork.c - what a process that a function forks has of its host.
 * Owns: whether this process is one. Thread: any; the handlers run on the one that forks.
 * Promise: a child is never in the middle of a change between hl_fork_hold and hl_fork_release.
 * Not here: which descriptors are the server's (server.c), how a child ends (each host). */
#include "core/fork.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "core/host_log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_watching, is_child; /* changed while there is one thread, and read by any */

/* Under the lock. */
static struct {
    void *server;
    void (*let_go)(void *server);
    bool takes_signals;
} served;

/* libuv's signal handlers write to a pipe that a child shares with us: what ends it would stop this
 * process. So a child forgets them, and no signal reaches it before. */
static _Thread_local sigset_t mask_before;

static void before_fork(void)
{
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGINT);
    pthread_sigmask(SIG_BLOCK, &taken, &mask_before);
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

static void in_child(void)
{
    is_child = true;
    hl_host_log_begin_child();
    if (served.server && served.takes_signals) {
        signal(SIGTERM, SIG_DFL);
        signal(SIGINT, SIG_DFL);
    }
    if (served.server)
        served.let_go(served.server);
    served.server = NULL; /* what a child forks in its turn has nothing to let go of */
    after_fork();
}

static void watch(void)
{
    is_watching = pthread_atfork(before_fork, after_fork, in_child) == 0;
}

enum hl_err hl_fork_watch(void)
{
    pthread_once(&once, watch);
    return is_watching ? HL_OK : HL_ERR_NOMEM;
}

bool hl_fork_is_child(void)
{
    return is_child;
}

void hl_fork_hold(void)
{
    pthread_mutex_lock(&lock);
}

void hl_fork_release(void)
{
    pthread_mutex_unlock(&lock);
}

void hl_fork_set_server(void *server, void (*let_go)(void *server), bool takes_signals)
{
    pthread_mutex_lock(&lock);
    served.server = server;
    served.let_go = let_go;
    served.takes_signals = takes_signals;
    pthread_mutex_unlock(&lock);
}

void hl_fork_drop_server(const void *server)
{
    pthread_mutex_lock(&lock);
    if (served.server == server)
        served.server = NULL;
    pthread_mutex_unlock(&lock);
}
