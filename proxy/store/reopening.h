/* reopening.h - a store whose disk has failed: when to try to reopen it next, and since when that
 * has failed. */
#ifndef HL_STORE_REOPENING_H
#define HL_STORE_REOPENING_H

#include <stdbool.h>
#include <stdint.h>

#define HL_REOPENING_MIN_US 100000u   /* the first pause, twice as long each time … */
#define HL_REOPENING_MAX_US 10000000u /* … up to this */
/* A store that has worked for so long since the last time begins with the first pause again. */
#define HL_REOPENING_CALM_US 60000000u
/* In vain for so long: the process cannot help itself. */
#define HL_REOPENING_HOPELESS_US 300000000u

/* One thread owns it. Times are CLOCK_MONOTONIC in microseconds. */
struct hl_reopening {
    uint64_t since_us; /* it has failed since; 0: it works */
    uint64_t next_us;
    uint64_t pause_us;
    uint64_t worked_us; /* it was opened anew then; 0: never */
};

/* It has failed, or was opened anew in vain. */
void hl_reopening_fail(struct hl_reopening *r, uint64_t now_us);
void hl_reopening_succeed(struct hl_reopening *r, uint64_t now_us);
bool hl_reopening_is_hopeless(const struct hl_reopening *r, uint64_t now_us);

#endif
