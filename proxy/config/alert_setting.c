/* alert_setting.c - see alert_setting.h. At start. */
#include "config/alert_setting.h"

#include "base/buf.h"
#include "config/config.h"
#include "http/url.h"
#include "net/address.h"
#include "net/guard.h"

struct hl_str hl_alert_project(const struct hl_config *config)
{
    return config->project_id.n > 0 ? config->project_id : HL_STR("hookline");
}

/* NULL: it may be sent to. */
static const char *fault_of(const struct hl_config *config)
{
    struct hl_url url;
    struct hl_ip ip;
    if (!hl_url_parse(config->alert_url, &url))
        return NULL; /* was reported */
    if (config->webhook_https_only && !url.is_https)
        return "HOOKLINE_WEBHOOK_HTTPS_ONLY wants an https URL";
    if (hl_guard_parse_host(url.host, url.is_bracketed, &ip) &&
        hl_guard_is_blocked(&ip, &config->webhook_allow))
        return "webhooks do not go to that address: it is private or special; "
               "HOOKLINE_WEBHOOK_ALLOW "
               "allows it, such as 10.0.0.0/8";
    return NULL;
}

enum hl_err hl_alert_check(const struct hl_config *config, struct hl_buf *problems)
{
    const char *fault = config->alert_url.n > 0 ? fault_of(config) : NULL;
    return fault ? hl_buf_printf(problems, "HOOKLINE_ALERT_URL: %s\n", fault) : HL_OK;
}
