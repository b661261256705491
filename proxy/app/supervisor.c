/* supervisor.c - starts the app's process, watches it, starts it again, stops it.
 * Owns: the process, its output, the signal handles. Thread: control, which is the process's first:
 * the kernel kills the app when that thread ends.
 * Promise: at most one app runs; one that ends is started again, the sooner the longer it was well;
 * nothing of it is left when the stop is reported, as far as the kernel lets us know.
 * Not here: what is run (launch.c), fork and exec (child.c), lines of output (output.c), whether it answers (readiness.c). */
#include "app/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/child.h"
#include "app/launch.h"
#include "app/occupant.h"
#include "app/readiness.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "loop/thread.h"

#define KILL_WAIT_MS 2000 /* for a process in a system call that cannot be broken off */

static const int passed_on[HL_SUPERVISOR_SIGNALS] = {SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH};

static const char *const state_texts[] = {
    [HL_SUPERVISOR_OFF] = "off",
    [HL_SUPERVISOR_RUNNING] = "running",
    [HL_SUPERVISOR_BACKOFF] = "backoff",
    [HL_SUPERVISOR_RENEWING] = "renewing",
    [HL_SUPERVISOR_DOZING] = "dozing",
    [HL_SUPERVISOR_RETIRING] = "retiring",
    [HL_SUPERVISOR_RESTING] = "resting",
    [HL_SUPERVISOR_STOPPING] = "stopping",
    [HL_SUPERVISOR_KILLED] = "killed",
    [HL_SUPERVISOR_STOPPED] = "stopped",
};

static const char *const start_texts[] = {
#define X(name, text) [HL_APP_START_##name] = (text),
    HL_APP_START_MAP(X)
#undef X
};

const char *hl_app_start_text(enum hl_app_start why)
{
    return start_texts[why];
}

static void on_timer(struct hl_timer *timer);
static void on_limit(struct hl_timer *timer);
static void on_hung(struct hl_readiness *readiness);

/* To the app's group; to its process alone while that has not made the group yet. */
static void signal_app(const struct hl_supervisor *s, int signum)
{
    if (kill(-s->child.pid, signum) != 0)
        kill(s->child.pid, signum);
}

static void set_state(struct hl_supervisor *s, enum hl_supervisor_state state)
{
    HL_LOG(DEBUG, "app's process", HL_LOG_TEXT("from", state_texts[s->state]),
        HL_LOG_TEXT("to", state_texts[state]));
    s->state = state;
}

bool hl_supervisor_init(
    struct hl_supervisor *s, const struct hl_supervisor_parts *parts, char *why, size_t why_len)
{
    *s = (struct hl_supervisor){.config = parts->config,
        .loop = parts->loop,
        .wheel = parts->wheel,
        .readiness = parts->readiness,
        .files = parts->files,
        .child = {.output = {-1, -1}, .failure_pipe = -1}};
    hl_output_init(
        &s->output, s->loop, s->wheel, &s->gauges.lines_logged, &s->gauges.lines_dropped);
    s->output.is_off = !s->config->app_log;
    hl_timer_init(&s->timer, on_timer);
    hl_timer_init(&s->limit, on_limit);
    if (s->config->app_restart_after_ms > 0) {
        s->readiness->on_hung = on_hung;
        s->readiness->owner = s;
    }
    if (!hl_launch_init(&s->launch, s->config, parts->environment, why, why_len))
        return false;
    if (hl_launch_is_wanted(&s->launch))
        hl_readiness_hold(s->readiness, "the app is not started yet");
    return true;
}

static bool has_process(const struct hl_supervisor *s)
{
    switch (s->state) {
    case HL_SUPERVISOR_RUNNING:
    case HL_SUPERVISOR_RENEWING:
    case HL_SUPERVISOR_DOZING:
    case HL_SUPERVISOR_STOPPING:
        return true;
    case HL_SUPERVISOR_RETIRING:
        return s->child.pid != 0;
    default:
        return false;
    }
}

/* ---- signals ---- */

