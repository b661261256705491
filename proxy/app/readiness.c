/* readiness.c - whether the app behind us takes calls.
 * Owns: one check at a time. Thread: control.
 * Promise: the flag follows the app within about two seconds, seven when it does not answer at all;
 * why it is not ready is in the log once, not with each check.
 * Not here: one question to one address (exchange.c), waiting for the app with a call in hand
 * (upstream_wait.c), the texts (cause.c). */
#include "app/readiness.h"

#include <string.h>

#include "app/exchange.h"
#include "app/gate.h"
#include "app/pool_group.h"
#include "app/request.h"
#include "base/log.h"
#include "config/config.h"
#include "tls/tls.h"

#define CHECK_NOT_READY_MS 100
/* While somebody waits: nobody listens there yet, which costs nobody much; it listens, and loads; and behind HURRY_MS. */
#define CHECK_BRISK_MS   5
#define CHECK_HURRIED_MS 1 /* with the wheel's next tick */
#define CHECK_LONG_MS    20
#define HURRY_MS         10000
#define CHECK_READY_MS   1000
#define CHECK_DOUBT_MS   500 /* after a bad check of an app that is ready */
#define BAD_CHECKS       3   /* in a row */
#define QUIET_START_MS   5000
#define EXCUSED_MS       3000 /* after a check that timed out while calls were inside */
#define PROBE_TIMEOUT_MS 2000 /* cause.c says so */
#define PROBE_HEAD_MAX   (16 * 1024)

static const struct hl_cause good = {.kind = HL_CAUSE_NONE};

static void begin(struct hl_readiness *r);
static void on_timer(struct hl_timer *timer);
static void on_brisk(uv_timer_t *brisk);
static void on_resolved(struct hl_host *host, int status);
static void address_end(struct hl_readiness *r, struct hl_cause cause);
static void on_warmed(struct hl_warmup *warmup, uint64_t again_ms);

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
    uv_timer_init(loop, &r->brisk);
    hl_host_init(&r->host, loop, &config->app_url, on_resolved);
    hl_warmup_init(&r->warmup, loop, wheel, reader, config);
    r->warmup.on_over = on_warmed;
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
            HL_LOG_TEXT("error", hl_tls_error_text(r->worst.error)));
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
    r->bad_since = 0;
    r->hurried_at = 0;
    r->has_been_ready = true;
    r->excused_until = 0;
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

/* Whoever listens there next has to answer at the health path before it gets calls. */
static bool shuts_gate(const struct hl_readiness *r)
{
    return r->calls->gate.rule != HL_APP_GATE_OFF && hl_gate_is_refusal(r->worst);
}

/* At any time of the check: a call that came and went in it may have kept the app from it. */
static bool has_been_busy(const struct hl_readiness *r)
{
    return r->was_busy || hl_pool_group_is_busy(r->calls) ||
           hl_pool_group_given(r->calls) != r->given;
}

/* What it lacks is here, or it may be busy: with calls, or with what checks meanwhile left behind. */
static bool is_no_verdict(struct hl_readiness *r)
{
    bool is_timeout = hl_cause_is_timeout(r->worst);
    if (is_timeout && has_been_busy(r)) {
        r->bad_checks = 0;
        r->excused_until = uv_now(r->loop) + EXCUSED_MS;
        return true;
    }
    bool may_be_cut = is_timeout || r->worst.kind == HL_CAUSE_HEALTH_CLOSED;
    return hl_cause_is_lack(r->worst) || (may_be_cut && uv_now(r->loop) < r->excused_until);
}

/* An app that works may be too busy for a check, but then something comes of it. What is lacking here says nothing. */
static bool is_hung(struct hl_readiness *r)
{
    uint64_t heard = hl_pool_group_heard(r->calls);
    bool is_at_work = hl_cause_is_timeout(r->worst) && has_been_busy(r) && heard != r->heard;
    if (hl_cause_is_lack(r->worst))
        return false;
    if (r->bad_since == 0 || is_at_work) {
        r->bad_since = uv_now(r->loop);
        r->heard = heard;
        return false;
    }
    return uv_now(r->loop) - r->bad_since >= r->config->app_restart_after_ms;
}

/* HOOKLINE_APP_RESTART_AFTER; never during a start. True: it is ended. */
static bool end_hung(struct hl_readiness *r)
{
    if (!r->on_hung || !r->has_been_ready || r->worst.kind == HL_CAUSE_NONE || !is_hung(r))
        return false;
    r->on_hung(r);
    return true;
}

/* The first good check of a start: it is ready with the one behind this. */
static void warm_up(struct hl_readiness *r)
{
    bool is_unix = r->config->app_url.is_unix;
    atomic_store(&r->why, "the app is warming up: HOOKLINE_APP_WARMUP is being asked");
    hl_warmup_begin(&r->warmup,
        is_unix ? NULL : (const struct sockaddr *)&r->host.addresses[r->next - 1].socket, r->tls);
}

