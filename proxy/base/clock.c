/* clock.c - time in milliseconds, and its RFC 3339 text. Any thread; clock_gettime is a vDSO call.
 */
#include "base/clock.h"

#include <time.h>

#include "base/assert.h"

static struct timespec read_clock(clockid_t id)
{
    struct timespec ts;
    HL_ASSERT(clock_gettime(id, &ts) == 0);
    return ts;
}

uint64_t hl_clock_mono_ms(void)
{
    struct timespec ts = read_clock(CLOCK_MONOTONIC);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t hl_clock_mono_us(void)
{
    struct timespec ts = read_clock(CLOCK_MONOTONIC);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

int64_t hl_clock_wall_ms(void)
{
    struct timespec ts = read_clock(CLOCK_REALTIME);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Writes `v` in `width` digits and `after`; returns where the next byte goes. */
static char *put(char *out, unsigned v, int width, char after)
{
    for (int i = width; i-- > 0; v /= 10)
        out[i] = (char)('0' + v % 10);
    out[width] = after;
    return out + width + 1;
}

void hl_clock_format(int64_t wall_ms, char *out)
{
    int64_t ms = wall_ms % 1000;
    if (ms < 0)
        ms += 1000;
    time_t seconds = (time_t)((wall_ms - ms) / 1000);
    struct tm tm;
    HL_ASSERT(gmtime_r(&seconds, &tm) && tm.tm_year >= -1900 && tm.tm_year <= 9999 - 1900);

    out = put(out, (unsigned)(tm.tm_year + 1900), 4, '-');
    out = put(out, (unsigned)(tm.tm_mon + 1), 2, '-');
    out = put(out, (unsigned)tm.tm_mday, 2, 'T');
    out = put(out, (unsigned)tm.tm_hour, 2, ':');
    out = put(out, (unsigned)tm.tm_min, 2, ':');
    out = put(out, (unsigned)tm.tm_sec, 2, '.');
    out = put(out, (unsigned)ms, 3, 'Z');
    *out = '\0';
}