static void on_passed_signal(uv_signal_t *handle, int signum)
{
    struct hl_supervisor *s = handle->data;
    bool is_running = has_process(s);
    HL_LOG(INFO,
        is_running ? "signal passed on to the app" : "signal not passed on: the app is not running",
        HL_LOG_TEXT("name", strsignal(signum)));
    if (is_running) /* its first process alone: servers tell their own workers */
        kill(s->child.pid, signum);
}

static void on_child_signal(uv_signal_t *handle, int signum);

static void watch(struct hl_supervisor *s, uv_signal_t *handle, uv_signal_cb on_signal, int signum)
{
    handle->data = s;
    if (uv_signal_init(s->loop, handle) != 0 || uv_signal_start(handle, on_signal, signum) != 0)
        HL_LOG(ERROR, "a signal cannot be watched", HL_LOG_TEXT("name", strsignal(signum)));
}

static void open_signals(struct hl_supervisor *s)
{
    s->is_open = true;
    watch(s, &s->on_child, on_child_signal, SIGCHLD);
    for (size_t i = 0; hl_launch_is_wanted(&s->launch) && i < HL_SUPERVISOR_SIGNALS; i++)
        watch(s, &s->passed[i], on_passed_signal, passed_on[i]);
}

static void close_signals(struct hl_supervisor *s)
{
    if (!s->is_open)
        return;
    s->is_open = false;
    uv_close((uv_handle_t *)&s->on_child, NULL);
    for (size_t i = 0; hl_launch_is_wanted(&s->launch) && i < HL_SUPERVISOR_SIGNALS; i++)
        hl_signal_close(&s->passed[i]);
}

/* ---- starting ---- */

/* `why` is static: it is what readiness says until the next start. */
static void start_later(struct hl_supervisor *s, const char *why, bool was_ready)
{
    uint64_t ms = hl_backoff_next(&s->backoff, was_ready, hl_clock_mono_ms() - s->started_ms);
    HL_LOG(WARN, "the app will be restarted", HL_LOG_INT("in_ms", ms),
        HL_LOG_INT("failures", s->backoff.failures));
    hl_readiness_hold(s->readiness, why);
    set_state(s, HL_SUPERVISOR_BACKOFF);
    hl_timer_arm(s->wheel, &s->timer, ms);
}

static void log_start_failure(const struct hl_supervisor *s, const char *what, int error)
{
    HL_LOG(ERROR, what, HL_LOG_TEXT("program", s->launch.command.argv[0]),
        HL_LOG_TEXT("error", strerror(error)), HL_LOG_TEXT("setting", "HOOKLINE_APP_COMMAND"));
}

static void start_app(struct hl_supervisor *s)
{
    char path[4096];
    s->started_ms = hl_clock_mono_ms();
    if (!hl_child_find(s->launch.command.argv[0], s->launch.environment, path, sizeof(path))) {
        log_start_failure(s, HL_LAUNCH_PROGRAM_LOST, errno);
        start_later(
            s, "the program of HOOKLINE_APP_COMMAND does not exist or cannot be executed", false);
        return;
    }
    hl_occupant_clear_socket(&s->config->app_url);
    hl_readiness_note_occupant(s->readiness);
    struct hl_child_plan plan = {.path = path,
        .argv = s->launch.command.argv,
        .environment = s->launch.environment,
        .user = s->launch.has_user ? &s->launch.user : NULL,
        .files = s->files};
    int error = hl_child_start(&s->child, &plan);
    if (error != 0) {
        log_start_failure(s, "the app cannot be started", error);
        start_later(s, "the app cannot be started, see the log", false);
        return;
    }
    set_state(s, HL_SUPERVISOR_RUNNING);
    hl_counter_add(&s->gauges.starts[s->next], 1);
    s->next = HL_APP_START_EXIT; /* unless we end it */
    if (s->config->app_start_limit_ms > 0)
        hl_timer_arm(s->wheel, &s->limit, s->config->app_start_limit_ms);
    hl_counter_add(&s->gauges.is_running, 1);
    HL_LOG(INFO, "the app was started", HL_LOG_INT("pid", s->child.pid));
    if (!hl_output_open(&s->output, s->child.output))
        HL_LOG(ERROR, "the app's output is not logged: out of memory");
    s->child.output[0] = s->child.output[1] = -1;
    hl_readiness_release(s->readiness, "the app is starting");
}

