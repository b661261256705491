/* captured_log.h - what a test's code says in the log. */
#ifndef HL_TEST_CAPTURED_LOG_H
#define HL_TEST_CAPTURED_LOG_H

/* Lines in JSON, from info on, go to a file instead of stderr until the end. */
void captured_log_begin(void);
void captured_log_end(void);

/* Lines that have all of `a` and `b`. */
int captured_log_count(const char *a, const char *b);

#endif
