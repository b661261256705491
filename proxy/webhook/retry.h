/* retry.h - what follows from an attempt's outcome, and how long to wait before the next one
 * (contract 5). Pure. */
#ifndef HL_WEBHOOK_RETRY_H
#define HL_WEBHOOK_RETRY_H

#include "store/record.h"

struct hl_schedule;
struct hl_webhook_retry_on;

/* Longer delays are waited for in the store. */
#define HL_RETRY_DELAY_MAX_MS 5000

/* `http_status` 0: a network error (no connection, no response head, timeout). RETRY only if
 * attempt `n` (from 1) is not the last of `max`; then it is DEAD. */
enum hl_attempt_verdict hl_retry_verdict(
    const struct hl_webhook_retry_on *on, uint16_t http_status, uint32_t n, uint32_t max);

/* Before attempt n + 1. `random` is evenly distributed. `retry_after_ms`: what the receiver asked for, 0:
 * nothing; it counts up to the schedule's longest delay. */
uint64_t hl_retry_delay_ms(
    const struct hl_schedule *schedule, uint32_t n, uint64_t retry_after_ms, uint32_t random);

#endif