void hl_supervisor_start(struct hl_supervisor *s)
{
    if (!hl_launch_is_wanted(&s->launch) && getpid() != 1)
        return;
    open_signals(s);
    if (!hl_launch_is_wanted(&s->launch))
        return;
    hl_orphan_adopt();
    start_app(s);
}

/* ---- its end ---- */

static void finish_stop(struct hl_supervisor *s)
{
    set_state(s, HL_SUPERVISOR_STOPPED);
    hl_timer_fini(s->wheel, &s->timer);
    hl_timer_fini(s->wheel, &s->limit);
    hl_output_close(&s->output);
    close_signals(s);
    s->on_stopped(s);
}

static void rest(struct hl_supervisor *s)
{
    hl_timer_disarm(&s->timer);
    set_state(s, HL_SUPERVISOR_RESTING);
    s->on_resting(s);
}

/* The first process has ended, or there was none. What it started and left goes, too. */
static void clear_rest(struct hl_supervisor *s)
{
    hl_orphan_reap(0);
    if (hl_orphan_kill() > 0)
        return; /* their exits lead here again, or the timer ends it */
    if (s->on_stopped)
        finish_stop(s);
    else if (s->state == HL_SUPERVISOR_RETIRING)
        rest(s);
}

static const char *log_exit(const struct hl_supervisor *s, int status)
{
    struct hl_child_failure failure;
    if (hl_child_has_failed(&s->child, &failure)) {
        bool is_user = failure.step == HL_CHILD_STEP_USER;
        log_start_failure(s,
            is_user                               ? "the app cannot run as HOOKLINE_APP_USER"
            : failure.step == HL_CHILD_STEP_SETUP ? "the app cannot be started"
                                                  : "the app's program cannot be run",
            failure.error);
        return is_user ? "the app cannot run as HOOKLINE_APP_USER, see the log"
                       : "the program of HOOKLINE_APP_COMMAND cannot be run, see the log";
    }
    if (WIFSIGNALED(status)) {
        HL_LOG(WARN, "the app was terminated by a signal", HL_LOG_INT("pid", s->child.pid),
            HL_LOG_TEXT("signal", strsignal(WTERMSIG(status))));
        return "the app was terminated by a signal; it will be restarted";
    }
    int code = WEXITSTATUS(status);
    bool is_unknown = s->launch.command.is_shell && code == 127;
    HL_LOG(WARN, is_unknown ? "the shell did not find the app's program" : "the app ended",
        HL_LOG_INT("pid", s->child.pid), HL_LOG_INT("exit_status", code));
    if (code == 0) /* as the first process of one that goes into the background does */
        return "the app ended with status 0; HOOKLINE_APP_COMMAND has to stay in the foreground";
    return is_unknown ? "the shell did not find the program of HOOKLINE_APP_COMMAND"
                      : "the app ended; it will be restarted";
}

static void on_exit_status(struct hl_supervisor *s, int status)
{
    bool is_held = s->readiness->is_held; /* we end it, or it was asked to sleep or to wake */
    bool was_ready = is_held ? s->readiness->has_been_ready : hl_readiness_is_ready(s->readiness);
    hl_output_finish(&s->output);
    hl_counter_sub(&s->gauges.is_running, 1);
    hl_timer_disarm(&s->limit);
    if (s->state == HL_SUPERVISOR_RENEWING)
        hl_timer_disarm(&s->timer);
    if (s->state == HL_SUPERVISOR_RUNNING || s->state == HL_SUPERVISOR_RENEWING) {
        const char *why = log_exit(s, status);
        hl_child_close(&s->child);
        start_later(s, why, was_ready);
        return;
    }
    if (s->state == HL_SUPERVISOR_DOZING)
        log_exit(s, status);
    else
        HL_LOG(INFO, "the app has ended", HL_LOG_INT("pid", s->child.pid));
    hl_child_close(&s->child);
    bool rests = s->state == HL_SUPERVISOR_DOZING || s->state == HL_SUPERVISOR_RETIRING;
    set_state(s, rests ? HL_SUPERVISOR_RETIRING : HL_SUPERVISOR_KILLED);
    hl_timer_arm(s->wheel, &s->timer, KILL_WAIT_MS);
    clear_rest(s);
}

