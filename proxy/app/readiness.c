/* readiness.c - whether the app behind us takes calls.
 * Owns: one probe at a time. Thread: control.
 * Promise: the flag changes within a second of the app's change.
 * Not here: waiting for the app with a call in hand (pool.c). */
#include "app/readiness.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/head.h"

#define PROBE_NOT_READY_MS 100
#define PROBE_READY_MS     1000
#define PROBE_TIMEOUT_MS   2000
#define PROBE_HEAD_MAX     16384

struct hl_probe {
    struct hl_stream stream;
    struct hl_readiness *readiness; /* NULL: the outcome is no longer wanted */
    struct hl_buf head;
};

static const char not_ready[] = "the app at HOOKLINE_APP_URL is not ready";

static void begin(struct hl_readiness *r);

static void on_timer(struct hl_timer *timer)
{
    struct hl_readiness *r = HL_CONTAINER_OF(timer, struct hl_readiness, timer);
    begin(r);
}

void hl_readiness_init(struct hl_readiness *r, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config)
{
    memset(r, 0, sizeof(*r));
    r->config = config;
    r->loop = loop;
    r->wheel = wheel;
    r->reader = reader;
    atomic_init(&r->is_ready, false);
    atomic_init(&r->why, not_ready);
    hl_timer_init(&r->timer, on_timer);
}

void hl_readiness_start(struct hl_readiness *r)
{
    begin(r);
}

static void conclude(struct hl_readiness *r, bool is_ready)
{
    if (atomic_exchange(&r->is_ready, is_ready) != is_ready)
        HL_LOG(INFO, is_ready ? "the app is ready" : "the app is not ready");
    if (is_ready)
        atomic_store(&r->why, not_ready); /* when it is asked for next, it was ready before */
    else
        r->turn++;
    if (!r->is_held)
        hl_timer_arm(r->wheel, &r->timer, is_ready ? PROBE_READY_MS : PROBE_NOT_READY_MS);
}

static void probe_end(struct hl_probe *probe, bool is_ready)
{
    struct hl_readiness *r = probe->readiness;
    probe->readiness = NULL;
    r->probe = NULL;
    hl_stream_close(&probe->stream);
    conclude(r, is_ready);
}

static void on_probe_connected(struct hl_probe *probe, int error)
{
    const struct hl_config *config = probe->readiness->config;
    if (error != 0 || config->app_health_path.n == 0) {
        probe_end(probe, error == 0);
        return;
    }
    struct hl_buf request;
    hl_buf_init(&request, 0);
    const char *host = config->app_url.is_unix ? "localhost" : config->app_url.host;
    if (hl_buf_printf(&request,
            "GET %.*s HTTP/1.1\r\nHost: %s\r\nUser-Agent: hookline/" HL_VERSION
            "\r\nConnection: close\r\n\r\n",
            HL_STR_ARG(config->app_health_path), host) != HL_OK ||
        hl_stream_write(&probe->stream, request.p, request.n) != HL_OK)
        probe_end(probe, false);
    else
        hl_stream_resume(&probe->stream);
    hl_buf_fini(&request);
}

/* Collects the answer's head; its status decides. */
static void on_probe_bytes(struct hl_probe *probe, const char *p, size_t n)
{
    size_t scanned = 0, head_len = 0;
    if (hl_buf_append(&probe->head, p, n) != HL_OK) {
        probe_end(probe, false);
        return;
    }
    enum hl_head_end end = hl_head_find_end(probe->head.p, probe->head.n, &scanned, &head_len);
    if (end == HL_HEAD_END_MISSING)
        return;
    struct hl_head *head = malloc(sizeof(*head));
    struct hl_head_fault fault;
    bool is_ready =
        head && end == HL_HEAD_END_FOUND &&
        hl_head_parse_response(head, probe->head.p, head_len, HL_METHOD_GET, false, &fault) &&
        head->status >= 200 && head->status < 300;
    free(head);
    probe_end(probe, is_ready);
}

