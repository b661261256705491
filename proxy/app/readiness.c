/* readiness.c - whether the app behind us takes calls.
 * Owns: one check at a time. Thread: control.
 * Promise: the flag follows the app within about two seconds, seven when it does not answer at all;
 * why it is not ready is in the log once, not with each check.
 * Not here: waiting for the app with a call in hand (pool.c), the texts (cause.c). */
#include "app/readiness.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/head.h"

#define CHECK_NOT_READY_MS 100
#define CHECK_READY_MS     1000
#define CHECK_DOUBT_MS     500 /* after a bad check of an app that is ready */
#define BAD_CHECKS         3   /* in a row */
#define QUIET_START_MS     5000
#define PROBE_TIMEOUT_MS   2000 /* cause.c says so */
#define PROBE_HEAD_MAX     16384

struct hl_probe {
    struct hl_stream stream;
    struct hl_readiness *readiness; /* NULL: the outcome is no longer wanted */
    bool is_connected;
    struct hl_buf head;
};

static const struct hl_cause good = {.kind = HL_CAUSE_NONE};

static void begin(struct hl_readiness *r);
static void on_timer(struct hl_timer *timer);
static void address_end(struct hl_readiness *r, struct hl_cause cause);
static void drop_addresses(struct hl_readiness *r);

void hl_readiness_init(struct hl_readiness *r, uv_loop_t *loop, struct hl_wheel *wheel,
    struct hl_reader *reader, const struct hl_config *config, struct hl_pool_group *calls)
{
    memset(r, 0, sizeof(*r));
    r->config = config;
    r->loop = loop;
    r->wheel = wheel;
    r->reader = reader;
    r->calls = calls;
    atomic_init(&r->is_ready, false);
    atomic_init(&r->why, hl_cause_text(good));
    hl_timer_init(&r->timer, on_timer);
}

void hl_readiness_start(struct hl_readiness *r)
{
    begin(r);
}

/* ---- the verdict ---- */

static bool is_news(struct hl_readiness *r, const char *why)
{
    for (unsigned i = 0; i < r->said_count; i++)
        if (r->said[i] == why)
            return false;
    if (r->said_count == HL_READINESS_SAID)
        return false;
    r->said[r->said_count++] = why;
    return true;
}

static void say_why(const struct hl_readiness *r, const char *why)
{
    if (r->is_held || r->worst.error == 0)
        HL_LOG(WARN, "the app is not ready", HL_LOG_TEXT("cause", why));
    else
        HL_LOG(WARN, "the app is not ready", HL_LOG_TEXT("cause", why),
            HL_LOG_TEXT("error", uv_strerror(r->worst.error)));
}

static void say_occupant(const struct hl_readiness *r, const char *why)
{
    struct hl_occupant_process process = hl_occupant_find(&r->occupant);
    if (process.pid == 0)
        HL_LOG(ERROR, "the app is not ready", HL_LOG_TEXT("cause", why));
    else
        HL_LOG(ERROR, "the app is not ready", HL_LOG_TEXT("cause", why),
            HL_LOG_INT("its_pid", process.pid), HL_LOG_TEXT("its_program", process.name));
}

static void become_ready(struct hl_readiness *r)
{
    r->bad_checks = 0;
    if (atomic_exchange(&r->is_ready, true))
        return;
    r->said_count = 0;
    hl_pool_group_bar(r->calls, false);
    HL_LOG(INFO, "the app is ready");
}

static void become_unready(struct hl_readiness *r)
{
    bool is_occupied = r->worst.kind == HL_CAUSE_OCCUPIED;
    bool was_ready = hl_readiness_is_ready(r);
    bool is_quiet = !was_ready && !is_occupied && uv_now(r->loop) < r->quiet_until;
    const char *why = hl_cause_text(r->worst);
    if (!is_quiet)
        atomic_store(&r->why, why);
    atomic_store(&r->is_ready, false);
    hl_pool_group_bar(r->calls, is_occupied);
    if (was_ready && r->on_lost)
        r->on_lost(r);
    if (is_quiet || !is_news(r, why))
        return;
    if (is_occupied)
        say_occupant(r, why);
    else
        say_why(r, why);
}

