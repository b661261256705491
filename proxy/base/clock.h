/* clock.h - time in milliseconds, and its RFC 3339 text. */
#ifndef HL_BASE_CLOCK_H
#define HL_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hl_str;

uint64_t hl_clock_mono_ms(void); /* CLOCK_MONOTONIC */
uint64_t hl_clock_mono_us(void);
int64_t hl_clock_wall_ms(void); /* since the epoch, UTC; a clock before it says 1 */
/* The same by the machine's own clock, whatever the wall clock follows: for what is read beside the
 * lines of other programs on it. */
int64_t hl_clock_machine_ms(void);
int64_t hl_clock_machine_us(void);
/* From now on the wall clock is another's, which said `wall_ms` when it was asked: many processes have
 * one time. `asked_ms`, of the monotonic clock, is when: the longer the answer took, the less it says.
 * What is off by less than HL_CLOCK_STEP_MS is left. Any thread. */
#define HL_CLOCK_STEP_MS 250
void hl_clock_follow(int64_t wall_ms, uint64_t asked_ms);
/* By how many ms the followed clock was ahead of the machine's when it was last asked; 0: none is
 * followed. Any thread. */
int64_t hl_clock_offset_ms(void);

/* By how much the wall clock is ahead of the time since the boot: it changes when that clock is set, or found to
 * be another. Any thread. */
int64_t hl_clock_ahead_ms(void);

/* The steady clock is for times that wait in the store: once it is held it goes on evenly, whoever sets the
 * wall clock. Until then it is the wall clock, and `new_lead_ms`. Any thread. */
void hl_clock_set_steady(int64_t new_lead_ms, bool is_held);
int64_t hl_clock_steady_ms(void);
/* By how much it is ahead of the wall clock, which was set; by less than HL_CLOCK_SET_MS is not. Any thread. */
#define HL_CLOCK_SET_MS 1000
int64_t hl_clock_lead_ms(void);

#define HL_CLOCK_TEXT 25 /* "2026-11-21T08:00:00.123Z" and NUL */

/* RFC 3339, UTC, milliseconds. `out` has HL_CLOCK_TEXT bytes. Years 0 to 9999. */
void hl_clock_format(int64_t wall_ms, char *out);

/* RFC 3339 with any offset; what is finer than a millisecond is cut. A blank before the offset counts
 * as '+', which is what it was before a query was decoded. False: not a time, or not within the
 * years 1970 to 9999. */
bool hl_clock_parse(struct hl_str text, int64_t *wall_ms);

/* `first_ms`, doubled so many times, and `most_ms` at most: pauses between tries. */
static inline uint64_t hl_doubled_ms(uint64_t first_ms, uint32_t times, uint64_t most_ms)
{
    uint64_t ms = first_ms;
    for (; times > 0 && ms < most_ms; times--)
        ms *= 2;
    return ms < most_ms ? ms : most_ms;
}

#endif