static void on_probe_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    struct hl_probe *probe = HL_CONTAINER_OF(stream, struct hl_probe, stream);
    if (event->kind == HL_STREAM_CLOSED) {
        hl_buf_fini(&probe->head);
        free(probe);
        return;
    }
    if (!probe->readiness)
        return;
    if (event->kind == HL_STREAM_CONNECTED)
        on_probe_connected(probe, event->error);
    else if (event->kind == HL_STREAM_DATA)
        on_probe_bytes(probe, event->p, event->n);
    else if (event->kind != HL_STREAM_DRAINED)
        probe_end(probe, false);
}

static void connect_to(struct hl_readiness *r, const struct sockaddr *address)
{
    const struct hl_app_url *url = &r->config->app_url;
    struct hl_probe *probe = calloc(1, sizeof(*probe));
    if (!probe) {
        conclude(r, false);
        return;
    }
    hl_buf_init(&probe->head, PROBE_HEAD_MAX);
    int rc = url->is_unix ? hl_stream_init_unix(&probe->stream, r->loop, r->reader, on_probe_event)
                          : hl_stream_init_tcp(&probe->stream, r->loop, r->reader, on_probe_event);
    if (rc != 0) {
        free(probe);
        conclude(r, false);
        return;
    }
    r->probe = probe;
    probe->readiness = r;
    hl_timer_arm(r->wheel, &r->timer, PROBE_TIMEOUT_MS);
    if (url->is_unix)
        hl_stream_connect_unix(&probe->stream, url->path);
    else if (hl_stream_connect_tcp(&probe->stream, address) != 0)
        probe_end(probe, false);
}

/* A name may have addresses on which the app does not listen (localhost's ::1): each failed probe
 * goes on to the next. */
static const struct addrinfo *pick(const struct hl_readiness *r, const struct addrinfo *found)
{
    unsigned n = 0;
    for (const struct addrinfo *a = found; a; a = a->ai_next)
        n++;
    for (unsigned i = n ? r->turn % n : 0; i > 0; i--)
        found = found->ai_next;
    return found;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct hl_readiness *r = request->data;
    free(request);
    if (r) {
        r->resolving = NULL;
        if (r->is_held)
            ; /* asked before that */
        else if (status == 0 && found)
            connect_to(r, pick(r, found)->ai_addr);
        else
            conclude(r, false);
    }
    uv_freeaddrinfo(found);
}

static void resolve(struct hl_readiness *r)
{
    const struct hl_app_url *url = &r->config->app_url;
    char port[8];
    snprintf(port, sizeof(port), "%u", url->port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    uv_getaddrinfo_t *request = malloc(sizeof(*request));
    if (!request) {
        conclude(r, false);
        return;
    }
    request->data = r;
    if (uv_getaddrinfo(r->loop, request, on_resolved, url->host, port, &hints) != 0) {
        free(request);
        conclude(r, false);
        return;
    }
    r->resolving = request;
}

/* The timer fired: a probe is due, or the one under way took too long. */
static void begin(struct hl_readiness *r)
{
    if (r->is_closing || r->is_held)
        return;
    if (r->probe)
        probe_end(r->probe, false);
    else if (r->config->app_url.is_unix)
        connect_to(r, NULL);
    else if (!r->resolving)
        resolve(r);
}

void hl_readiness_hold(struct hl_readiness *r, const char *why)
{
    r->is_held = true;
    atomic_store(&r->why, why);
    hl_timer_disarm(&r->timer);
    if (r->probe)
        probe_end(r->probe, false);
    else
        conclude(r, false);
}

void hl_readiness_release(struct hl_readiness *r, const char *why_not_yet)
{
    r->is_held = false;
    atomic_store(&r->why, why_not_yet);
    begin(r);
}

void hl_readiness_close(struct hl_readiness *r)
{
    r->is_closing = true;
    hl_timer_fini(r->wheel, &r->timer);
    if (r->probe) {
        r->probe->readiness = NULL;
        hl_stream_close(&r->probe->stream);
        r->probe = NULL;
    }
    if (r->resolving) {
        r->resolving->data = NULL;
        uv_cancel((uv_req_t *)r->resolving);
        r->resolving = NULL;
    }
}
