/* signal.c - blocked while libuv gives the signal its default action back: what comes meanwhile
 * waits, and is gone when it is ignored. Our threads have all signals blocked (thread.c). */
#include "loop/signal.h"

#include <pthread.h>
#include <signal.h>

void hl_signal_close(uv_signal_t *handle)
{
    sigset_t all, before;
    int signum = handle->signum;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uv_close((uv_handle_t *)handle, NULL);
    if (signum != 0) /* 0: it was never started */
        signal(signum, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
