/* retry.h - what follows from an attempt's outcome, and how long to wait before the next one
 * (contract 5). Pure. */
#ifndef HL_WEBHOOK_RETRY_H
#define HL_WEBHOOK_RETRY_H

#include "store/store.h"

#define HL_RETRY_DELAY_MAX_MS 5000

/* `http_status` 0: a network error (no connection, no response head, timeout). RETRY only if
 * attempt `n` (from 1) is not the last of `max`; then it is DEAD. */
enum hl_attempt_verdict hl_retry_verdict(uint16_t http_status, uint32_t n, uint32_t max);

/* Before attempt n + 1: about 1 s after the first attempt, about 4 s after any later one. `random`
 * is evenly distributed. */
uint64_t hl_retry_delay_ms(uint32_t n, uint32_t random);

#endif