/* While the status is not taken the id of the group is not given to others: the rest of the group is
 * killed before. */
static void take_exit(struct hl_supervisor *s)
{
    siginfo_t info = {0};
    int status;
    pid_t pid = s->child.pid;
    if (pid == 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return;
    kill(-pid, SIGKILL);
    if (waitpid(pid, &status, WNOHANG) == pid)
        on_exit_status(s, status);
}

static void on_child_signal(uv_signal_t *handle, int signum)
{
    struct hl_supervisor *s = handle->data;
    (void)signum;
    take_exit(s);
    hl_orphan_reap(s->child.pid);
    bool is_last = s->state == HL_SUPERVISOR_KILLED || s->state == HL_SUPERVISOR_RETIRING;
    if (is_last && s->child.pid == 0)
        clear_rest(s);
}

static void kill_late(struct hl_supervisor *s)
{
    HL_LOG(WARN, "HOOKLINE_APP_STOP_TIMEOUT has passed; the app is killed");
    signal_app(s, SIGKILL);
}

static void rest_all_the_same(struct hl_supervisor *s)
{
    HL_LOG(ERROR, "a process of the app does not end");
    rest(s);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_supervisor *s = HL_CONTAINER_OF(timer, struct hl_supervisor, timer);
    switch (s->state) {
    case HL_SUPERVISOR_BACKOFF:
        start_app(s);
        break;
    case HL_SUPERVISOR_RENEWING:
        kill_late(s);
        break;
    case HL_SUPERVISOR_RETIRING:
        if (s->child.pid != 0)
            kill_late(s);
        else
            rest_all_the_same(s);
        break;
    case HL_SUPERVISOR_STOPPING:
        HL_LOG(WARN, "HOOKLINE_APP_STOP_TIMEOUT has passed; the app is killed");
        hl_supervisor_kill(s);
        break;
    case HL_SUPERVISOR_KILLED:
        HL_LOG(ERROR, "a process of the app does not end");
        hl_child_close(&s->child);
        if (s->on_stopped)
            finish_stop(s);
        break;
    default:
        break;
    }
}

/* ---- another one in its place ---- */

/* Calls inside end as their connections do. */
static void renew(struct hl_supervisor *s, enum hl_app_start why, int signum)
{
    s->next = why;
    hl_timer_disarm(&s->limit);
    hl_readiness_hold(s->readiness, "the app is being started again");
    set_state(s, HL_SUPERVISOR_RENEWING);
    signal_app(s, signum);
    hl_timer_arm(s->wheel, &s->timer, s->config->app_stop_timeout_ms);
}

static void on_limit(struct hl_timer *timer)
{
    struct hl_supervisor *s = HL_CONTAINER_OF(timer, struct hl_supervisor, limit);
    if (s->state != HL_SUPERVISOR_RUNNING || s->readiness->has_been_ready)
        return;
    HL_LOG(WARN, "HOOKLINE_APP_START_LIMIT has passed and the app was never ready; it is killed",
        HL_LOG_INT("pid", s->child.pid), HL_LOG_TEXT("cause", hl_readiness_why(s->readiness)));
    renew(s, HL_APP_START_START_TIMEOUT, SIGKILL);
}

static void on_hung(struct hl_readiness *readiness)
{
    struct hl_supervisor *s = readiness->owner;
    if (s->state != HL_SUPERVISOR_RUNNING)
        return;
    HL_LOG(WARN,
        "the app was not well for HOOKLINE_APP_RESTART_AFTER; it is stopped and started again",
        HL_LOG_INT("pid", s->child.pid), HL_LOG_TEXT("cause", hl_cause_text(readiness->worst)));
    renew(s, HL_APP_START_UNHEALTHY, SIGTERM);
}

/* ---- while nobody uses it ---- */

void hl_supervisor_retire(struct hl_supervisor *s)
{
    if (s->state == HL_SUPERVISOR_RETIRING) /* it has died in its sleep */
        return;
    HL_ASSERT(has_process(s) || s->state == HL_SUPERVISOR_BACKOFF);
    hl_timer_disarm(&s->limit);
    if (s->state == HL_SUPERVISOR_BACKOFF) {
        set_state(s, HL_SUPERVISOR_RETIRING);
        hl_timer_arm(s->wheel, &s->timer, KILL_WAIT_MS);
        clear_rest(s);
        return;
    }
    bool ends_already = s->state == HL_SUPERVISOR_RENEWING;
    set_state(s, HL_SUPERVISOR_RETIRING);
    if (ends_already)
        return;
    signal_app(s, SIGTERM);
    hl_timer_arm(s->wheel, &s->timer, s->config->app_stop_timeout_ms);
}

void hl_supervisor_rise(struct hl_supervisor *s)
{
    HL_ASSERT(s->state == HL_SUPERVISOR_RESTING);
    s->next = HL_APP_START_WAKE;
    start_app(s);
}

void hl_supervisor_doze(struct hl_supervisor *s)
{
    if (s->state == HL_SUPERVISOR_RUNNING)
        set_state(s, HL_SUPERVISOR_DOZING);
    else if (s->state != HL_SUPERVISOR_OFF)
        hl_supervisor_retire(s); /* it has ended since it was asked */
}

bool hl_supervisor_rouse(struct hl_supervisor *s)
{
    if (s->state == HL_SUPERVISOR_DOZING)
        set_state(s, HL_SUPERVISOR_RUNNING);
    return s->state != HL_SUPERVISOR_RETIRING;
}

/* ---- stopping ---- */

void hl_supervisor_stop(struct hl_supervisor *s, void (*on_stopped)(struct hl_supervisor *s))
{
    s->on_stopped = on_stopped;
    switch (s->state) {
    case HL_SUPERVISOR_RUNNING:
    case HL_SUPERVISOR_RENEWING:
    case HL_SUPERVISOR_DOZING:
        HL_LOG(INFO, "the app is being stopped", HL_LOG_INT("pid", s->child.pid));
        hl_readiness_end(s->readiness, "the app is being stopped");
        set_state(s, HL_SUPERVISOR_STOPPING);
        signal_app(s, SIGTERM);
        hl_timer_arm(s->wheel, &s->timer, s->config->app_stop_timeout_ms);
        break;
    case HL_SUPERVISOR_BACKOFF:
        set_state(s, HL_SUPERVISOR_KILLED);
        hl_timer_arm(s->wheel, &s->timer, KILL_WAIT_MS);
        clear_rest(s);
        break;
    case HL_SUPERVISOR_RETIRING: /* it was signalled, and its time runs */
        set_state(s, s->child.pid != 0 ? HL_SUPERVISOR_STOPPING : HL_SUPERVISOR_KILLED);
        if (s->child.pid == 0)
            clear_rest(s);
        break;
    case HL_SUPERVISOR_KILLED:
        if (s->child.pid == 0)
            clear_rest(s);
        break;
    default:
        finish_stop(s);
    }
}

void hl_supervisor_kill(struct hl_supervisor *s)
{
    bool is_running = has_process(s);
    if (!is_running && s->state != HL_SUPERVISOR_BACKOFF)
        return;
    hl_readiness_end(s->readiness, "the app is being stopped");
    set_state(s, HL_SUPERVISOR_KILLED);
    if (is_running)
        signal_app(s, SIGKILL);
    hl_timer_arm(s->wheel, &s->timer, KILL_WAIT_MS);
}

void hl_supervisor_fini(struct hl_supervisor *s)
{
    hl_launch_fini(&s->launch);
}
