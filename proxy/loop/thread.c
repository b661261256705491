/* thread.c - a named thread with all signals blocked: the control thread takes them. */
#include "loop/thread.h"

#include <signal.h>
#include <stdio.h>

#include "base/assert.h"

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
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&t->handle, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

void hl_thread_join(struct hl_thread *t)
{
    HL_ASSERT(pthread_join(t->handle, NULL) == 0);
}
