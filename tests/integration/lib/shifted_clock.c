/* shifted_clock.c - preloaded into hookline (clock.mjs): its wall clock is the machine's and the
 * milliseconds that stand in the file SHIFTED_CLOCK, which the test changes while it runs. System
 * calls go past libc: a sanitizer's runtime may not have begun yet. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift_ms;

__attribute__((constructor)) static void open_shift(void)
{
    const char *path = getenv("SHIFTED_CLOCK");
    long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0)
        shift_ms = (void *)syscall(SYS_mmap, NULL, sizeof(*shift_ms), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        syscall(SYS_close, fd);
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    int rc = (int)syscall(SYS_gettimeofday, tv, zone);
    if (rc == 0 && shift_ms)
        tv->tv_sec += *shift_ms / 1000;
    return rc;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    if (rc == 0 && id == CLOCK_REALTIME && shift_ms)
        ts->tv_sec += *shift_ms / 1000;
    return rc;
}
