/* log_writer.h - a thread that writes the log for all others, so that none of them ever waits for
 * whoever reads stderr.
 *
 * Lines wait in a ring. When it is full, lines are dropped and counted until it is half empty; then
 * a line says how many. Lines that stderr did not take (its reader has gone, its disk is full) count
 * as well. One writer a process. */
#ifndef HL_LOOP_LOG_WRITER_H
#define HL_LOOP_LOG_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#define HL_LOG_WRITER_BYTES (1024 * 1024)

/* From here on HL_LOG goes through it. 0 or an errno value: then HL_LOG writes at once, as before. */
int hl_log_writer_start(void);

/* Writes what is there, for `ms` at the most. Nothing is logged afterwards if that was not enough:
 * the thread may be in a write that does not end, and goes with the process. */
void hl_log_writer_stop(int ms);

/* Lines since the start. Any thread. */
uint64_t hl_log_writer_dropped(void);

#endif
