/* dev.h - `hookline dev`: an app under work with hookline in front of it, one command and no settings. */
#ifndef HL_DEV_DEV_H
#define HL_DEV_DEV_H

#include <stdbool.h>
#include <stdio.h>

enum hl_dev_app {
    HL_DEV_FILE,    /* a Python file of functions, run by the function host */
    HL_DEV_SCRIPT,  /* a JavaScript or TypeScript file of functions, run by hookline-functions */
    HL_DEV_MODULE,  /* a shared object of functions, run by hookline-function */
    HL_DEV_COMMAND, /* a program that listens at the port in PORT */
    HL_DEV_URL,     /* a server that runs already */
};

/* Borrowed. */
struct hl_dev_plan {
    enum hl_dev_app app;
    const char *file, *url;
    char *const *command; /* ends with NULL */
    /* how the receiver answers first: statuses, timeout, reset; NULL: well */
    const char *fail_hooks;
    char *const *environ;
    FILE *out, *err;
};

/* A function host runs the app. */
static inline bool hl_dev_has_host(const struct hl_dev_plan *plan)
{
    return plan->app < HL_DEV_COMMAND;
}

/* Until a signal, or until hookline ends: nothing that was started is left then. The status to exit with.
 * Blocks; the main thread, before all others. */
int hl_dev_run(const struct hl_dev_plan *plan);

#endif
