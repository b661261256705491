/* relay.c - see relay.h.
 * Owns: the request and its exchange. Thread: its follower's loop.
 * Promise: it takes 2 s to connect at most, the look-up of the other's name included.
 * Not here: the connection (app/exchange.c), who asks, and what comes in its place when it fails (follow_relay.c). */
#include "body/relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/exchange.h"
#include "base/buf.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/list.h"
#include "body/relay_name.h"
#include "http/url.h"
#include "loop/wheel.h"
#include "store/relay_pass.h"

#define CONNECT_MS 2000
#define HEAD_MS    5000
#define HEAD_MAX   16384
#define READ_SIZE  (16 * 1024)

struct hl_relay {
    struct hl_relay_parts parts;
    struct hl_relay_name name;
    struct hl_id run_id;
    struct hl_timer timer; /* until its exchange has begun */
    uint64_t begun_ms;     /* uv_now */
    uint16_t port;
    bool is_paused;
    struct hl_buf request;        /* until it is the exchange's */
    struct hl_exchange *exchange; /* NULL: the name is looked up */
};

void hl_relay_drop(struct hl_relay *r)
{
    if (!r)
        return;
    hl_timer_fini(r->parts.wheel, &r->timer);
    hl_relay_name_cut(&r->name);
    hl_exchange_drop(r->exchange);
    hl_buf_fini(&r->request);
    free(r);
}

static void end(struct hl_relay *r, bool is_whole)
{
    const struct hl_relay_events *events = r->parts.events;
    void *owner = r->parts.owner;
    hl_relay_drop(r);
    events->end(owner, is_whole);
}

static void on_time(struct hl_timer *timer)
{
    end(HL_CONTAINER_OF(timer, struct hl_relay, timer), false);
}

/* ---- its answer ---- */

static enum hl_run_state state_of(const struct hl_head *head)
{
    for (size_t i = 0; i < head->field_count; i++) {
        if (!hl_str_eq_nocase(head->fields[i].name, HL_STR("x-run-state")))
            continue;
        for (int s = 0; s <= HL_RUN_CANCELLED; s++)
            if (hl_str_eq(
                    head->fields[i].value, hl_str_from(hl_run_state_text((enum hl_run_state)s))))
                return (enum hl_run_state)s;
    }
    return HL_RUN_RUNNING;
}

/* Whether it is hookline that answers, about this run: at that address there may be anything. */
static bool is_about(const struct hl_head *head, const struct hl_id *run_id)
{
    char id[HL_ID_TEXT];
    hl_id_format(run_id, id);
    const struct hl_field *about = hl_head_find(head, HL_STR("x-request-id"));
    return about && hl_str_eq(about->value, (struct hl_str){id, sizeof(id)});
}

static void on_head(void *owner, const struct hl_head *head)
{
    struct hl_relay *r = owner;
    if (is_about(head, &r->run_id))
        r->parts.events->answer(r->parts.owner, head->status, state_of(head));
    else
        end(r, false);
}

static void on_bytes(void *owner, struct hl_str bytes)
{
    struct hl_relay *r = owner;
    r->parts.events->bytes(r->parts.owner, bytes);
}

static void on_end(void *owner, enum hl_exchange_end how, int error)
{
    struct hl_relay *r = owner;
    (void)error;
    r->exchange = NULL;
    end(r, how == HL_EXCHANGE_WHOLE);
}

/* ---- the connection ---- */

static uint64_t left_to_connect(const struct hl_relay *r)
{
    uint64_t took = uv_now(r->parts.loop) - r->begun_ms;
    return took < CONNECT_MS ? CONNECT_MS - took : 1;
}

static void begin_exchange(struct hl_relay *r, const struct sockaddr *address)
{
    static const struct hl_exchange_events events = {
        .head = on_head, .bytes = on_bytes, .end = on_end};
    const struct hl_exchange_order order = {.loop = r->parts.loop,
        .wheel = r->parts.wheel,
        .reader = r->parts.reader,
        .address = address,
        .tls = r->parts.tls,
        .tls_use = HL_TLS_REPLICAS,
        .method = HL_METHOD_GET,
        .max_head = HEAD_MAX,
        .read_size = READ_SIZE,
        .is_decoded = true,
        .connect_ms = left_to_connect(r),
        .head_ms = HEAD_MS,
        .silence_ms = r->parts.silence_ms,
        .events = &events,
        .owner = r};
    int error;
    r->exchange = hl_exchange_begin(&order, &r->request, &error);
    if (r->exchange && r->is_paused)
        hl_exchange_pause(r->exchange);
}

