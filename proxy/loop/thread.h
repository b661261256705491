/* thread.h - named threads to which no signal is sent (the control thread takes them), and what libuv does not do
 * well by itself: the end of a watched signal, its memory, its pool of threads. */
#ifndef HL_LOOP_THREAD_H
#define HL_LOOP_THREAD_H

#include <pthread.h>
#include <uv.h>

struct hl_thread {
    pthread_t handle;
    void (*main)(void *arg);
    void *arg;
    char name[16]; /* what ps and gdb show; the kernel keeps 15 characters */
};

/* 0 or an errno value. `t` stays valid until the join. */
int hl_thread_start(struct hl_thread *t, const char *name, void (*main)(void *arg), void *arg);
void hl_thread_join(struct hl_thread *t);

/* ---- the end of watching a signal ---- */

/* Closes the handle and leaves the signal ignored. uv_close alone leaves its default action, which
 * would end a process that has not finished its end. */
void hl_signal_close(uv_signal_t *handle);

/* ---- memory for libuv ---- */

/* Before the first loop; harmless again. */
void hl_loop_memory_set(void);

/* ---- libuv's pool of threads, which it makes when it is first asked for work, and ends the process if it cannot ---- */

/* Makes them, while somebody can still be told that there are too few. `loop` has to run once more. 0 or
 * an errno value. */
int hl_work_pool_start(uv_loop_t *loop);

#endif
