/* warmup.c - see warmup.h.
 * Promise: it is asked once a start, and again after a growing pause until it is answered with 2xx; it is no run, and is
 * counted and kept nowhere.
 * Not here: when it is due, and what waits for it (readiness.c, gate.c). */
#include "app/warmup.h"

#include <stdio.h>

#include "app/cause.h"
#include "app/request.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
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

/* Of the body, and the run that it is not. */
static void write_fields(struct hl_warmup *warmup, struct hl_str body, char *out, size_t out_len)
{
    struct hl_id id = hl_id_next(&warmup->ids, hl_clock_wall_ms());
    char id_text[HL_ID_TEXT];
    hl_id_format(&id, id_text);
    snprintf(out, out_len, "X-Request-Id: %.*s\r\nX-Run-Warmup: true\r\nContent-Length: %zu\r\n%s",
        HL_ID_TEXT, id_text, body.n,
        body.n == 0     ? ""
        : is_json(body) ? "Content-Type: application/json\r\n"
                        : "Content-Type: application/octet-stream\r\n");
}

static void fail(struct hl_warmup *warmup, const char *why)
{
    uint64_t again_ms = hl_doubled_ms(AGAIN_FIRST_MS, warmup->failures++, AGAIN_MOST_MS);
    HL_LOG(WARN, "the app's warm-up was not answered well; it is asked again",
        HL_LOG_TEXT("cause", why), HL_LOG_INT("status", warmup->status),
        HL_LOG_INT("in_ms", again_ms));
    warmup->on_over(warmup, again_ms);
}

/* False: it was not asked; `*error` is libuv's. */
static bool ask(struct hl_warmup *warmup, const struct sockaddr *address, struct hl_tls_seat *tls,
    struct hl_str body, int *error)
{
    char fields[256];
    write_fields(warmup, body, fields, sizeof(fields));
    const struct hl_app_request request = {.config = warmup->config,
        .loop = warmup->loop,
        .wheel = warmup->wheel,
        .reader = warmup->reader,
        .tls = tls,
        .method = HL_METHOD_POST,
        .verb = "",
        .what = warmup->config->app_warmup,
        .fields = hl_str_from(fields),
        .body = body,
        .max_head = HEAD_MAX,
        .is_decoded = true,
        .head_ms = warmup->config->response_grace_period_ms,
        .silence_ms = warmup->config->response_grace_period_ms,
        .events = &events,
        .owner = warmup};
    warmup->exchange = hl_app_request_begin(&request, address, error);
    return warmup->exchange != NULL;
}

void hl_warmup_begin(
    struct hl_warmup *warmup, const struct sockaddr *address, struct hl_tls_seat *tls)
{
    struct hl_buf body;
    int error;
    hl_buf_init(&body, HL_WARMUP_BODY_MAX);
    warmup->status = 0;
    warmup->began_ms = hl_clock_mono_ms();
    if (read_body(warmup, &body) != HL_OK)
        fail(warmup, "HOOKLINE_APP_WARMUP_BODY_FILE cannot be read");
    else if (!ask(warmup, address, tls, hl_buf_str(&body), &error))
        fail(warmup, hl_cause_text(hl_cause_of(error)));
    hl_buf_fini(&body);
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
