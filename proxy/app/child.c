/* child.c - fork and exec of our own, the environment that the app finds, and children that we did not start.
 * Owns: the three pipes until the child is closed. Thread: control; the only place in the process
 * that forks, so that every child but this one is an orphan.
 * Promise: between fork and exec only async-signal-safe calls are made, for other threads may have
 * held any lock; no descriptor of ours, those of libraries included, is open in the program.
 * Not here: when it is started and what follows its end (supervisor.c, which waits for it by its id). */
#include "app/child.h"

#include <dirent.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "config/choice.h"
#include "config/command.h"
#include "config/config.h"
#include "config/option.h"

/* ---- its environment ---- */

#define ADDED_MAX  5
#define ENTRY_ROOM (HL_USER_TEXT + 32) /* a path of a socket is shorter than a user's home */

/* libpq's variables that are a secret or name a file that has one (PostgreSQL's manual, "Environment
 * Variables"). With another store than postgres they are the app's own. */
static const char *const postgres_secrets[] = {
    "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY"};

static bool is_secret(struct hl_str name, enum hl_store_kind store)
{
    const struct hl_option *option = hl_option_find(name);
    if (option && option->is_secret)
        return true;
    for (size_t i = 0; i < HL_ARRAY_LEN(postgres_secrets) && store == HL_STORE_POSTGRES; i++) {
        if (hl_str_eq(name, hl_str_from(postgres_secrets[i])))
            return true;
    }
    return false;
}

/* Whether the app may not see the variable of that name. */
static bool is_kept_back(struct hl_str name, enum hl_store_kind store)
{
    const struct hl_str suffix = HL_STR("_FILE");
    if (is_secret(name, store))
        return true;
    if (name.n < suffix.n || memcmp(name.p + name.n - suffix.n, suffix.p, suffix.n) != 0)
        return false;
    return is_secret((struct hl_str){name.p, name.n - suffix.n}, store);
}

/* The entries that are ours to set, one behind the other in `space`. */
struct additions {
    char *entries[ADDED_MAX];
    size_t n;
    char *space;
};

static void add(struct additions *a, const char *name, const char *value)
{
    a->entries[a->n] = a->space + a->n * ENTRY_ROOM;
    snprintf(a->entries[a->n], ENTRY_ROOM, "%s=%s", name, value);
    a->n++;
}

static void add_all(struct additions *a, const struct hl_config *config, const struct hl_user *user)
{
    char port[8];
    if (config->app_url.is_unix) {
        add(a, "SOCKET", config->app_url.path);
        add(a, "HOOKLINE_FUNCTION_SOCKET", config->app_url.path);
    } else {
        snprintf(port, sizeof(port), "%u", (unsigned)config->app_url.port);
        add(a, "PORT", port);
    }
    if (user && user->name[0]) {
        add(a, "HOME", user->home);
        add(a, "USER", user->name);
        add(a, "LOGNAME", user->name);
    }
}

static bool is_replaced(const struct additions *a, const char *entry, size_t name_len)
{
    for (size_t i = 0; i < a->n; i++)
        if (strncmp(a->entries[i], entry, name_len) == 0 && a->entries[i][name_len] == '=')
            return true;
    return false;
}

char **hl_environment_for_app(
    char *const *environment, const struct hl_config *config, const struct hl_user *user)
{
    size_t count = 0, n = 0;
    while (environment[count])
        count++;
    size_t table = (count + ADDED_MAX + 1) * sizeof(char *);
    char **out = malloc(table + (size_t)ADDED_MAX * ENTRY_ROOM);
    if (!out)
        return NULL;
    struct additions additions = {.space = (char *)out + table};
    add_all(&additions, config, user);
    for (size_t i = 0; i < count; i++) {
        size_t name_len = strcspn(environment[i], "=");
        if (!is_kept_back((struct hl_str){environment[i], name_len}, config->store) &&
            !is_replaced(&additions, environment[i], name_len))
            out[n++] = environment[i];
    }
    for (size_t i = 0; i < additions.n; i++)
        out[n++] = additions.entries[i];
    out[n] = NULL;
    return out;
}

/* ---- its start ---- */

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

/* From which nothing is read: where there is no /dev, a pipe that nobody writes into. */
static int open_nothing(void)
{
    int ends[2], fd = open("/dev/null", O_RDONLY);
    if (fd >= 0 || pipe(ends) != 0)
        return fd;
    close(ends[1]);
    return ends[0];
}

_Noreturn static void run_program(
    const struct hl_child_plan *plan, pid_t parent, int out, int err, int status)
{
    struct rlimit now = plan->files;
    int in = open_nothing();
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

/* ---- what it leaves behind ---- */

void hl_orphan_adopt(void)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        HL_LOG(WARN, "cannot become the parent of processes that the app leaves behind");
}

void hl_orphan_reap(pid_t own)
{
    for (;;) {
        siginfo_t info = {0};
        /* Looked at first, taken afterwards: the status of `own` belongs to its waiter. */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == own)
            return;
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* The children that the kernel lists for one of our threads. */
static unsigned kill_children_of(const char *thread)
{
    char path[64];
    int pid;
    unsigned killed = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", thread);
    FILE *list = fopen(path, "re");
    if (!list)
        return 0;
    while (fscanf(list, "%d", &pid) == 1)
        if (getsid(pid) != getsid(0) && kill(pid, SIGKILL) == 0)
            killed++;
    fclose(list);
    return killed;
}

unsigned hl_orphan_kill(void)
{
    unsigned killed = 0;
    struct dirent *entry;
    DIR *threads = opendir("/proc/self/task");
    if (!threads)
        return 0;
    while ((entry = readdir(threads)) != NULL)
        if (entry->d_name[0] != '.')
            killed += kill_children_of(entry->d_name);
    closedir(threads);
    return killed;
}
