/* reopening.c - see reopening.h. The thread that owns it. */
#include "store/reopening.h"

void hl_reopening_fail(struct hl_reopening *r, uint64_t now_us)
{
    bool is_first = r->since_us == 0;
    if (is_first)
        r->since_us = now_us;
    if (is_first && (r->worked_us == 0 || now_us - r->worked_us >= HL_REOPENING_CALM_US))
        r->pause_us = HL_REOPENING_MIN_US;
    r->next_us = now_us + r->pause_us;
    r->pause_us *= 2;
    if (r->pause_us > HL_REOPENING_MAX_US)
        r->pause_us = HL_REOPENING_MAX_US;
}

void hl_reopening_succeed(struct hl_reopening *r, uint64_t now_us)
{
    r->since_us = 0;
    r->worked_us = now_us;
}

bool hl_reopening_is_hopeless(const struct hl_reopening *r, uint64_t now_us)
{
    return r->since_us > 0 && now_us - r->since_us >= HL_REOPENING_HOPELESS_US;
}
