/* exposition.h - the Prometheus text format, version 0.0.4: families and their samples, one after the
 * other. Any thread. */
#ifndef HL_API_EXPOSITION_H
#define HL_API_EXPOSITION_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_histogram;
struct hl_str;

/* Under way, with the first error: after it nothing more is written. */
struct hl_exposition {
    struct hl_buf *out;
    enum hl_err err;
};

/* HELP and TYPE; its samples follow. */
void hl_exposition_family(
    struct hl_exposition *t, const char *name, const char *type, const char *help);
/* `labels` is "" or `a="b",c="d"`. */
void hl_exposition_sample(
    struct hl_exposition *t, const char *name, const char *labels, uint64_t value);
void hl_exposition_histogram(
    struct hl_exposition *t, const char *name, const char *labels, const struct hl_histogram *h);

/* Families of one sample. */
void hl_exposition_number(
    struct hl_exposition *t, const char *name, const char *type, const char *help, uint64_t value);
void hl_exposition_seconds(
    struct hl_exposition *t, const char *name, const char *type, const char *help, uint64_t us);
/* Seconds that may be negative. */
void hl_exposition_offset(
    struct hl_exposition *t, const char *name, const char *type, const char *help, int64_t ms);

/* `name="value"` for a sample, escaped; a value without control characters. `len` has room for each of
 * its bytes twice. */
void hl_exposition_label(char *out, size_t len, const char *name, struct hl_str value);

/* ---- what the kernel says of this process ---- */

struct hl_process {
    uint64_t resident_bytes;
    uint64_t cpu_us; /* user and system, all threads, since the start */
    uint64_t open_fds;
};

/* Reads /proc/self, which waits for no device. What cannot be read is 0. */
void hl_process_read(struct hl_process *process);

#endif
