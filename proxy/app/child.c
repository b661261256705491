/* child.c - fork and exec of our own.
 * Owns: the three pipes until the child is closed. Thread: control; the only place in the process
 * that forks, so that every child but this one is an orphan (orphan.c).
 * Promise: between fork and exec only async-signal-safe calls are made, for other threads may have
 * held any lock; no descriptor of ours, those of libraries included, is open in the program.
 * Not here: when it is started and what follows its end (supervisor.c), its environment
 * (environment.c). */
#include "app/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/command.h"

#define DEFAULT_PATH   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define FIRST_FREE_FD  10 /* descriptors are moved up here, out of the way of 0 to 3 */
#define STATUS_FD      3
#define NOT_RUN_STATUS 127

/* ---- the program ---- */

static const char *find_variable(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

static bool is_program(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    errno = EACCES;
    return S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

static bool is_too_long(int printed, size_t out_len)
{
    errno = ENAMETOOLONG;
    return printed < 0 || (size_t)printed >= out_len;
}

bool hl_child_find(const char *word, char *const *environment, char *out, size_t out_len)
{
    int worst = ENOENT;
    if (strchr(word, '/'))
        return !is_too_long(snprintf(out, out_len, "%s", word), out_len) && is_program(out);
    const char *path = find_variable(environment, "PATH");
    for (path = path ? path : DEFAULT_PATH; path; path = strchr(path, ':')) {
        path += *path == ':';
        int n = (int)strcspn(path, ":");
        int printed = snprintf(out, out_len, "%.*s/%s", n ? n : 1, n ? path : ".", word);
        if (!is_too_long(printed, out_len) && is_program(out))
            return true;
        if (errno == EACCES)
            worst = EACCES;
    }
    errno = worst;
    return false;
}

/* ---- in the child ---- */

_Noreturn static void give_up(int status_fd, enum hl_child_step step)
{
    struct hl_child_failure failure = {.step = step, .error = errno};
    ssize_t n = write(status_fd, &failure, sizeof(failure));
    (void)n; /* whoever would read it has gone */
    _exit(NOT_RUN_STATUS);
}

/* As a program expects to find them; libuv's handlers would write into our pipes. */
static void reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int signum = 1; signum < NSIG; signum++)
        sigaction(signum, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Kernels before 5.9 have no close_range. */
static void close_from(unsigned first, rlim_t most)
{
    if (close_range(first, ~0U, 0) == 0)
        return;
    if (most > INT32_MAX)
        most = INT32_MAX;
    for (unsigned fd = first; fd < most; fd++)
        close((int)fd);
}

static bool arrange_descriptors(int in, int out, int err, int status)
{
    /* First out of each other's way: ours may be among 0 to 3. */
    in = fcntl(in, F_DUPFD, FIRST_FREE_FD);
    out = fcntl(out, F_DUPFD, FIRST_FREE_FD);
    err = fcntl(err, F_DUPFD, FIRST_FREE_FD);
    status = fcntl(status, F_DUPFD, FIRST_FREE_FD);
    return dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
           dup2(err, STDERR_FILENO) >= 0 && dup2(status, STATUS_FD) >= 0 &&
           fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC) == 0;
}

static bool become(const struct hl_user *user)
{
    return setgroups((size_t)user->group_count, user->groups) == 0 &&
           setresgid(user->gid, user->gid, user->gid) == 0 &&
           setresuid(user->uid, user->uid, user->uid) == 0;
}

_Noreturn static void run_program(
    const struct hl_child_plan *plan, pid_t parent, int out, int err, int status)
{
    struct rlimit now = plan->files;
    int in = open("/dev/null", O_RDONLY);
    getrlimit(RLIMIT_NOFILE, &now);
    if (in < 0 || setsid() < 0 || !arrange_descriptors(in, out, err, status))
        give_up(status, HL_CHILD_STEP_SETUP);
    close_from(STATUS_FD + 1, now.rlim_cur);
    setrlimit(RLIMIT_NOFILE, &plan->files);
    if (plan->user && !become(plan->user))
        give_up(STATUS_FD, HL_CHILD_STEP_USER);
    /* Behind the change of user, which would undo it; and the parent may have gone before it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        give_up(STATUS_FD, HL_CHILD_STEP_SETUP);
    if (getppid() != parent)
        _exit(NOT_RUN_STATUS);
    reset_signals();
    execve(plan->path, plan->argv, plan->environment);
    give_up(STATUS_FD, HL_CHILD_STEP_EXEC);
}

/* ---- in the parent ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0 || fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) != 0)
            return errno;
    return 0;
}

int hl_child_start(struct hl_child *child, const struct hl_child_plan *plan)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    sigset_t all, before;
    pid_t parent = getpid(), pid = -1;
    int error = open_pipes(pipes);
    if (error == 0) {
        /* Blocked from before the fork until the child has no handlers of ours any more. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = fork();
        if (pid == 0)
            run_program(plan, parent, pipes[0][1], pipes[1][1], pipes[2][1]);
        error = pid < 0 ? errno : 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    for (int i = 0; i < 3; i++) {
        close_fd(&pipes[i][1]);
        if (error != 0)
            close_fd(&pipes[i][0]);
    }
    *child = (struct hl_child){.pid = error == 0 ? pid : 0,
        .output = {pipes[0][0], pipes[1][0]},
        .failure_pipe = pipes[2][0]};
    return error;
}

bool hl_child_has_failed(const struct hl_child *child, struct hl_child_failure *out)
{
    return read(child->failure_pipe, out, sizeof(*out)) == (ssize_t)sizeof(*out);
}

void hl_child_close(struct hl_child *child)
{
    close_fd(&child->output[0]);
    close_fd(&child->output[1]);
    close_fd(&child->failure_pipe);
    child->pid = 0;
}
