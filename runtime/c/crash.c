/* crash.c - a last line in the log when a function crashes.
 * Thread: any. The handler calls nothing but the log, which takes no memory, and waits for the lines
 * before its own for a time only.
 * Promise: the process then dies of the same signal, as if nobody had looked. */
#include "c/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/log_sink.h"

#define STACK_SIZE (64 * 1024) /* a line of the log is 4 KiB, made on the stack */

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"},
    {SIGABRT, "SIGABRT"}};

static _Thread_local const char *volatile watched_function, *volatile watched_run;
static _Thread_local char *stack;

static void on_crash(int number)
{
    const char *name = "";
    for (size_t i = 0; i < HL_ARRAY_LEN(signals); i++)
        if (signals[i].number == number)
            name = signals[i].name;
    struct hl_log_field fields[4] = {HL_LOG_TEXT("signal", name)};
    if (watched_function) {
        fields[0] = HL_LOG_TEXT("run_id", watched_run);
        fields[1] = HL_LOG_TEXT("function", watched_function);
        fields[2] = HL_LOG_TEXT("signal", name);
    }
    /* The thread may hold the log's lock. */
    char line[HL_LOG_LINE_MAX];
    size_t n = hl_log_build(line, HL_LOG_ERROR,
        watched_function ? "the function crashed" : "hookline-function crashed", fields);
    hl_log_sink_put_last(line, n);
    raise(number); /* SA_RESETHAND: this time it is the system's */
}

void hl_crash_init(void)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(signals); i++) {
        struct sigaction present, ours;
        memset(&ours, 0, sizeof(ours));
        ours.sa_handler = on_crash;
        ours.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK);
        if (sigaction(signals[i].number, NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            sigaction(signals[i].number, &ours, NULL);
    }
}

/* A signal that is blocked cannot be handled; and what a function starts as a process of its own
 * inherits what this thread blocks. */
static void unblock_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

bool hl_crash_begin_thread(void)
{
    unblock_signals();
    stack = malloc(STACK_SIZE);
    return stack && sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_SIZE}, NULL) == 0;
}

void hl_crash_end_thread(void)
{
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE, .ss_size = STACK_SIZE}, NULL);
    free(stack);
    stack = NULL;
}

void hl_crash_watch(const char *function, const char *run_id)
{
    watched_run = run_id;
    watched_function = function;
}
