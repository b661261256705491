/* run_log.h - the last log lines about each run, in memory: of runs in progress and of those that
 * ended recently. One a process.
 *
 * HL_RUN_LOG_LINES lines and HL_RUN_LOG_BYTES of a run are kept, and HL_RUN_LOG_TOTAL of all: beyond
 * that the oldest run's go first, but before them those of which nothing is known but their call. A run
 * that nothing was logged about costs nothing. */
#ifndef HL_LOOP_RUN_LOG_H
#define HL_LOOP_RUN_LOG_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_id;

#define HL_RUN_LOG_LINES 200
#define HL_RUN_LOG_BYTES (64 * 1024)
#define HL_RUN_LOG_TOTAL (16 * 1024 * 1024)

/* From here on lines about runs are kept. */
void hl_run_log_start(void);
/* No more of them, and none is kept any longer. */
void hl_run_log_stop(void);

/* Appends the run's lines, oldest first, each with its newline; nothing if there are none. HL_ERR_NOMEM.
 * Any thread. */
HL_MUST_CHECK enum hl_err hl_run_log_read(const struct hl_id *run_id, struct hl_buf *out);
/* The same, and from now on they are the store's: what comes after them is the rest. */
HL_MUST_CHECK enum hl_err hl_run_log_hand_over(const struct hl_id *run_id, struct hl_buf *out);
/* The lines behind those that were handed over; all of them if none were. */
HL_MUST_CHECK enum hl_err hl_run_log_read_rest(const struct hl_id *run_id, struct hl_buf *out);

/* Drops lines at the beginning of a text of lines until it is within the bounds of a run. */
void hl_run_log_trim(struct hl_buf *text);

#endif