static void on_warmed(struct hl_warmup *warmup, uint64_t again_ms)
{
    struct hl_readiness *r = HL_CONTAINER_OF(warmup, struct hl_readiness, warmup);
    hl_timer_arm(r->wheel, &r->timer, again_ms > 0 ? again_ms : 1);
}

/* Until the next check of an app that is not ready. */
static uint64_t pause_ms(const struct hl_readiness *r)
{
    if (r->hurried_at == 0)
        return CHECK_NOT_READY_MS;
    if (uv_now(r->loop) - r->hurried_at >= HURRY_MS)
        return CHECK_LONG_MS;
    return hl_gate_is_refusal(r->worst) ? CHECK_BRISK_MS : CHECK_HURRIED_MS;
}

static void arm(struct hl_readiness *r, uint64_t ms)
{
    if (ms == CHECK_BRISK_MS)
        uv_timer_start(&r->brisk, on_brisk, ms, 0);
    else
        hl_timer_arm(r->wheel, &r->timer, ms);
}

/* The check is over: `worst` has what came of it. */
static void conclude(struct hl_readiness *r)
{
    if (hl_gate_is_refusal(r->worst)) /* whoever listens there next is another one */
        hl_warmup_forget(&r->warmup);
    if (r->worst.kind == HL_CAUSE_NONE && hl_warmup_is_due(&r->warmup)) {
        warm_up(r);
        return;
    }
    uint64_t again_ms = CHECK_READY_MS;
    bool says_nothing = r->worst.kind != HL_CAUSE_NONE && is_no_verdict(r);
    if (r->worst.kind == HL_CAUSE_NONE) {
        become_ready(r);
    } else if (!hl_readiness_is_ready(r)) {
        become_unready(r);
        again_ms = pause_ms(r);
    } else if (!says_nothing) {
        again_ms = CHECK_DOUBT_MS;
        if (++r->bad_checks >= BAD_CHECKS || shuts_gate(r))
            become_unready(r);
    }
    hl_gate_end_check(
        &r->calls->gate, r->gate_check, r->worst, says_nothing || hl_readiness_is_ready(r));
    if (!end_hung(r))
        arm(r, again_ms);
}

/* ---- one question ---- */

static void end_probe(struct hl_readiness *r, struct hl_cause cause)
{
    hl_exchange_drop(r->probe);
    r->probe = NULL;
    address_end(r, cause);
}

/* The status decides; nobody waits for the body. */
static void on_probe_head(void *owner, const struct hl_head *head)
{
    bool is_good = head->status >= 200 && head->status < 300;
    end_probe(owner,
        is_good ? good : (struct hl_cause){.kind = HL_CAUSE_HEALTH_STATUS, .status = head->status});
}

static void on_probe_end(void *owner, enum hl_exchange_end how, int error)
{
    struct hl_readiness *r = owner;
    struct hl_cause cause = good; /* it had but to be connected */
    if (how == HL_EXCHANGE_UNREACHABLE || how == HL_EXCHANGE_NO_MEMORY)
        cause = hl_cause_of(error);
    else if (how == HL_EXCHANGE_LATE)
        cause =
            error != 0 ? hl_cause_of(error) : (struct hl_cause){.kind = HL_CAUSE_HEALTH_TIMEOUT};
    else if (how == HL_EXCHANGE_CLOSED)
        cause.kind = HL_CAUSE_HEALTH_CLOSED;
    else if (how == HL_EXCHANGE_UNREADABLE)
        cause.kind = HL_CAUSE_HEALTH_NO_HTTP;
    r->probe = NULL;
    address_end(r, cause);
}

/* 0, or libuv's code. */
static int begin_probe(struct hl_readiness *r, const struct sockaddr *address)
{
    static const struct hl_exchange_events events = {.head = on_probe_head, .end = on_probe_end};
    const struct hl_app_request request = {.config = r->config,
        .loop = r->loop,
        .wheel = r->wheel,
        .reader = r->reader,
        .tls = r->tls,
        .method = HL_METHOD_GET,
        .verb = "GET ",
        .what = r->config->app_health_path,
        .max_head = PROBE_HEAD_MAX,
        .connect_ms = PROBE_TIMEOUT_MS,
        .head_ms = PROBE_TIMEOUT_MS,
        .events = &events,
        .owner = r};
    int error = 0;
    r->probe = hl_app_request_begin(&request, address, &error);
    return r->probe ? 0 : error;
}

/* ---- a check ---- */

/* NULL: the unix: path. */
static void ask(struct hl_readiness *r, const struct sockaddr *address)
{
    struct hl_cause cause = {.kind = HL_CAUSE_OCCUPIED};
    if (!hl_occupant_holds(&r->occupant, &r->config->app_url, address)) {
        int error = begin_probe(r, address);
        cause = error != 0 ? hl_cause_of(error) : good;
    }
    if (!r->probe)
        address_end(r, cause);
}

static void ask_next(struct hl_readiness *r)
{
    ask(r, (const struct sockaddr *)&r->host.addresses[r->next++].socket);
}

