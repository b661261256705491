/* thread.h - a named thread with all signals blocked (the control thread takes them). */
#ifndef HL_LOOP_THREAD_H
#define HL_LOOP_THREAD_H

#include <pthread.h>

struct hl_thread {
    pthread_t handle;
    void (*main)(void *arg);
    void *arg;
    char name[16]; /* what ps and gdb show; the kernel keeps 15 characters */
};

/* 0 or an errno value. `t` stays valid until the join. */
int hl_thread_start(struct hl_thread *t, const char *name, void (*main)(void *arg), void *arg);
void hl_thread_join(struct hl_thread *t);

#endif
