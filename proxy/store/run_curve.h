/* run_curve.h - how many runs of each state were accepted in each piece of a span of time. A value; any thread. */
#ifndef HL_STORE_RUN_CURVE_H
#define HL_STORE_RUN_CURVE_H

#include "store/record.h"

#define HL_RUN_CURVE_POINTS 120

struct hl_run_curve {
    int64_t first_ms,
        step_ms;       /* of the points; what is accepted before or behind them is left out */
    uint32_t n_points; /* HL_RUN_CURVE_POINTS at most */
    uint32_t counts[HL_RUN_CURVE_POINTS][HL_RUN_CANCELLED + 1];
};

void hl_run_curve_add(
    struct hl_run_curve *h, int64_t created_ms, enum hl_run_state state, uint32_t n);
/* The counts of `other`, whose points are the same. */
void hl_run_curve_add_all(struct hl_run_curve *h, const struct hl_run_curve *other);
uint64_t hl_run_curve_sum(const struct hl_run_curve *h, enum hl_run_state state);

#endif
