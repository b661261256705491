/* clock.c - time in milliseconds, and its RFC 3339 text. Any thread; clock_gettime is a vDSO call.
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/str.h"

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

static int64_t read_us(clockid_t id)
{
    struct timespec ts = read_clock(id);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

uint64_t hl_clock_mono_us(void)
{
    return (uint64_t)read_us(CLOCK_MONOTONIC);
}

#define NOT_YET INT64_MIN

/* By how much is ahead: */
static _Atomic int64_t followed_us = NOT_YET; /* the wall clock of the time since the boot */
static _Atomic int64_t offset_ms; /* the followed clock of the machine's, when it was last asked */
static _Atomic int64_t held_us = NOT_YET; /* the steady clock of the time since the boot */
static _Atomic int64_t lead_ms;           /* the steady clock of the wall clock */

/* Goes on in a machine that sleeps, too. */
static int64_t boot_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

int64_t hl_clock_machine_us(void)
{
    int64_t us = read_us(CLOCK_REALTIME);
    return us > 1000 ? us : 1000;
}

int64_t hl_clock_machine_ms(void)
{
    return hl_clock_machine_us() / 1000;
}

/* Whoever sets the machine's clock does not set another's. */
static int64_t wall_us(void)
{
    int64_t ahead_us = atomic_load_explicit(&followed_us, memory_order_relaxed);
    int64_t us = ahead_us == NOT_YET ? hl_clock_machine_us() : boot_us() + ahead_us;
    return us > 1000 ? us : 1000;
}

int64_t hl_clock_wall_ms(void)
{
    return wall_us() / 1000;
}

/* What an answer that took long says is known to half of that time. */
static void note_offset(int64_t ahead_ms, int64_t took_ms)
{
    int64_t off_ms = hl_clock_offset_ms() - ahead_ms;
    if (off_ms < -took_ms / 2 || off_ms > took_ms / 2)
        atomic_store_explicit(&offset_ms, ahead_ms, memory_order_relaxed);
}

void hl_clock_follow(int64_t wall_ms, uint64_t asked_ms)
{
    int64_t took_ms = (int64_t)(hl_clock_mono_ms() - asked_ms);
    int64_t off_ms = hl_clock_wall_ms() - wall_ms;
    int64_t ahead_ms = wall_ms + took_ms / 2 - hl_clock_machine_ms();
    note_offset(ahead_ms, took_ms);
    bool is_off = off_ms <= -HL_CLOCK_STEP_MS || off_ms >= took_ms + HL_CLOCK_STEP_MS;
    int64_t us = is_off ? (wall_ms + took_ms / 2) * 1000 : wall_us();
    if (is_off || atomic_load_explicit(&followed_us, memory_order_relaxed) == NOT_YET)
        atomic_store_explicit(&followed_us, us - boot_us(), memory_order_relaxed);
}

int64_t hl_clock_offset_ms(void)
{
    return atomic_load_explicit(&offset_ms, memory_order_relaxed);
}

int64_t hl_clock_ahead_ms(void)
{
    return (wall_us() - boot_us()) / 1000;
}

void hl_clock_set_steady(int64_t new_lead_ms, bool is_held)
{
    /* Asked first, and a microsecond back, for both are rounded down: it must not be ahead by the asking. */
    int64_t us = wall_us() + new_lead_ms * 1000;
    atomic_store_explicit(&lead_ms, new_lead_ms, memory_order_relaxed);
    atomic_store_explicit(&held_us, is_held ? us - boot_us() - 1 : NOT_YET, memory_order_relaxed);
}

int64_t hl_clock_steady_ms(void)
{
    int64_t ahead_us = atomic_load_explicit(&held_us, memory_order_relaxed);
    if (ahead_us == NOT_YET)
        return hl_clock_wall_ms() + atomic_load_explicit(&lead_ms, memory_order_relaxed);
    return (boot_us() + ahead_us) / 1000;
}

