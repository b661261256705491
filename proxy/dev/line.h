/* line.h - lines of logs, as whoever sits before `hookline dev` wants to read them. */
#ifndef HL_DEV_LINE_H
#define HL_DEV_LINE_H

#include <stdbool.h>

#include "base/str.h"

struct hl_buf;

enum hl_dev_speaker {
    HL_DEV_STRANGER, /* what it writes is shown as it is */
    HL_DEV_HOST,     /* a function host */
    HL_DEV_HOOKLINE,
};

/* Appends what is shown of the line, each of its lines with its newline; perhaps nothing. A call: time, method, path,
 * status, how long, run, mode. What was printed stands as it was, a traceback as its language writes it. A line that
 * is no log line of ours stands as it came. */
void hl_dev_line_read(enum hl_dev_speaker speaker, struct hl_str line, struct hl_buf *out);

#endif