/* The check is over: `worst` has what came of it. */
static void conclude(struct hl_readiness *r)
{
    uint64_t again_ms = CHECK_READY_MS;
    bool may_be_busy =
        hl_cause_is_timeout(r->worst) && (r->was_busy || hl_pool_group_is_busy(r->calls));
    drop_addresses(r);
    if (r->worst.kind == HL_CAUSE_NONE) {
        become_ready(r);
    } else if (!hl_readiness_is_ready(r)) {
        become_unready(r);
        again_ms = CHECK_NOT_READY_MS;
    } else if (!may_be_busy) {
        again_ms = CHECK_DOUBT_MS;
        if (++r->bad_checks >= BAD_CHECKS)
            become_unready(r);
    }
    hl_timer_arm(r->wheel, &r->timer, again_ms);
}

/* ---- one address ---- */

static void probe_end(struct hl_probe *probe, struct hl_cause cause)
{
    struct hl_readiness *r = probe->readiness;
    probe->readiness = NULL;
    r->probe = NULL;
    hl_stream_close(&probe->stream);
    address_end(r, cause);
}

static void on_probe_connected(struct hl_probe *probe, int error)
{
    const struct hl_config *config = probe->readiness->config;
    if (error != 0 || config->app_health_path.n == 0) {
        probe_end(probe, error == 0 ? good : hl_cause_of(error));
        return;
    }
    probe->is_connected = true;
    struct hl_buf request;
    hl_buf_init(&request, 0);
    const char *host = config->app_url.is_unix ? "localhost" : config->app_url.host;
    if (hl_buf_printf(&request,
            "GET %.*s HTTP/1.1\r\nHost: %s\r\nUser-Agent: hookline/" HL_VERSION
            "\r\nConnection: close\r\n\r\n",
            HL_STR_ARG(config->app_health_path), host) != HL_OK ||
        hl_stream_write(&probe->stream, request.p, request.n) != HL_OK)
        probe_end(probe, hl_cause_of(UV_ENOMEM));
    else
        hl_stream_resume(&probe->stream);
    hl_buf_fini(&request);
}

static struct hl_cause judge_head(
    const struct hl_probe *probe, enum hl_head_end end, size_t head_len)
{
    struct hl_cause cause = {.kind = HL_CAUSE_HEALTH_NO_HTTP};
    struct hl_head_fault fault;
    struct hl_head *head = malloc(sizeof(*head));
    if (!head)
        return hl_cause_of(UV_ENOMEM);
    if (end == HL_HEAD_END_FOUND &&
        hl_head_parse_response(head, probe->head.p, head_len, HL_METHOD_GET, false, &fault)) {
        bool is_good = head->status >= 200 && head->status < 300;
        cause.kind = is_good ? HL_CAUSE_NONE : HL_CAUSE_HEALTH_STATUS;
        cause.status = head->status;
    }
    free(head);
    return cause;
}

/* Collects the answer's head; its status decides. */
static void on_probe_bytes(struct hl_probe *probe, const char *p, size_t n)
{
    size_t scanned = 0, head_len = 0;
    if (hl_buf_append(&probe->head, p, n) != HL_OK) { /* PROBE_HEAD_MAX, above all */
        probe_end(probe, (struct hl_cause){.kind = HL_CAUSE_HEALTH_NO_HTTP});
        return;
    }
    enum hl_head_end end = hl_head_find_end(probe->head.p, probe->head.n, &scanned, &head_len);
    if (end != HL_HEAD_END_MISSING)
        probe_end(probe, judge_head(probe, end, head_len));
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
        probe_end(probe, (struct hl_cause){.kind = HL_CAUSE_HEALTH_CLOSED});
}

/* NULL: the unix: path. */
static void ask(struct hl_readiness *r, const struct sockaddr *address)
{
    const struct hl_app_url *url = &r->config->app_url;
    if (hl_occupant_holds(&r->occupant, url, address)) {
        address_end(r, (struct hl_cause){.kind = HL_CAUSE_OCCUPIED});
        return;
    }
    struct hl_probe *probe = calloc(1, sizeof(*probe));
    if (!probe) {
        address_end(r, hl_cause_of(UV_ENOMEM));
        return;
    }
    hl_buf_init(&probe->head, PROBE_HEAD_MAX);
    int rc = url->is_unix ? hl_stream_init_unix(&probe->stream, r->loop, r->reader, on_probe_event)
                          : hl_stream_init_tcp(&probe->stream, r->loop, r->reader, on_probe_event);
    if (rc != 0) {
        free(probe);
        address_end(r, hl_cause_of(rc));
        return;
    }
    r->probe = probe;
    probe->readiness = r;
    hl_timer_arm(r->wheel, &r->timer, PROBE_TIMEOUT_MS);
    if (url->is_unix)
        hl_stream_connect_unix(&probe->stream, url->path);
    else if ((rc = hl_stream_connect_tcp(&probe->stream, address)) != 0)
        probe_end(probe, hl_cause_of(rc));
}

