/* process.h - one program that `hookline dev` runs, in a session of its own; what it writes is shown line by
 * line behind its label. */
#ifndef HL_DEV_PROCESS_H
#define HL_DEV_PROCESS_H

#include <stdio.h>
#include <uv.h>

#include "app/child.h"
#include "base/buf.h"
#include "dev/line.h"

/* On the heap: a handle takes a turn of the loop to close, and the next process may start before. */
struct hl_dev_pipe {
    uv_pipe_t handle;
    struct hl_dev_process *process;
    struct hl_buf line; /* what has no end yet */
};

struct hl_dev_process {
    const char *label;
    enum hl_dev_speaker speaker; /* set before it is started */
    uv_loop_t *loop;
    FILE *out;
    /* It has ended, with a status of waitpid. NULL: nobody cares. */
    void (*on_exit)(void *self, int status);
    void *self;

    struct hl_child child; /* pid 0: it does not run */
    struct hl_buf last;    /* the last lines it wrote since it was started, each with its newline */
    struct hl_dev_pipe *pipes[2]; /* NULL: closed */
    uv_timer_t timer;             /* from SIGTERM to SIGKILL */
};

void hl_dev_process_init(struct hl_dev_process *p, uv_loop_t *loop, const char *label, FILE *out);
/* Not while it runs. False: it has said why not. */
bool hl_dev_process_start(struct hl_dev_process *p, char *const *argv, char *const *environment);
/* SIGTERM, and SIGKILL two seconds later, for all that it has started. */
void hl_dev_process_stop(struct hl_dev_process *p);
void hl_dev_process_kill(struct hl_dev_process *p);
/* A child has ended: perhaps this one. What it has written is shown before on_exit is called. */
void hl_dev_process_reap(struct hl_dev_process *p);
/* Not while it runs. Its handles close with the loop's next turns. */
void hl_dev_process_close(struct hl_dev_process *p);
static inline bool hl_dev_process_runs(const struct hl_dev_process *p)
{
    return p->child.pid > 0;
}

#endif
