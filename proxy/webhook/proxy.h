/* proxy.h - the egress proxy of webhooks (HOOKLINE_WEBHOOK_PROXY), as libcurl wants it. */
#ifndef HL_WEBHOOK_PROXY_H
#define HL_WEBHOOK_PROXY_H

#include "base/err.h"
#include "http/url.h"

struct hl_proxy {
    char *text; /* for libcurl, with the credentials: never logged; NULL: there is no proxy */
    struct hl_url url; /* of `text` */
};

/* `setting` is valid, or empty. NOMEM. */
HL_MUST_CHECK enum hl_err hl_proxy_init(struct hl_proxy *proxy, struct hl_str setting);
void hl_proxy_fini(struct hl_proxy *proxy);

#endif