/* The probe under way took too long. */
static void time_out(struct hl_readiness *r)
{
    bool is_connected = r->probe->is_connected;
    probe_end(r->probe, is_connected ? (struct hl_cause){.kind = HL_CAUSE_HEALTH_TIMEOUT}
                                     : hl_cause_of(UV_ETIMEDOUT));
}

/* ---- a check ---- */

/* A name may have addresses on which the app does not listen (localhost's ::1). */
static void ask_next(struct hl_readiness *r)
{
    const struct addrinfo *address = r->next;
    r->next = address->ai_next;
    ask(r, address->ai_addr);
}

static void address_end(struct hl_readiness *r, struct hl_cause cause)
{
    if (cause.kind == HL_CAUSE_NONE || cause.kind > r->worst.kind)
        r->worst = cause;
    if (cause.kind != HL_CAUSE_NONE && r->next)
        ask_next(r);
    else
        conclude(r);
}

static void drop_addresses(struct hl_readiness *r)
{
    if (r->found)
        uv_freeaddrinfo(r->found);
    r->found = NULL;
    r->next = NULL;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct hl_readiness *r = request->data;
    free(request);
    if (r)
        r->resolving = NULL;
    if (!r || r->is_held) { /* asked before that */
        uv_freeaddrinfo(found);
        return;
    }
    r->found = found;
    r->next = found;
    if (status == 0 && found)
        ask_next(r);
    else
        address_end(r, hl_cause_of(status != 0 ? status : UV_EAI_NONAME));
}

static void resolve(struct hl_readiness *r)
{
    const struct hl_app_url *url = &r->config->app_url;
    char port[8];
    snprintf(port, sizeof(port), "%u", url->port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    uv_getaddrinfo_t *request = malloc(sizeof(*request));
    if (!request) {
        address_end(r, hl_cause_of(UV_ENOMEM));
        return;
    }
    request->data = r;
    int rc = uv_getaddrinfo(r->loop, request, on_resolved, url->host, port, &hints);
    if (rc != 0) {
        free(request);
        address_end(r, hl_cause_of(rc));
        return;
    }
    r->resolving = request;
}

static void begin(struct hl_readiness *r)
{
    if (r->is_closing || r->is_held)
        return;
    r->worst = good;
    r->was_busy = hl_pool_group_is_busy(r->calls);
    if (r->config->app_url.is_unix)
        ask(r, NULL);
    else if (!r->resolving)
        resolve(r);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_readiness *r = HL_CONTAINER_OF(timer, struct hl_readiness, timer);
    if (r->probe)
        time_out(r);
    else
        begin(r);
}

/* ---- a process of ours ---- */

/* Breaks off the check under way. */
static void forget_probe(struct hl_readiness *r)
{
    hl_timer_disarm(&r->timer);
    drop_addresses(r);
    if (!r->probe)
        return;
    r->probe->readiness = NULL;
    hl_stream_close(&r->probe->stream);
    r->probe = NULL;
}

void hl_readiness_hold(struct hl_readiness *r, const char *why)
{
    r->is_held = true;
    forget_probe(r);
    atomic_store(&r->why, why);
    if (atomic_exchange(&r->is_ready, false))
        say_why(r, why);
}

void hl_readiness_note_occupant(struct hl_readiness *r)
{
    hl_occupant_note(&r->occupant, &r->config->app_url);
    if (hl_occupant_is_nobody(&r->occupant))
        hl_pool_group_bar(r->calls, false);
}

void hl_readiness_release(struct hl_readiness *r, const char *why_not_yet)
{
    r->is_held = false;
    r->bad_checks = 0;
    r->quiet_until = uv_now(r->loop) + QUIET_START_MS;
    atomic_store(&r->why, why_not_yet);
    begin(r);
}

void hl_readiness_close(struct hl_readiness *r)
{
    r->is_closing = true;
    forget_probe(r);
    hl_timer_fini(r->wheel, &r->timer);
    if (r->resolving) {
        r->resolving->data = NULL;
        uv_cancel((uv_req_t *)r->resolving);
        r->resolving = NULL;
    }
}
