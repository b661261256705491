/* run_curve.c - see run_curve.h. */
#include "store/run_curve.h"

void hl_run_curve_add(
    struct hl_run_curve *h, int64_t created_ms, enum hl_run_state state, uint32_t n)
{
    if (created_ms < h->first_ms || state > HL_RUN_CANCELLED)
        return;
    int64_t at = (created_ms - h->first_ms) / h->step_ms;
    if (at < h->n_points)
        h->counts[at][state] += n;
}

void hl_run_curve_add_all(struct hl_run_curve *h, const struct hl_run_curve *other)
{
    for (uint32_t i = 0; i < h->n_points && i < other->n_points; i++)
        for (int state = 0; state <= HL_RUN_CANCELLED; state++)
            h->counts[i][state] += other->counts[i][state];
}

uint64_t hl_run_curve_sum(const struct hl_run_curve *h, enum hl_run_state state)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < h->n_points; i++)
        n += h->counts[i][state];
    return n;
}
