/* fork.h - what a process that a function forks has of its host: the function's own code to run, and
 * nothing else. No descriptor of the host's stays open in it, and a host that finds itself in one ends
 * it (hl_fork_is_child) instead of serving on. */
#ifndef HL_RUNTIME_FORK_H
#define HL_RUNTIME_FORK_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

/* From here on forks are noticed. Before any code of the functions runs; harmless twice.
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_fork_watch(void);

/* This process was forked after hl_fork_watch, by this one's host or by a child of it. Any thread. */
bool hl_fork_is_child(void);

/* Nobody forks between the two: what is done there is seen whole or not at all by a child. Short, on
 * a thread that never forks; not nested. */
void hl_fork_hold(void);
void hl_fork_release(void);

/* One server of the process: `let_go(server)` runs in a child, on its only thread, and may do nothing
 * but close descriptors. With `takes_signals` SIGTERM and SIGINT do in a child what the system does
 * with them. Any thread. */
void hl_fork_set_server(void *server, void (*let_go)(void *server), bool takes_signals);
/* It is not a server any more. Harmless when it never was. */
void hl_fork_drop_server(const void *server);

#endif
