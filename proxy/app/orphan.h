/* orphan.h - processes that became our children because their parent died: with a process id of 1,
 * or as a subreaper, hookline is their last parent. */
#ifndef HL_APP_ORPHAN_H
#define HL_APP_ORPHAN_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on descendants of the app whose parent dies come to us and not to the system's init. */
void hl_orphan_adopt(void);

/* Takes the exit status of every orphan that has ended, so that none stays a zombie. `own` is left
 * to whoever waits for it, as is any child behind it until then. */
void hl_orphan_reap(pid_t own);

/* SIGKILL for what is left of the app: our children that are in other sessions than we are (the app
 * has one of its own). Returns how many there were. */
unsigned hl_orphan_kill(void);

#endif
