/* retry_on.h - HOOKLINE_RUN_RETRY_ON: on which ends an asynchronous run is tried again. */
#ifndef HL_CONFIG_RETRY_ON_H
#define HL_CONFIG_RETRY_ON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_str;

#define HL_RETRY_STATUS_LEAST 400
#define HL_RETRY_STATUSES     200 /* 400 to 599 */

struct hl_retry_on {
    bool unreachable, reset, timeout, interrupted;
    bool statuses[HL_RETRY_STATUSES]; /* the app's, from HL_RETRY_STATUS_LEAST on */
};

/* `unreachable`, `reset`, `timeout`, `interrupted`, statuses as 503, classes as 5xx, separated by commas.
 * False: something else is in it. Empty: none of them. */
HL_MUST_CHECK bool hl_retry_on_parse(struct hl_str text, struct hl_retry_on *out);
bool hl_retry_on_is_valid(struct hl_str text);

static inline bool hl_retry_on_status(const struct hl_retry_on *on, unsigned status)
{
    return status >= HL_RETRY_STATUS_LEAST && status < HL_RETRY_STATUS_LEAST + HL_RETRY_STATUSES &&
           on->statuses[status - HL_RETRY_STATUS_LEAST];
}

#endif
