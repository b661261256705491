/* task.h - one call of a C function, from the body to the release. */
#ifndef HL_C_TASK_H
#define HL_C_TASK_H

#include <stddef.h>

#include "hookline/function.h"

struct hl_call;

/* Runs the function and answers. Takes the call. Any thread. */
void hl_task_run(struct hl_call *call, const struct hl_fn_function *function, size_t max_result);

/* What a function or setup() returned in a process that it forked ends that process: status 0, or 1 if
 * it is an error. In the host itself nothing. */
void hl_task_end_child(int rc);

/* The table that functions get. */
extern const struct hl_fn_host hl_task_host;

#endif
