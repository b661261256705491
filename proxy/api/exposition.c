/* exposition.c - the Prometheus text format; and what the kernel says of this process. Any thread. */
#include "api/exposition.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/metric.h"

void hl_exposition_family(
    struct hl_exposition *t, const char *name, const char *type, const char *help)
{
    if (!t->err)
        t->err = hl_buf_printf(t->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void hl_exposition_sample(
    struct hl_exposition *t, const char *name, const char *labels, uint64_t value)
{
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    if (!t->err)
        t->err = hl_buf_printf(t->out, "%s%s%s%s %" PRIu64 "\n", name, open, labels, close, value);
}

void hl_exposition_histogram(
    struct hl_exposition *t, const char *name, const char *labels, const struct hl_histogram *h)
{
    if (!t->err)
        t->err = hl_histogram_write(t->out, name, labels, h, 1, sizeof(*h));
}

void hl_exposition_number(
    struct hl_exposition *t, const char *name, const char *type, const char *help, uint64_t value)
{
    hl_exposition_family(t, name, type, help);
    hl_exposition_sample(t, name, "", value);
}

void hl_exposition_seconds(
    struct hl_exposition *t, const char *name, const char *type, const char *help, uint64_t us)
{
    hl_exposition_family(t, name, type, help);
    if (!t->err)
        t->err = hl_buf_printf(
            t->out, "%s %" PRIu64 ".%06" PRIu64 "\n", name, us / 1000000, us % 1000000);
}

void hl_exposition_offset(
    struct hl_exposition *t, const char *name, const char *type, const char *help, int64_t ms)
{
    uint64_t far_ms = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
    hl_exposition_family(t, name, type, help);
    if (!t->err)
        t->err = hl_buf_printf(t->out, "%s %s%" PRIu64 ".%03" PRIu64 "\n", name, ms < 0 ? "-" : "",
            far_ms / 1000, far_ms % 1000);
}

void hl_exposition_label(char *out, size_t len, const char *name, struct hl_str value)
{
    int n = snprintf(out, len, "%s=\"", name);
    HL_ASSERT(n > 0 && (size_t)n + 2 * value.n + sizeof("\"") <= len);
    char *at = out + n;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"' || value.p[i] == '\\')
            *at++ = '\\';
        *at++ = value.p[i];
    }
    *at++ = '"';
    *at = '\0';
}

/* ---- what the kernel says of this process ---- */

static uint64_t resident_bytes(void)
{
    uint64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t cpu_us(void)
{
    struct timespec spent;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) != 0)
        return 0;
    return (uint64_t)spent.tv_sec * 1000000 + (uint64_t)spent.tv_nsec / 1000;
}

static uint64_t open_fds(void)
{
    uint64_t entries = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    while (readdir(dir))
        entries++;
    closedir(dir);
    return entries > 3 ? entries - 3 : 0; /* ".", "..", and the directory that was read */
}

void hl_process_read(struct hl_process *process)
{
    *process = (struct hl_process){
        .resident_bytes = resident_bytes(), .cpu_us = cpu_us(), .open_fds = open_fds()};
}
