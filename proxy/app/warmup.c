/* warmup.c - see warmup.h.
 * Promise: it is asked once a start, and again after a growing pause until it is answered with 2xx; it is no run, and is
 * counted and kept nowhere.
 * Not here: when it is due, and what waits for it (readiness.c, gate.c). */
#include "app/warmup.h"

#include "app/cause.h"
#include "app/exchange.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "http/body_check.h"
#include "http/head.h"

#define HEAD_MAX       (64 * 1024)
#define AGAIN_FIRST_MS 500
#define AGAIN_MOST_MS  30000

static void on_head(void *owner, const struct hl_head *head);
static void on_end(void *owner, enum hl_exchange_end how, int error);

static const struct hl_exchange_events events = {.head = on_head, .end = on_end};

void hl_warmup_init(struct hl_warmup *warmup, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config)
{
    *warmup = (struct hl_warmup){.config = config, .loop = loop, .wheel = wheel, .reader = reader};
    hl_id_source_init(&warmup->ids);
}

bool hl_warmup_is_due(const struct hl_warmup *warmup)
{
    return warmup->config->app_warmup.n > 0 && !warmup->is_done;
}

/* What has been read at the start, when it was there, is read again: it may be another by now. */
static enum hl_err read_body(const struct hl_warmup *warmup, struct hl_buf *out)
{
    const struct hl_str *path = &warmup->config->app_warmup_body_file;
    return path->n > 0 ? hl_file_append(path->p, out) : HL_OK;
}

static bool is_json(struct hl_str body)
{
    struct hl_body_check check;
    hl_body_check_init(&check, true);
    hl_body_check_feed(&check, body.p, body.n);
    return hl_body_check_end(&check) == HL_BODY_JSON;
}

static enum hl_err write_request(struct hl_warmup *warmup, struct hl_str body, struct hl_buf *out)
{
    struct hl_id id = hl_id_next(&warmup->ids, hl_clock_wall_ms());
    char id_text[HL_ID_TEXT];
    hl_id_format(&id, id_text);
    enum hl_err err =
        hl_buf_printf(out, "%.*s HTTP/1.1\r\n", HL_STR_ARG(warmup->config->app_warmup));
    if (!err)
        err = hl_app_url_write_host(&warmup->config->app_url, out);
    if (!err)
        err = hl_buf_printf(out,
            "User-Agent: hookline/" HL_VERSION "\r\nX-Request-Id: %.*s\r\nX-Run-Warmup: true\r\n"
            "Content-Length: %zu\r\n%sConnection: close\r\n\r\n",
            HL_ID_TEXT, id_text, body.n,
            body.n == 0     ? ""
            : is_json(body) ? "Content-Type: application/json\r\n"
                            : "Content-Type: application/octet-stream\r\n");
    return err ? err : hl_buf_append_str(out, body);
}

static void fail(struct hl_warmup *warmup, const char *why)
{
    uint64_t again_ms = hl_doubled_ms(AGAIN_FIRST_MS, warmup->failures++, AGAIN_MOST_MS);
    HL_LOG(WARN, "the app's warm-up was not answered well; it is asked again",
        HL_LOG_TEXT("cause", why), HL_LOG_INT("status", warmup->status),
        HL_LOG_INT("in_ms", again_ms));
    warmup->on_over(warmup, again_ms);
}

void hl_warmup_begin(
    struct hl_warmup *warmup, const struct sockaddr *address, struct hl_tls_seat *tls)
{
    const struct hl_app_url *url = &warmup->config->app_url;
    const struct hl_exchange_order order = {.loop = warmup->loop,
        .wheel = warmup->wheel,
        .reader = warmup->reader,
        .address = address,
        .path = url->path,
        .tls = tls,
        .tls_use = HL_TLS_APP,
        .host = url->host,
        .method = HL_METHOD_POST,
        .max_head = HEAD_MAX,
        .is_decoded = true,
        .head_ms = warmup->config->response_grace_period_ms,
        .silence_ms = warmup->config->response_grace_period_ms,
        .events = &events,
        .owner = warmup};
    struct hl_buf body, request;
    int error = UV_ENOMEM;
    hl_buf_init(&body, HL_WARMUP_BODY_MAX);
    hl_buf_init(&request, 0);
    warmup->status = 0;
    warmup->began_ms = hl_clock_mono_ms();
    enum hl_err err = read_body(warmup, &body);
    if (!err)
        err = write_request(warmup, hl_buf_str(&body), &request);
    hl_buf_fini(&body);
    if (!err)
        warmup->exchange = hl_exchange_begin(&order, &request, &error);
    hl_buf_fini(&request);
    if (err)
        fail(warmup, "HOOKLINE_APP_WARMUP_BODY_FILE cannot be read");
    else if (!warmup->exchange)
        fail(warmup, hl_cause_text(hl_cause_of(error)));
}

static void on_head(void *owner, const struct hl_head *head)
{
    struct hl_warmup *warmup = owner;
    warmup->status = head->status;
}

static const char *failure(const struct hl_warmup *warmup, enum hl_exchange_end how, int error)
{
    if (how == HL_EXCHANGE_UNREACHABLE)
        return hl_cause_text(hl_cause_of(error));
    if (how == HL_EXCHANGE_LATE)
        return "no answer within HOOKLINE_RESPONSE_GRACE_PERIOD";
    if (how == HL_EXCHANGE_NO_MEMORY)
        return "out of memory";
    return how == HL_EXCHANGE_WHOLE && warmup->status > 0 ? "its status is not 2xx"
                                                          : "the answer broke off";
}

static void on_end(void *owner, enum hl_exchange_end how, int error)
{
    struct hl_warmup *warmup = owner;
    warmup->exchange = NULL;
    if (how != HL_EXCHANGE_WHOLE || warmup->status < 200 || warmup->status > 299) {
        fail(warmup, failure(warmup, how, error));
        return;
    }
    warmup->is_done = true;
    warmup->failures = 0;
    HL_LOG(INFO, "the app is warm", HL_LOG_INT("ms", hl_clock_mono_ms() - warmup->began_ms));
    warmup->on_over(warmup, 0);
}

void hl_warmup_forget(struct hl_warmup *warmup)
{
    hl_exchange_drop(warmup->exchange);
    warmup->exchange = NULL;
    warmup->is_done = false;
    warmup->failures = 0;
}
