/* quota.c - see quota.h. */
#include "auth/quota.h"

static uint64_t pack(struct hl_rate rate)
{
    return (uint64_t)rate.count << 32 | rate.window_s;
}

static struct hl_rate unpack(uint64_t packed)
{
    return (struct hl_rate){.count = (uint32_t)(packed >> 32), .window_s = (uint32_t)packed};
}

void hl_quota_set(struct hl_quota *quota, const struct hl_limits *limits)
{
    if (limits->revision < atomic_load(&quota->revision))
        return;
    atomic_store(&quota->revision, limits->revision);
    atomic_store(&quota->max_running, limits->max_running);
    atomic_store(&quota->max_queued, limits->max_queued);
    atomic_store(&quota->rate, pack(limits->rate));
    atomic_store(&quota->max_priority, limits->max_priority);
    atomic_store(&quota->has_limits,
        limits->max_running > 0 || limits->max_queued > 0 || limits->rate.count > 0);
}

enum hl_priority hl_quota_max_priority(const struct hl_quota *quota)
{
    return (enum hl_priority)atomic_load_explicit(&quota->max_priority, memory_order_relaxed);
}

bool hl_quota_enter(struct hl_quota *quota, struct hl_quota_hit *hit)
{
    uint32_t max = atomic_load_explicit(&quota->max_running, memory_order_relaxed);
    uint32_t running = atomic_fetch_add(&quota->running, 1);
    if (max == 0 || running < max)
        return true;
    hl_quota_leave(quota);
    *hit = (struct hl_quota_hit){.limit = HL_LIMIT_MAX_RUNNING, .max = max};
    return false;
}

void hl_quota_leave(struct hl_quota *quota)
{
    atomic_fetch_sub(&quota->running, 1);
}

bool hl_quota_count(struct hl_quota *quota, uint64_t now_ms, struct hl_quota_hit *hit)
{
    struct hl_rate rate = unpack(atomic_load_explicit(&quota->rate, memory_order_relaxed));
    uint64_t wait_ms = rate.count > 0 ? hl_rate_take(&quota->window, rate, now_ms) : 0;
    if (wait_ms == 0)
        return true;
    *hit = (struct hl_quota_hit){.limit = HL_LIMIT_RATE,
        .max = rate.count,
        .window_s = rate.window_s,
        .wait_s = (uint32_t)((wait_ms + 999) / 1000)};
    return false;
}

void hl_quota_uncount(struct hl_quota *quota, uint64_t now_ms)
{
    struct hl_rate rate = unpack(atomic_load_explicit(&quota->rate, memory_order_relaxed));
    if (rate.count > 0)
        hl_rate_give_back(&quota->window, rate, now_ms);
}
