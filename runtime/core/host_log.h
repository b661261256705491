/* host_log.h - the log of a function host, which never makes anybody wait: neither calls nor the
 * end of the process. Lines that nobody reads are dropped, counted and reported
 * (loop/log_writer.h).
 *
 * A process that a function forks has no thread for its log. It writes at once, without waiting in
 * write(2): the first line for which there is no room waits a second for it, others behind it not at
 * all until there is some again. */
#ifndef HL_RUNTIME_HOST_LOG_H
#define HL_RUNTIME_HOST_LOG_H

/* From here on HL_LOG makes nobody wait. What is in the log when the process ends, by exit too, has a
 * second to be written; after a start that failed five. Once, after hl_log_setup. */
void hl_host_log_start(void);

/* The start has not failed. Any thread. */
void hl_host_log_set_serving(void);

/* In a forked process, on its only thread. */
void hl_host_log_begin_child(void);

#endif