int64_t hl_clock_lead_ms(void)
{
    int64_t known_ms = atomic_load_explicit(&lead_ms, memory_order_relaxed);
    int64_t now_ms = hl_clock_steady_ms() - hl_clock_wall_ms();
    if (now_ms - known_ms > -HL_CLOCK_SET_MS && now_ms - known_ms < HL_CLOCK_SET_MS)
        return known_ms;
    atomic_store_explicit(&lead_ms, now_ms, memory_order_relaxed);
    return now_ms;
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

/* Takes `width` digits off `*s`. -1: they are not there. */
static int take_number(struct hl_str *s, size_t width)
{
    int v = 0;
    if (s->n < width)
        return -1;
    for (size_t i = 0; i < width; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return -1;
        v = v * 10 + (s->p[i] - '0');
    }
    s->p += width;
    s->n -= width;
    return v;
}

/* Takes one of the bytes of `any` off `*s`. 0: none is there. */
static char take_one(struct hl_str *s, const char *any)
{
    if (s->n == 0 || *s->p == '\0' || !strchr(any, *s->p))
        return 0;
    s->n--;
    return *s->p++;
}

/* ".123456": digits after the point, as milliseconds. -1: a point alone. */
static int take_fraction(struct hl_str *s)
{
    int ms = 0, digit, n = 0;
    if (!take_one(s, "."))
        return 0;
    for (; (digit = take_number(s, 1)) >= 0; n++)
        if (n < 3)
            ms = ms * 10 + digit;
    for (int i = n; i < 3; i++)
        ms *= 10;
    return n > 0 ? ms : -1;
}

/* "Z", "+02:00": minutes. False: neither. */
static bool take_offset(struct hl_str *s, int *minutes)
{
    *minutes = 0;
    if (take_one(s, "Zz"))
        return true;
    char sign = take_one(s, "+- ");
    int h = take_number(s, 2);
    bool has_colon = take_one(s, ":");
    int m = take_number(s, 2);
    if (!sign || !has_colon || h < 0 || h > 23 || m < 0 || m > 59)
        return false;
    *minutes = (sign == '-' ? -1 : 1) * (h * 60 + m);
    return true;
}

static bool is_real_time(const struct tm *tm, const struct tm *normal)
{
    return tm->tm_mday == normal->tm_mday && tm->tm_mon == normal->tm_mon && tm->tm_hour <= 23 &&
           tm->tm_min <= 59 && tm->tm_sec <= 60;
}

bool hl_clock_parse(struct hl_str s, int64_t *wall_ms)
{
    struct tm tm = {0};
    int offset;
    tm.tm_year = take_number(&s, 4) - 1900;
    bool has_marks = take_one(&s, "-");
    tm.tm_mon = take_number(&s, 2) - 1;
    has_marks = take_one(&s, "-") && has_marks;
    tm.tm_mday = take_number(&s, 2);
    has_marks = take_one(&s, "Tt ") && has_marks;
    tm.tm_hour = take_number(&s, 2);
    has_marks = take_one(&s, ":") && has_marks;
    tm.tm_min = take_number(&s, 2);
    has_marks = take_one(&s, ":") && has_marks;
    tm.tm_sec = take_number(&s, 2);
    int ms = take_fraction(&s);
    if (!has_marks || tm.tm_year < 70 || tm.tm_mon < 0 || tm.tm_mday < 1 || tm.tm_hour < 0 ||
        tm.tm_min < 0 || tm.tm_sec < 0 || ms < 0 || !take_offset(&s, &offset) || s.n > 0)
        return false;
    struct tm date = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday};
    time_t midnight = timegm(&date);
    if (!is_real_time(&tm, &date))
        return false;
    int64_t seconds = (int64_t)midnight + tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec;
    *wall_ms = (seconds - offset * 60) * 1000 + ms;
    return *wall_ms >= 0;
}
