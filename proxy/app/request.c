/* request.c - see request.h.
 * Not here: the conversation (exchange.c), which address is asked (readiness.c, errand.c). */
#include "app/request.h"

#include "base/buf.h"
#include "config/config.h"
#include "config/endpoint.h"

static enum hl_err write_request(const struct hl_app_request *request, struct hl_buf *out)
{
    if (request->what.n == 0)
        return HL_OK;
    enum hl_err err =
        hl_buf_printf(out, "%s%.*s HTTP/1.1\r\n", request->verb, HL_STR_ARG(request->what));
    if (!err)
        err = hl_app_url_write_host(&request->config->app_url, out);
    if (!err)
        err = hl_buf_append_str(out, HL_STR("User-Agent: hookline/" HL_VERSION "\r\n"));
    if (!err)
        err = hl_buf_append_str(out, request->fields);
    if (!err)
        err = hl_buf_append_str(out, HL_STR("Connection: close\r\n\r\n"));
    return err ? err : hl_buf_append_str(out, request->body);
}

struct hl_exchange *hl_app_request_begin(
    const struct hl_app_request *request, const struct sockaddr *address, int *error)
{
    const struct hl_app_url *url = &request->config->app_url;
    const struct hl_exchange_order order = {.loop = request->loop,
        .wheel = request->wheel,
        .reader = request->reader,
        .address = address,
        .path = url->path,
        .tls = request->tls,
        .tls_use = HL_TLS_APP,
        .host = url->host,
        .method = request->method,
        .max_head = request->max_head,
        .is_decoded = request->is_decoded,
        .connect_ms = request->connect_ms,
        .head_ms = request->head_ms,
        .silence_ms = request->silence_ms,
        .events = request->events,
        .owner = request->owner};
    struct hl_exchange *exchange = NULL;
    struct hl_buf text;
    hl_buf_init(&text, 0);
    *error = UV_ENOMEM;
    if (write_request(request, &text) == HL_OK)
        exchange = hl_exchange_begin(&order, &text, error);
    hl_buf_fini(&text);
    return exchange;
}
