/* rate.c - see rate.h. */
#include "base/rate.h"

#include <stdio.h>

#include "base/str.h"

#define COUNT_BITS 24
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)

_Static_assert(HL_RATE_MAX <= COUNT_MASK, "a window has room for it");

static const struct {
    char unit;
    uint32_t seconds;
} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 24 * 3600}};

/* ---- as people write it ---- */

bool hl_rate_parse(struct hl_str text, struct hl_rate *out)
{
    uint32_t count = 0;
    size_t i = 0;
    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++) {
        count = count * 10 + (uint32_t)(text.p[i] - '0');
        if (count > HL_RATE_MAX)
            return false;
    }
    if (count == 0 || i + 2 != text.n || text.p[i] != '/')
        return false;
    for (size_t k = 0; k < HL_ARRAY_LEN(units); k++) {
        if (units[k].unit != text.p[i + 1])
            continue;
        *out = (struct hl_rate){.count = count, .window_s = units[k].seconds};
        return true;
    }
    return false;
}

void hl_rate_format(struct hl_rate rate, char out[HL_RATE_TEXT])
{
    out[0] = '\0';
    for (size_t k = 0; rate.count > 0 && k < HL_ARRAY_LEN(units); k++)
        if (units[k].seconds == rate.window_s)
            snprintf(out, HL_RATE_TEXT, "%u/%c", (unsigned)rate.count, units[k].unit);
}

bool hl_rate_is_valid(struct hl_rate rate)
{
    bool is_valid = rate.count == 0;
    for (size_t k = 0; k < HL_ARRAY_LEN(units); k++)
        is_valid |= rate.count <= HL_RATE_MAX && units[k].seconds == rate.window_s;
    return is_valid;
}

/* ---- counting ---- */

static uint64_t began_ms(uint64_t state)
{
    return state >> COUNT_BITS;
}

static uint64_t count_of(uint64_t state)
{
    return state & COUNT_MASK;
}

/* How long the window goes on; 0: it is over, or has not begun. */
static uint64_t left_ms(uint64_t state, struct hl_rate rate, uint64_t now_ms)
{
    uint64_t end_ms = began_ms(state) + UINT64_C(1000) * rate.window_s;
    return count_of(state) > 0 && end_ms > now_ms ? end_ms - now_ms : 0;
}

uint64_t hl_rate_left(const struct hl_rate_window *window, struct hl_rate rate, uint64_t now_ms)
{
    return left_ms(atomic_load_explicit(&window->state, memory_order_relaxed), rate, now_ms);
}

uint64_t hl_rate_take(struct hl_rate_window *window, struct hl_rate rate, uint64_t now_ms)
{
    uint64_t state = atomic_load_explicit(&window->state, memory_order_relaxed), next;
    do {
        uint64_t left = left_ms(state, rate, now_ms);
        if (left > 0 && count_of(state) >= rate.count)
            return left;
        next = left > 0 ? state + 1 : (now_ms << COUNT_BITS | 1);
    } while (!atomic_compare_exchange_weak(&window->state, &state, next));
    return 0;
}

void hl_rate_give_back(struct hl_rate_window *window, struct hl_rate rate, uint64_t now_ms)
{
    uint64_t state = atomic_load_explicit(&window->state, memory_order_relaxed);
    while (left_ms(state, rate, now_ms) > 0 &&
           !atomic_compare_exchange_weak(&window->state, &state, state - 1))
        continue;
}