/* Its owner hears of a failure after the begin. */
static void on_found(struct hl_relay_name *name, const struct sockaddr_storage *found)
{
    struct hl_relay *r = HL_CONTAINER_OF(name, struct hl_relay, name);
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    if (found)
        address = *found;
    if (address.ss_family == AF_INET)
        ((struct sockaddr_in *)&address)->sin_port = htons(r->port);
    else
        ((struct sockaddr_in6 *)&address)->sin6_port = htons(r->port);
    if (found)
        begin_exchange(r, (const struct sockaddr *)&address);
    if (r->exchange)
        hl_timer_disarm(&r->timer);
    else
        hl_timer_arm(r->parts.wheel, &r->timer, 1);
}

/* ---- the request ---- */

/* An id may hold any bytes, and spaces at its ends: escaped, all of them arrive. */
static enum hl_err write_last_event_id(struct hl_buf *text, struct hl_str id)
{
    char digits[2];
    enum hl_err err = id.n > 0 ? hl_buf_append_str(text, HL_STR("&last_event_id=")) : HL_OK;
    for (size_t i = 0; !err && i < id.n; i++) {
        hl_hex_write(digits, (const uint8_t *)id.p + i, 1);
        err = hl_buf_printf(text, "%%%.2s", digits);
    }
    return err;
}

static enum hl_err write_request(
    struct hl_relay *r, const struct hl_relay_request *request, const struct hl_url *url)
{
    char id[HL_ID_TEXT], pass[HL_RELAY_PASS_MAX];
    hl_id_format(&request->run_id, id);
    hl_relay_pass_write(r->parts.store, &request->run_id, hl_clock_wall_ms(), pass);
    enum hl_err err =
        hl_buf_printf(&r->request, "GET /v2/projects/%.*s/apps/%.*s/runs/%.*s/events?progress=%s",
            HL_STR_ARG(request->project), HL_STR_ARG(request->app), HL_ID_TEXT, id,
            request->wants_progress ? "true" : "false");
    if (!err && request->as)
        err = hl_buf_printf(&r->request, "&as=%s", request->as);
    if (!err)
        err = write_last_event_id(&r->request, request->last_event_id);
    return err ? err
               : hl_buf_printf(&r->request,
                     " HTTP/1.1\r\n"
                     "Host: %s%.*s%s:%u\r\n"
                     "User-Agent: hookline/" HL_VERSION "\r\n" HL_RELAY_PASS_NAME
                     ": %s\r\nConnection: close\r\n\r\n",
                     url->is_bracketed ? "[" : "", HL_STR_ARG(url->host),
                     url->is_bracketed ? "]" : "", url->port, pass);
}

static bool take_url(struct hl_relay *r, struct hl_str home, struct hl_url *url)
{
    if (!hl_url_parse(home, url) || url->is_https != (r->parts.tls != NULL) ||
        url->host.n > HL_RELAY_HOST_MAX)
        return false;
    memcpy(r->name.host, url->host.p, url->host.n);
    r->port = url->port;
    return true;
}

struct hl_relay *hl_relay_begin(
    const struct hl_relay_parts *parts, const struct hl_relay_request *request)
{
    struct hl_url url;
    struct hl_relay *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->parts = *parts;
    r->run_id = request->run_id;
    r->begun_ms = uv_now(parts->loop);
    hl_buf_init(&r->request, 0);
    hl_timer_init(&r->timer, on_time);
    hl_list_init(&r->name.node);
    if (!take_url(r, request->home, &url) || write_request(r, request, &url) != HL_OK) {
        hl_relay_drop(r);
        return NULL;
    }
    r->name.on_found = on_found;
    hl_timer_arm(parts->wheel, &r->timer, CONNECT_MS);
    hl_relay_name_find(parts->names, &r->name);
    return r;
}

/* The follower's own deadline runs meanwhile. */
void hl_relay_pause(struct hl_relay *r)
{
    r->is_paused = true;
    if (r->exchange)
        hl_exchange_pause(r->exchange);
}

void hl_relay_resume(struct hl_relay *r)
{
    r->is_paused = false;
    if (r->exchange)
        hl_exchange_resume(r->exchange);
}
