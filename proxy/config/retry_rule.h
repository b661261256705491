/* retry_rule.h - when runs and deliveries are tried again: HOOKLINE_RUN_RETRY_ON, HOOKLINE_WEBHOOK_SCHEDULE and
 * HOOKLINE_WEBHOOK_RETRY_ON. Pure. */
#ifndef HL_CONFIG_RETRY_RULE_H
#define HL_CONFIG_RETRY_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_str;

/* ---- runs: HOOKLINE_RUN_RETRY_ON ---- */

#define HL_RETRY_STATUS_LEAST 400
#define HL_RETRY_STATUSES     200 /* 400 to 599 */

struct hl_retry_on {
    bool unreachable, reset, timeout, interrupted;
    /* no attempt of these: a run that the end of a drain cut is as if it had not been claimed */
    bool shutdown;
    bool statuses[HL_RETRY_STATUSES]; /* the app's, from HL_RETRY_STATUS_LEAST on */
};

/* `unreachable`, `reset`, `timeout`, `interrupted`, `shutdown`, statuses as 503, classes as 5xx, separated by commas.
 * False: something else is in it. Empty: none of them. */
HL_MUST_CHECK bool hl_retry_on_parse(struct hl_str text, struct hl_retry_on *out);
bool hl_retry_on_is_valid(struct hl_str text);

/* Nothing else is in it: it needs no second attempt. */
bool hl_retry_on_is_shutdown(const struct hl_retry_on *on);

static inline bool hl_retry_on_status(const struct hl_retry_on *on, unsigned status)
{
    return status >= HL_RETRY_STATUS_LEAST && status < HL_RETRY_STATUS_LEAST + HL_RETRY_STATUSES &&
           on->statuses[status - HL_RETRY_STATUS_LEAST];
}

/* ---- deliveries: HOOKLINE_WEBHOOK_SCHEDULE, HOOKLINE_WEBHOOK_RETRY_ON ---- */

#define HL_SCHEDULE_MAX       30
#define HL_SCHEDULE_DELAY_MAX (UINT64_C(24) * 60 * 60 * 1000)

/* Delays before the second attempt, the third and so on; the last one repeats. */
struct hl_schedule {
    uint64_t delays_ms[HL_SCHEDULE_MAX];
    uint32_t n;
    uint64_t longest_ms;
};

/* Durations separated by commas, one to HL_SCHEDULE_MAX, each up to HL_SCHEDULE_DELAY_MAX. */
HL_MUST_CHECK bool hl_schedule_parse(struct hl_str text, struct hl_schedule *out);
bool hl_schedule_is_valid(struct hl_str text);

struct hl_webhook_retry_on {
    bool network;       /* no answer: no connection, a time-out … */
    bool other;         /* an answer that is neither 2xx, 4xx nor 5xx */
    bool statuses[600]; /* by the status itself */
};

/* `network`, `other`, statuses as 404, classes as 5xx, separated by commas; no 1xx and no
 * 2xx, which is delivered. */
HL_MUST_CHECK bool hl_webhook_retry_on_parse(struct hl_str text, struct hl_webhook_retry_on *out);
bool hl_webhook_retry_on_is_valid(struct hl_str text);

#endif
