/* rate.h - a rate, so many per second, minute, hour or day (`100/m`), and the counter that
 * enforces it. */
#ifndef HL_BASE_RATE_H
#define HL_BASE_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_str;

#define HL_RATE_MAX  10000000
#define HL_RATE_TEXT 16

struct hl_rate {
    uint32_t count;    /* 1 to HL_RATE_MAX; 0: there is none */
    uint32_t window_s; /* of a second, a minute, an hour or a day */
};

/* `100/m`. False: it is no rate. */
HL_MUST_CHECK bool hl_rate_parse(struct hl_str text, struct hl_rate *out);
/* Empty when there is none. */
void hl_rate_format(struct hl_rate rate, char out[HL_RATE_TEXT]);
/* Of numbers that were kept: is it one that hl_rate_parse gives, or none? */
bool hl_rate_is_valid(struct hl_rate rate);

/* Counts within a window that begins with the first one after the last window's end. Any thread, without
 * a lock; all zero is the beginning. Times are of a clock that never goes back, in ms. */
struct hl_rate_window {
    _Atomic uint64_t state; /* when it began, and in the low 24 bits how many */
};

/* One more: 0, or, if that would be too many, how long until the window ends; then it does not count. */
HL_MUST_CHECK uint64_t hl_rate_take(
    struct hl_rate_window *window, struct hl_rate rate, uint64_t now_ms);
/* How long its window goes on; 0: it is over, or has not begun. */
uint64_t hl_rate_left(const struct hl_rate_window *window, struct hl_rate rate, uint64_t now_ms);
/* One that was taken in this window or an earlier one did not count after all. */
void hl_rate_give_back(struct hl_rate_window *window, struct hl_rate rate, uint64_t now_ms);

#endif
