/* process.c - see process.h. Thread: main. */
#include "dev/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv/unix.h>

#define END_MS         2000
#define LINE_MAX_BYTES (64 * 1024)
#define LAST_LINES     5
#define LAST_BYTES     400 /* of each */

static void on_late(uv_timer_t *timer);

void hl_dev_process_init(struct hl_dev_process *p, uv_loop_t *loop, const char *label, FILE *out)
{
    *p = (struct hl_dev_process){.label = label, .loop = loop, .out = out};
    hl_buf_init(&p->last, 0);
    uv_timer_init(loop, &p->timer);
    p->timer.data = p;
}

/* ---- what it writes ---- */

static void remember(struct hl_dev_process *p, struct hl_str line)
{
    size_t lines = 0, first = 0;
    line.n = line.n < LAST_BYTES ? line.n : LAST_BYTES;
    if (hl_buf_append_str(&p->last, line) != HL_OK || hl_buf_append(&p->last, "\n", 1) != HL_OK)
        return;
    for (size_t i = 0; i < p->last.n; i++)
        lines += p->last.p[i] == '\n';
    for (; lines > LAST_LINES; first++)
        lines -= p->last.p[first] == '\n';
    hl_buf_drop(&p->last, first);
}

static void show(struct hl_dev_process *p, struct hl_str written)
{
    struct hl_buf lines;
    hl_buf_init(&lines, 0);
    hl_dev_line_read(p->speaker, written, &lines);
    struct hl_str rest = hl_buf_str(&lines);
    for (const char *end; rest.n > 0 && (end = memchr(rest.p, '\n', rest.n)) != NULL;) {
        struct hl_str line = {rest.p, (size_t)(end - rest.p)};
        remember(p, line);
        fprintf(p->out, "%-8s | %.*s\n", p->label, HL_STR_ARG(line));
        rest = (struct hl_str){end + 1, rest.n - line.n - 1};
    }
    fflush(p->out);
    hl_buf_fini(&lines);
}

static void show_lines(struct hl_dev_pipe *pipe)
{
    struct hl_str rest = hl_buf_str(&pipe->line);
    for (const char *end; rest.n > 0 && (end = memchr(rest.p, '\n', rest.n)) != NULL;) {
        struct hl_str line = {rest.p, (size_t)(end - rest.p)};
        show(pipe->process, line);
        rest = (struct hl_str){end + 1, rest.n - line.n - 1};
    }
    if (rest.n > LINE_MAX_BYTES) {
        show(pipe->process, rest);
        rest.n = 0;
    }
    hl_buf_drop(&pipe->line, pipe->line.n - rest.n);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    static char room[16 * 1024];
    (void)handle;
    (void)wanted;
    *out = uv_buf_init(room, sizeof(room));
}

static void on_pipe_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void close_pipe(struct hl_dev_pipe *pipe)
{
    for (size_t i = 0; i < 2; i++)
        if (pipe->process->pipes[i] == pipe)
            pipe->process->pipes[i] = NULL;
    if (pipe->line.n > 0)
        show(pipe->process, hl_buf_str(&pipe->line));
    hl_buf_fini(&pipe->line);
    uv_close((uv_handle_t *)&pipe->handle, on_pipe_closed);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct hl_dev_pipe *pipe = stream->data;
    if (n < 0) {
        close_pipe(pipe);
    } else if (n > 0) {
        if (hl_buf_append(&pipe->line, bytes->base, (size_t)n) == HL_OK)
            show_lines(pipe);
    }
}

/* What is in the pipe now: who else has it open does not matter. */
static void empty_pipe(struct hl_dev_pipe *pipe)
{
    char room[16 * 1024];
    uv_os_fd_t fd;
    ssize_t n;
    if (!pipe)
        return;
    int rc = uv_fileno((uv_handle_t *)&pipe->handle, &fd);
    while (rc == 0 && (n = read(fd, room, sizeof(room))) > 0)
        if (hl_buf_append(&pipe->line, room, (size_t)n) == HL_OK)
            show_lines(pipe);
    close_pipe(pipe);
}

static void open_pipes(struct hl_dev_process *p)
{
    for (size_t i = 0; i < 2; i++) {
        struct hl_dev_pipe *pipe = calloc(1, sizeof(*pipe));
        if (!pipe)
            return;
        p->pipes[i] = pipe;
        pipe->process = p;
        hl_buf_init(&pipe->line, 0);
        uv_pipe_init(p->loop, &pipe->handle, 0);
        pipe->handle.data = pipe;
        if (uv_pipe_open(&pipe->handle, p->child.output[i]) == 0)
            p->child.output[i] = -1;
        uv_read_start((uv_stream_t *)&pipe->handle, on_room, on_output);
    }
}

/* ---- its life ---- */

bool hl_dev_process_start(struct hl_dev_process *p, char *const *argv, char *const *environment)
{
    char path[4096];
    int error = 0;
    if (!hl_child_find(argv[0], environment, path, sizeof(path)))
        error = errno;
    hl_buf_drop(&p->last, p->last.n);
    struct hl_child_plan plan = {.path = path, .argv = argv, .environment = environment};
    getrlimit(RLIMIT_NOFILE, &plan.files);
    if (error == 0)
        error = hl_child_start(&p->child, &plan);
    if (error != 0) {
        fprintf(p->out, "%-8s | %s cannot be run: %s\n", p->label, argv[0], strerror(error));
        fflush(p->out);
        return false;
    }
    open_pipes(p);
    return true;
}

static void signal_all(const struct hl_dev_process *p, int signum)
{
    if (hl_dev_process_runs(p))
        kill(-p->child.pid, signum);
}

static void on_late(uv_timer_t *timer)
{
    signal_all(timer->data, SIGKILL);
}

void hl_dev_process_stop(struct hl_dev_process *p)
{
    signal_all(p, SIGTERM);
    uv_timer_start(&p->timer, on_late, END_MS, 0);
}

void hl_dev_process_kill(struct hl_dev_process *p)
{
    signal_all(p, SIGKILL);
}

void hl_dev_process_reap(struct hl_dev_process *p)
{
    int status;
    if (!hl_dev_process_runs(p) || waitpid(p->child.pid, &status, WNOHANG) != p->child.pid)
        return;
    uv_timer_stop(&p->timer);
    signal_all(p, SIGKILL); /* what it has left behind in its group */
    hl_child_close(&p->child);
    for (size_t i = 0; i < 2; i++)
        empty_pipe(p->pipes[i]);
    if (p->on_exit)
        p->on_exit(p->self, status);
}

void hl_dev_process_close(struct hl_dev_process *p)
{
    for (size_t i = 0; i < 2; i++)
        if (p->pipes[i])
            close_pipe(p->pipes[i]);
    hl_buf_fini(&p->last);
    uv_close((uv_handle_t *)&p->timer, NULL);
}
