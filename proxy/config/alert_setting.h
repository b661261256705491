/* alert_setting.h - where alerts go (HOOKLINE_ALERT_URL), and whose runs they are in the store. Pure. */
#ifndef HL_CONFIG_ALERT_SETTING_H
#define HL_CONFIG_ALERT_SETTING_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_buf;
struct hl_config;

/* No caller can call an app of that name: what its runs answered are alerts. */
#define HL_ALERT_APP "hookline.alerts"

static inline bool hl_is_alert_app(struct hl_str app)
{
    return hl_str_eq(app, HL_STR(HL_ALERT_APP));
}

/* HOOKLINE_PROJECT_ID, or "hookline". */
struct hl_str hl_alert_project(const struct hl_config *config);

/* Appends a line if no caller's webhook might go to that URL either. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_alert_check(const struct hl_config *config, struct hl_buf *problems);

#endif
