/* crash.h - a last line in the log when a function crashes: which one, in which run. */
#ifndef HL_C_CRASH_H
#define HL_C_CRASH_H

#include <stdbool.h>

/* Once, at start. Signals that somebody handles already (a sanitizer, a debugger) are left alone. */
void hl_crash_init(void);

/* On each thread that runs functions, before the first and after the last one: no signal is
 * blocked, and there is a stack of its own for the last line, for the thread's may be what
 * overflowed. False: out of memory; lines may be missing then. */
bool hl_crash_begin_thread(void);
void hl_crash_end_thread(void);

/* What this thread runs from now on; NULL: nothing. Borrowed. */
void hl_crash_watch(const char *function, const char *run_id);

#endif
