/* event.h - the body of an alert's webhook. */
#ifndef HL_ALERT_EVENT_H
#define HL_ALERT_EVENT_H

#include "alert/alert.h"
#include "base/buf.h"

/* Of an alert that is being told. `replica`: who tells it; empty: the store is its own. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_event_write(
    const struct hl_alert *a, struct hl_str replica, int64_t now_ms, struct hl_buf *out);
/* "hookline.alert." and the kind, behind a slash: the path of its run. */
void hl_event_path(const struct hl_alert *a, char out[64]);

#endif
