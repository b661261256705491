/* crew.c - the threads of handshakes.
 * Owns: the threads, the order of steps that wait.
 * Promise: at most HL_TLS_CREW_WAITING_MAX handshakes wait to be begun; the threads give way to the
 * workers, so that a flood of handshakes takes little of the time of calls.
 * Not here: what a step is (handshake.c). */
#include "tls/crew.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"

/* A new caller waits for its handshake: of a core that workers keep busy the threads still get a tenth. */
#define NICENESS 10

#define NS_IN_MS 1000000
#define NS_IN_S  1000000000

/* Under the lock. */
static struct hl_tls_step *next_step(struct hl_tls_crew *crew)
{
    struct hl_list *node = hl_list_pop_front(&crew->further);
    if (!node) {
        node = hl_list_pop_front(&crew->first);
        crew->first_n -= node != NULL;
    }
    return node ? HL_CONTAINER_OF(node, struct hl_tls_step, node) : NULL;
}

/* Under the lock, which is let go of meanwhile. Until there is something to do, or a tick is due. */
static void wait_awhile(struct hl_tls_crew *crew)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += HL_TLS_CREW_TICK_MS * NS_IN_MS;
    until.tv_sec += until.tv_nsec / NS_IN_S;
    until.tv_nsec %= NS_IN_S;
    pthread_cond_timedwait(&crew->wake, &crew->lock, &until);
}

/* Under the lock. */
static bool takes_tick(struct hl_tls_crew *crew)
{
    uint64_t now = hl_clock_mono_ms();
    if (now < crew->tick_due_ms || crew->stops)
        return false;
    crew->tick_due_ms = UINT64_MAX; /* until this one is over: one thread looks at the files */
    return true;
}

static void crew_main(void *arg)
{
    struct hl_tls_crew *crew = arg;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        bool ticks = takes_tick(crew);
        struct hl_tls_step *step = ticks ? NULL : next_step(crew);
        if (!ticks && !step && crew->stops)
            break;
        if (!ticks && !step) {
            wait_awhile(crew);
            continue;
        }
        bool is_late = crew->stops;
        pthread_mutex_unlock(&crew->lock);
        if (ticks)
            crew->on_tick(crew->arg);
        else
            step->run(step, is_late);
        pthread_mutex_lock(&crew->lock);
        if (ticks)
            crew->tick_due_ms = hl_clock_mono_ms() + HL_TLS_CREW_TICK_MS;
    }
    pthread_mutex_unlock(&crew->lock);
}

int hl_tls_crew_start(struct hl_tls_crew *crew)
{
    pthread_condattr_t attributes;
    hl_list_init(&crew->first);
    hl_list_init(&crew->further);
    crew->tick_due_ms = hl_clock_mono_ms() + HL_TLS_CREW_TICK_MS;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    for (; crew->started < HL_TLS_CREW_THREADS; crew->started++) {
        char name[16];
        snprintf(name, sizeof(name), "tls-%u", crew->started);
        int err = hl_thread_start(&crew->threads[crew->started], name, crew_main, crew);
        if (err)
            return err;
    }
    return 0;
}

void hl_tls_crew_stop(struct hl_tls_crew *crew)
{
    if (crew->started == 0)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->stops = true;
    pthread_cond_broadcast(&crew->wake);
    pthread_mutex_unlock(&crew->lock);
    for (; crew->started > 0; crew->started--)
        hl_thread_join(&crew->threads[crew->started - 1]);
}

bool hl_tls_crew_take(struct hl_tls_crew *crew, struct hl_tls_step *step, bool is_first)
{
    pthread_mutex_lock(&crew->lock);
    bool is_taken = !is_first || crew->first_n < HL_TLS_CREW_WAITING_MAX;
    if (is_taken)
        hl_list_push_back(is_first ? &crew->first : &crew->further, &step->node);
    crew->first_n += is_taken && is_first;
    pthread_cond_signal(&crew->wake);
    pthread_mutex_unlock(&crew->lock);
    return is_taken;
}
