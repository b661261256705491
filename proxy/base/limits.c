/* limits.c - see limits.h. Any thread. */
#include "base/limits.h"

static const char *const texts[] = {
#define X(name, text) [HL_LIMIT_##name] = (text),
    HL_LIMIT_MAP(X)
#undef X
};

/* The numbers are on disk. */
_Static_assert(HL_PRIORITY_HIGH == 0 && HL_PRIORITY_NORMAL == 1 && HL_PRIORITY_LOW == 2,
    "priorities are stored");

const char *hl_limit_text(enum hl_limit limit)
{
    return texts[limit];
}

void hl_limits_apply(struct hl_limits *limits, const struct hl_limits_change *change)
{
    if (change->which & 1u << HL_LIMIT_MAX_RUNNING)
        limits->max_running = change->to.max_running;
    if (change->which & 1u << HL_LIMIT_MAX_QUEUED)
        limits->max_queued = change->to.max_queued;
    if (change->which & 1u << HL_LIMIT_RATE)
        limits->rate = change->to.rate;
    if (change->which & 1u << HL_LIMIT_MAX_PRIORITY)
        limits->max_priority = change->to.max_priority;
    limits->revision++;
}

void hl_limits_to_numbers(const struct hl_limits *limits, int64_t out[HL_LIMITS_NUMBERS])
{
    out[0] = limits->max_running;
    out[1] = limits->max_queued;
    out[2] = limits->rate.count;
    out[3] = limits->rate.window_s;
    out[4] = limits->max_priority;
    out[5] = limits->revision;
}

/* What is too large limits nothing that is smaller. */
static uint32_t limit_from(int64_t number)
{
    return number < 0 ? 0 : number > HL_LIMIT_MAX ? HL_LIMIT_MAX : (uint32_t)number;
}

void hl_limits_from_numbers(struct hl_limits *limits, const int64_t numbers[HL_LIMITS_NUMBERS])
{
    *limits = HL_LIMITS_NONE;
    limits->max_running = limit_from(numbers[0]);
    limits->max_queued = limit_from(numbers[1]);
    struct hl_rate rate = {.count = limit_from(numbers[2]), .window_s = limit_from(numbers[3])};
    if (hl_rate_is_valid(rate))
        limits->rate = rate;
    if (numbers[4] >= 0 && numbers[4] < HL_PRIORITIES)
        limits->max_priority = (enum hl_priority)numbers[4];
    limits->revision = (uint32_t)numbers[5];
}
