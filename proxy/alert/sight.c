/* sight.c - see sight.h. */
#include "alert/sight.h"

#include "app/readiness.h"
#include "base/clock.h"
#include "base/str.h"
#include "config/config.h"
#include "run/service.h"
#include "store/gauges.h"

#define CERTIFICATE_MS (14 * 24 * 3600 * 1000ll)
/* A server that was away for a moment is no outage. */
#define FAILING_MS 3000
/* What one look finds to have been set by less is drift. */
#define SET_MS 1000

uint64_t hl_sight_age_ms(struct hl_sight *s, int64_t since_ms, int64_t ahead_ms, int64_t now_ms)
{
    int64_t by_ms = s->was_looked ? ahead_ms - s->ahead_ms : 0;
    if (by_ms >= SET_MS || by_ms <= -SET_MS) {
        s->set_by_ms += by_ms;
        s->set_at = now_ms - by_ms;
    }
    s->ahead_ms = ahead_ms;
    s->was_looked = true;
    if (since_ms == 0 || since_ms > s->set_at)
        s->set_by_ms = s->set_at = 0;
    int64_t age_ms = since_ms == 0 ? 0 : now_ms - since_ms - s->set_by_ms;
    return age_ms > 0 ? (uint64_t)age_ms : 0;
}

/* For how long something has been so; `*since`: when that was first seen. */
static uint64_t how_long(bool is_so, uint64_t *since, uint64_t mono_ms)
{
    if (!is_so)
        *since = 0;
    else if (*since == 0)
        *since = mono_ms;
    return *since > 0 ? mono_ms - *since : 0;
}

static void look_at_store(struct hl_sight *s, const struct hl_store_gauges *store, uint64_t mono_ms)
{
    s->knows_queue = !hl_counter_get(&store->is_uncounted);
    s->queue_age_ms = hl_sight_age_ms(
        s, (int64_t)hl_counter_get(&store->oldest_queued_ms), hl_clock_ahead_ms(), s->now_ms);
    s->bytes = hl_counter_get(&store->bytes);
    s->max_bytes = hl_counter_get(&store->max_bytes);
    s->is_full = hl_counter_get(&store->is_full);
    s->is_failing = hl_counter_get(&store->is_failing);
    s->failing_ms = how_long(s->is_failing, &s->failing_since, mono_ms);
}

static void look_at_app(struct hl_sight *s, const struct hl_service *service, uint64_t mono_ms)
{
    s->unready_ms = how_long(hl_service_misses_app(service), &s->unready_since, mono_ms);
    s->why = hl_readiness_why(service->readiness);
}

void hl_sight_look(struct hl_sight *s, const struct hl_service *service,
    const struct hl_store_gauges *store, uint64_t mono_ms)
{
    s->now_ms = hl_clock_wall_ms();
    s->queue_limit_ms = service->config->alert_queue_age_ms;
    s->unready_limit_ms = service->config->alert_app_after_ms;
    s->is_leaving = atomic_load(&service->is_draining);
    look_at_store(s, store, mono_ms);
    look_at_app(s, service, mono_ms);
    s->has_certificate = hl_service_speaks_tls(service->config);
    s->expires_ms = s->has_certificate ? 1000 * hl_tls_expires_s(service->tls) : 0;
}

/* ---- conditions ---- */

static enum hl_condition judge(bool holds)
{
    return holds ? HL_CONDITION_HOLDS : HL_CONDITION_CLEAR;
}

static enum hl_condition judge_queue(
    const struct hl_sight *s, bool was_holding, struct hl_alert_facts *facts)
{
    (void)was_holding;
    facts->value = (int64_t)s->queue_age_ms;
    facts->limit = (int64_t)s->queue_limit_ms;
    return s->knows_queue ? judge(s->queue_age_ms > s->queue_limit_ms) : HL_CONDITION_UNKNOWN;
}

static enum hl_condition judge_room(
    const struct hl_sight *s, bool was_holding, struct hl_alert_facts *facts)
{
    uint64_t percent = was_holding ? 85 : 90;
    facts->value = (int64_t)s->bytes;
    facts->limit = (int64_t)s->max_bytes;
    bool is_near = s->max_bytes > 0 && s->bytes >= s->max_bytes / 100 * percent;
    return judge(s->is_full || is_near);
}

static enum hl_condition judge_failing(
    const struct hl_sight *s, bool was_holding, struct hl_alert_facts *facts)
{
    (void)facts;
    return judge(s->is_failing && (was_holding || s->failing_ms >= FAILING_MS));
}

static enum hl_condition judge_app(
    const struct hl_sight *s, bool was_holding, struct hl_alert_facts *facts)
{
    if (s->is_leaving)
        return HL_CONDITION_UNKNOWN;
    facts->value = (int64_t)s->unready_ms;
    facts->limit = (int64_t)s->unready_limit_ms;
    hl_str_put_cut(facts->text, sizeof(facts->text), hl_str_from(s->why ? s->why : ""));
    if (was_holding && s->unready_since > 0)
        return HL_CONDITION_HOLDS;
    return judge(s->unready_ms >= s->unready_limit_ms);
}

static enum hl_condition judge_certificate(
    const struct hl_sight *s, bool was_holding, struct hl_alert_facts *facts)
{
    (void)was_holding;
    facts->value = s->expires_ms;
    return judge(
        s->has_certificate && s->expires_ms > 0 && s->expires_ms - CERTIFICATE_MS <= s->now_ms);
}

enum hl_condition hl_sight_judge(const struct hl_sight *s, enum hl_alert_kind kind,
    bool was_holding, struct hl_alert_facts *facts)
{
    static enum hl_condition (*const judges[HL_ALERT_KINDS])(
        const struct hl_sight *s, bool was_holding, struct hl_alert_facts *facts) = {
        [HL_ALERT_QUEUE_AGE] = judge_queue,
        [HL_ALERT_STORE_FULL] = judge_room,
        [HL_ALERT_STORE_FAILING] = judge_failing,
        [HL_ALERT_APP_NOT_READY] = judge_app,
        [HL_ALERT_CERTIFICATE_EXPIRING] = judge_certificate,
    };
    *facts = (struct hl_alert_facts){0};
    return judges[kind] ? judges[kind](s, was_holding, facts) : HL_CONDITION_UNKNOWN;
}
