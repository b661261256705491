/* retry.c - see retry.h. */
#include "webhook/retry.h"

#include "config/retry_rule.h"

static bool is_retried(const struct hl_webhook_retry_on *on, uint16_t http_status)
{
    if (http_status == 0)
        return on->network;
    bool is_known = http_status >= 200 && http_status <= 599 && http_status / 100 != 3;
    if (!is_known && on->other)
        return true;
    return http_status < HL_ARRAY_LEN(on->statuses) && on->statuses[http_status];
}

enum hl_attempt_verdict hl_retry_verdict(
    const struct hl_webhook_retry_on *on, uint16_t http_status, uint32_t n, uint32_t max)
{
    if (http_status >= 200 && http_status <= 299)
        return HL_ATTEMPT_OK;
    return n < max && is_retried(on, http_status) ? HL_ATTEMPT_RETRY : HL_ATTEMPT_DEAD;
}

/* The spread, a fifth, keeps the deliveries of one outage from coming back in one moment. Up to
 * HL_RETRY_DELAY_MAX_MS, which the contract promises, it is downwards only. */
static uint64_t spread(uint64_t delay_ms, uint32_t random)
{
    uint64_t fifth = delay_ms / 5;
    if (delay_ms <= HL_RETRY_DELAY_MAX_MS)
        return delay_ms - random % (fifth + 1);
    return delay_ms - fifth + random % (2 * fifth + 1);
}

uint64_t hl_retry_delay_ms(
    const struct hl_schedule *schedule, uint32_t n, uint64_t retry_after_ms, uint32_t random)
{
    uint32_t i = n < schedule->n ? n - 1 : schedule->n - 1;
    uint64_t delay_ms = spread(schedule->delays_ms[i], random);
    uint64_t asked_ms =
        retry_after_ms < schedule->longest_ms ? retry_after_ms : schedule->longest_ms;
    return asked_ms > delay_ms ? asked_ms : delay_ms;
}