/* A name may have addresses on which the app does not listen (localhost's ::1). */
static void address_end(struct hl_readiness *r, struct hl_cause cause)
{
    if (cause.kind == HL_CAUSE_NONE && !r->config->app_url.is_unix)
        hl_host_prefer(&r->host, r->host.addresses[r->next - 1].mark);
    if (cause.kind == HL_CAUSE_NONE || cause.kind > r->worst.kind)
        r->worst = cause;
    if (cause.kind != HL_CAUSE_NONE && r->next < r->host.address_count)
        ask_next(r);
    else
        conclude(r);
}

/* `error`: libuv's, of the look-up. */
static void ask_all(struct hl_readiness *r, int error)
{
    bool has_none = error != 0 || r->host.address_count == 0;
    r->next = has_none ? r->host.address_count : 0;
    if (has_none)
        address_end(r, hl_cause_of(error != 0 ? error : UV_EAI_NONAME));
    else
        ask_next(r);
}

static void on_resolved(struct hl_host *host, int status)
{
    struct hl_readiness *r = HL_CONTAINER_OF(host, struct hl_readiness, host);
    if (!r->is_held) /* else it was asked before that */
        ask_all(r, status);
}

static void begin(struct hl_readiness *r)
{
    if (r->is_closing || r->is_held)
        return;
    hl_timer_disarm(&r->timer);
    r->worst = good;
    r->gate_check = hl_gate_begin_check(&r->calls->gate);
    r->was_busy = hl_pool_group_is_busy(r->calls);
    r->given = hl_pool_group_given(r->calls);
    if (r->config->app_url.is_unix)
        ask(r, NULL);
    else if (r->host.is_literal)
        ask_all(r, 0);
    else if (!hl_host_resolve(&r->host))
        ask_all(r, UV_ENOMEM);
}

static void on_brisk(uv_timer_t *brisk)
{
    begin(HL_CONTAINER_OF(brisk, struct hl_readiness, brisk));
}

static void on_timer(struct hl_timer *timer)
{
    begin(HL_CONTAINER_OF(timer, struct hl_readiness, timer));
}

/* ---- what calls found out ---- */

void hl_readiness_on_gate(struct hl_readiness *r)
{
    const struct hl_gate *gate = &r->calls->gate;
    if (r->is_closing || r->is_held || hl_gate_is_open(gate) || hl_gate_is_asleep(gate))
        return;
    if (hl_readiness_is_ready(r) && hl_gate_is_shut(&r->calls->gate)) {
        r->worst = (struct hl_cause){.kind = HL_CAUSE_REFUSED};
        hl_warmup_forget(&r->warmup);
        become_unready(r);
    }
    if (hl_timer_is_armed(&r->timer)) /* no check is under way */
        begin(r);
}

/* ---- a process of ours ---- */

/* Breaks off the check under way. */
static void forget_probe(struct hl_readiness *r)
{
    hl_timer_disarm(&r->timer);
    uv_timer_stop(&r->brisk);
    hl_exchange_drop(r->probe);
    r->probe = NULL;
}

/* `told`: the same for the log, or NULL. */
static void hold(struct hl_readiness *r, const char *why, const char *told)
{
    r->is_held = true;
    forget_probe(r);
    hl_warmup_forget(&r->warmup);
    atomic_store(&r->why, why);
    hl_gate_close(&r->calls->gate, told);
    if (atomic_exchange(&r->is_ready, false) && told)
        say_why(r, told);
}

void hl_readiness_hold(struct hl_readiness *r, const char *why)
{
    hold(r, why, why);
}

void hl_readiness_end(struct hl_readiness *r, const char *why)
{
    hold(r, why, NULL);
}

void hl_readiness_rest(struct hl_readiness *r, const char *why)
{
    r->is_held = true;
    forget_probe(r);
    atomic_store(&r->why, why);
    atomic_store(&r->is_ready, false);
}

void hl_readiness_hurry(struct hl_readiness *r)
{
    r->hurried_at = uv_now(r->loop);
}

void hl_readiness_note_occupant(struct hl_readiness *r)
{
    hl_occupant_note(&r->occupant, &r->config->app_url);
    if (hl_occupant_is_nobody(&r->occupant))
        hl_pool_group_bar(r->calls, false);
}

void hl_readiness_release(struct hl_readiness *r, const char *why_not_yet)
{
    r->has_been_ready = false;
    hl_warmup_forget(&r->warmup);
    hl_readiness_resume(r, why_not_yet);
}

void hl_readiness_resume(struct hl_readiness *r, const char *why_not_yet)
{
    r->is_held = false;
    r->bad_since = 0;
    r->bad_checks = 0;
    r->excused_until = 0;
    r->quiet_until = uv_now(r->loop) + QUIET_START_MS;
    atomic_store(&r->why, why_not_yet);
    begin(r);
}

void hl_readiness_close(struct hl_readiness *r)
{
    forget_probe(r);
    hl_warmup_forget(&r->warmup);
    hl_timer_fini(r->wheel, &r->timer);
    if (!r->is_closing)
        uv_close((uv_handle_t *)&r->brisk, NULL);
    r->is_closing = true;
    hl_host_close(&r->host);
}
