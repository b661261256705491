/* run_log.h - the last log lines, in memory: those about each run, of runs in progress and of those that ended
 * recently; and those about none. One a process.
 *
 * HL_RUN_LOG_LINES lines and HL_RUN_LOG_BYTES of a run are kept, and HL_RUN_LOG_TOTAL of all: beyond
 * that the oldest run's go first, but before them those of which nothing is known but their call. A run
 * that nothing was logged about costs nothing. Of lines about no run HL_RUN_LOG_OTHERS are kept.
 *
 * All of them have a number, in the order in which they came: by it somebody reads on where he was. */
#ifndef HL_LOOP_RUN_LOG_H
#define HL_LOOP_RUN_LOG_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"

struct hl_buf;

#define HL_RUN_LOG_LINES        200
#define HL_RUN_LOG_BYTES        (64 * 1024)
#define HL_RUN_LOG_TOTAL        (16 * 1024 * 1024)
#define HL_RUN_LOG_OTHERS       2000 /* lines, and at most HL_RUN_LOG_OTHERS_BYTES */
#define HL_RUN_LOG_OTHERS_BYTES (512 * 1024)

/* From here on lines are kept. */
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

/* ---- all lines, in the order in which they came ---- */

#define HL_RUN_LOG_REACH      4000 /* lines before the newest: nobody reads on from further back */
#define HL_RUN_LOG_PAGE_LINES 256
#define HL_RUN_LOG_PAGE_BYTES (64 * 1024)
#define HL_RUN_LOG_PAGE_NAMES (26 * 1024) /* behind them, for who finds out whose runs are */

struct hl_run_log_filter {
    enum hl_log_level least;
    struct hl_id run_id; /* nil: any line */
    bool without_others; /* those about runs alone */
};

struct hl_run_log_line {
    uint64_t number;
    struct hl_id run_id;   /* nil: it is about none */
    uint32_t at, n;        /* in the page's text, without its newline */
    uint32_t project, app; /* likewise, each ending in a NUL; 0: it is not known whose the run is */
};

/* A block of memory that somebody reads a part of the log into. */
struct hl_run_log_page {
    uint64_t next; /* the number to go on from */
    /* lines before `next`, and not before where it began, that are kept no longer; of any kind */
    uint64_t missed;
    bool is_full; /* there may be more */
    uint32_t count, text_n;
    struct hl_run_log_line lines[HL_RUN_LOG_PAGE_LINES];
    char text[HL_RUN_LOG_PAGE_BYTES + HL_RUN_LOG_PAGE_NAMES];
};

/* When keeping lines began, wall time in ms: numbers are of one such time. */
uint64_t hl_run_log_era(void);
/* The number that the next line will have. Any thread, as the others. */
uint64_t hl_run_log_end(void);
/* From which number on there are `n` lines that the filter lets through, or all within reach. */
uint64_t hl_run_log_back(const struct hl_run_log_filter *filter, uint32_t n);
/* Those from that number on that the filter lets through, oldest first. */
void hl_run_log_scan(
    const struct hl_run_log_filter *filter, uint64_t from, struct hl_run_log_page *page);
/* Whose run it is, for the lines that are kept of it: pages say so from now on. */
void hl_run_log_note(const struct hl_id *run_id, const char *project, const char *app);

/* Drops lines at the beginning of a text of lines until it is within the bounds of a run. */
void hl_run_log_trim(struct hl_buf *text);

#endif
