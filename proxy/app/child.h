/* child.h - one process of the app: its environment; forked with nothing of ours but what
 * it is given; and what it leaves behind. */
#ifndef HL_APP_CHILD_H
#define HL_APP_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/compiler.h"

struct hl_config;
struct hl_user;

/* How it is to be run. Borrowed for the call. */
struct hl_child_plan {
    const char *path;           /* of the program: hl_child_find */
    char *const *argv;          /* ends with NULL */
    char *const *environment;   /* ends with NULL */
    const struct hl_user *user; /* NULL: stays who we are */
    struct rlimit files;        /* RLIMIT_NOFILE as we found it */
};

/* What went wrong between fork and the program's first instruction. */
enum hl_child_step { HL_CHILD_STEP_SETUP, HL_CHILD_STEP_USER, HL_CHILD_STEP_EXEC };

struct hl_child_failure {
    enum hl_child_step step;
    int error; /* errno value */
};

struct hl_child {
    pid_t pid;        /* of the process, its group and its session; 0: none */
    int output[2];    /* read ends of its stdout and stderr, non-blocking; -1: given away */
    int failure_pipe; /* its end says whether the program was reached */
};

/* The program that a command's first word means: the word itself if it has a slash, else what PATH
 * of that environment leads to. False: there is none; errno says why. */
HL_MUST_CHECK bool hl_child_find(
    const char *word, char *const *environment, char *out, size_t out_len);

/* Starts it: a session and process group of its own, stdin /dev/null, stdout and stderr pipes, no
 * other descriptor, signals as the system has them at first, SIGKILL when the calling thread ends.
 * 0 or an errno value. The calling thread must be the one that lives as long as the process does. */
HL_MUST_CHECK int hl_child_start(struct hl_child *child, const struct hl_child_plan *plan);

/* After its exit: whether it never became the program. */
bool hl_child_has_failed(const struct hl_child *child, struct hl_child_failure *out);

/* Closes what is left of it here. */
void hl_child_close(struct hl_child *child);

/* ---- its environment ---- */

/* Ours, without every variable that is a secret of hookline's or names the file of one (with
 * HOOKLINE_STORE=postgres libpq's too), and with
 *   PORT    the port of HOOKLINE_APP_URL; or, when that is a unix socket,
 *   SOCKET  its path, which HOOKLINE_FUNCTION_SOCKET says to the function hosts as well;
 *   HOME, USER, LOGNAME of `user`, if that is given and has a name.
 * One allocation, to be freed, that borrows the entries it keeps. NULL: out of memory. */
char **hl_environment_for_app(
    char *const *environment, const struct hl_config *config, const struct hl_user *user);

/* ---- what it leaves behind ---- */

/* From now on descendants of the app whose parent dies come to us and not to the system's init. */
void hl_orphan_adopt(void);

/* Takes the exit status of every orphan that has ended, so that none stays a zombie. `own` is left
 * to whoever waits for it, as is any child behind it until then. */
void hl_orphan_reap(pid_t own);

/* SIGKILL for what is left of the app: our children that are in other sessions than we are (the app
 * has one of its own). Returns how many there were. */
unsigned hl_orphan_kill(void);

#endif
