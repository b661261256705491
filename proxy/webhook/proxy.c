/* proxy.c - libcurl takes port 1080 where a proxy's URL has none: it is always written out. */
#include "webhook/proxy.h"

#include <stdio.h>
#include <stdlib.h>

#define PORT_TEXT 8 /* ":65535" and NUL */

enum hl_err hl_proxy_init(struct hl_proxy *proxy, struct hl_str setting)
{
    struct hl_url url;
    *proxy = (struct hl_proxy){0};
    if (setting.n == 0)
        return HL_OK;
    if (!hl_url_parse(setting, &url))
        return HL_ERR_INVALID;
    size_t n = (size_t)(url.host.p + url.host.n - setting.p) + (url.is_bracketed ? 1 : 0);
    proxy->text = malloc(n + PORT_TEXT);
    if (!proxy->text)
        return HL_ERR_NOMEM;
    snprintf(proxy->text, n + PORT_TEXT, "%.*s:%u", (int)n, setting.p, url.port);
    return hl_url_parse(hl_str_from(proxy->text), &proxy->url) ? HL_OK : HL_ERR_INVALID;
}

void hl_proxy_fini(struct hl_proxy *proxy)
{
    if (proxy->text)
        explicit_bzero(proxy->text, strlen(proxy->text));
    free(proxy->text);
    proxy->text = NULL;
}
