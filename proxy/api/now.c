/* now.c - the present state and the last hour as JSON, and the clock that fills the ring.
 * Owns: the recorder's timer. Thread: control.
 * Not here: where the figures come from (metrics.c), who may ask (endpoint.c), words and charts
 * (dashboard/now.js). */
#include "api/now.h"

#include <inttypes.h>

#include "api/figures.h"
#include "app/sleep.h"
#include "base/assert.h"
#include "base/clock.h"
#include "config/config.h"
#include "config/option.h"
#include "http/refusal.h"
#include "http/url.h"
#include "run/service.h"
#include "store/gauges.h"
#include "tls/tls.h"
#include "webhook/sender.h"
#include "worker/left.h"

/* ---- the figures of the last hour: a ring of samples, one each HL_HISTORY_INTERVAL_MS, so that the dashboard's charts
 * need no other program (contract 13). Its size is fixed, about 30 KB: it is gone with the process; counters are
 * never reset, a sample is a difference of two readings (metrics.c) ---- */

static void read_buckets(uint64_t *to, const struct hl_histogram *h)
{
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        to[i] = hl_counter_get(&h->bucket[i]);
}

static void read_base(
    struct hl_history_base *base, const struct hl_figures *figures, uint64_t mono_ms)
{
    base->mono_ms = mono_ms;
    base->calls = hl_worker_metrics_requests(&figures->workers, HL_MODE_COUNT, 0);
    base->errors = hl_worker_metrics_requests(&figures->workers, HL_MODE_COUNT, 5);
    base->delivered = hl_counter_get(&figures->sender->attempts_ok);
    base->retried = hl_counter_get(&figures->sender->attempts_retry);
    base->dead = hl_counter_get(&figures->sender->attempts_dead);
    base->commits = hl_counter_get(&figures->store->commits);
    read_buckets(base->latency, &figures->workers.duration[HL_MODE_SYNC]);
    read_buckets(base->commit, &figures->store->commit_latency);
}

void hl_history_init(struct hl_history *history, const struct hl_figures *figures, uint64_t mono_ms)
{
    history->count = 0;
    read_base(&history->base, figures, mono_ms);
}

/* HL_HISTORY_NONE is not a number. */
static uint32_t clamp(uint64_t n)
{
    return n < HL_HISTORY_NONE ? (uint32_t)n : HL_HISTORY_NONE - 1;
}

/* The measurements between two readings. */
static void set_quantiles(
    struct hl_sample *sample, int p50_column, const uint64_t *before, const uint64_t *after)
{
    uint64_t counts[HL_HISTOGRAM_BUCKETS], total = 0;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        total += counts[i] = after[i] - before[i];
    uint32_t *values = sample->values;
    values[p50_column] = total ? clamp(hl_histogram_quantile(counts, 50)) : HL_HISTORY_NONE;
    values[p50_column + 1] = total ? clamp(hl_histogram_quantile(counts, 99)) : HL_HISTORY_NONE;
}

static void set_levels(struct hl_sample *sample, const struct hl_figures *figures)
{
    const struct hl_worker_metrics *workers = &figures->workers;
    uint32_t *values = sample->values;
    values[HL_HISTORY_IN_FLIGHT] = clamp(hl_counter_get(&workers->calls_in_flight));
    values[HL_HISTORY_RUNS] = clamp(hl_counter_get(&workers->runs_in_flight));
    values[HL_HISTORY_WAITING] = clamp(hl_figures_waiting(workers));
    values[HL_HISTORY_QUEUED] = clamp(hl_counter_get(&figures->store->queued_runs));
    values[HL_HISTORY_QUEUE_AGE_MS] =
        clamp(hl_figures_age_ms(figures->now_ms, &figures->store->oldest_queued_ms));
    values[HL_HISTORY_PENDING] = clamp(hl_counter_get(&figures->store->pending_deliveries));
    if (hl_counter_get(&figures->store->is_uncounted))
        values[HL_HISTORY_QUEUED] = values[HL_HISTORY_QUEUE_AGE_MS] = values[HL_HISTORY_PENDING] =
            HL_HISTORY_NONE;
}

void hl_history_add(struct hl_history *history, const struct hl_figures *figures, uint64_t mono_ms)
{
    struct hl_history_base after;
    const struct hl_history_base *before = &history->base;
    struct hl_sample *sample = &history->samples[history->count % HL_HISTORY_SAMPLES];
    read_base(&after, figures, mono_ms);
    sample->at_ms = figures->now_ms;
    sample->elapsed_ms = clamp(after.mono_ms - before->mono_ms);
    sample->values[HL_HISTORY_CALLS] = clamp(after.calls - before->calls);
    sample->values[HL_HISTORY_ERRORS] = clamp(after.errors - before->errors);
    sample->values[HL_HISTORY_DELIVERED] = clamp(after.delivered - before->delivered);
    sample->values[HL_HISTORY_RETRIED] = clamp(after.retried - before->retried);
    sample->values[HL_HISTORY_DEAD] = clamp(after.dead - before->dead);
    sample->values[HL_HISTORY_COMMITS] = clamp(after.commits - before->commits);
    set_levels(sample, figures);
    set_quantiles(sample, HL_HISTORY_LATENCY_P50, before->latency, after.latency);
    set_quantiles(sample, HL_HISTORY_COMMIT_P50, before->commit, after.commit);
    history->base = after;
    history->count++;
}

uint64_t hl_history_first(const struct hl_history *history)
{
    return history->count > HL_HISTORY_SAMPLES ? history->count - HL_HISTORY_SAMPLES + 1 : 1;
}

const struct hl_sample *hl_history_at(const struct hl_history *history, uint64_t number)
{
    HL_ASSERT(number >= hl_history_first(history) && number <= history->count);
    return &history->samples[(number - 1) % HL_HISTORY_SAMPLES];
}

/* ---- recording ---- */

static void on_timer(struct hl_timer *timer)
{
    struct hl_recorder *recorder = HL_CONTAINER_OF(timer, struct hl_recorder, timer);
    struct hl_figures figures;
    hl_figures_collect(&figures, &recorder->view);
    hl_history_add(&recorder->history, &figures, hl_clock_mono_ms());
    hl_timer_arm(recorder->wheel, timer, HL_HISTORY_INTERVAL_MS);
}

void hl_recorder_start(
    struct hl_recorder *recorder, struct hl_wheel *wheel, struct hl_api_view *view)
{
    struct hl_figures figures;
    view->history = &recorder->history;
    recorder->view = *view;
    recorder->wheel = wheel;
    hl_figures_collect(&figures, view);
    hl_history_init(&recorder->history, &figures, hl_clock_mono_ms());
    hl_timer_init(&recorder->timer, on_timer);
    hl_timer_arm(wheel, &recorder->timer, HL_HISTORY_INTERVAL_MS);
}

void hl_recorder_stop(struct hl_recorder *recorder)
{
    if (recorder->wheel)
        hl_timer_fini(recorder->wheel, &recorder->timer);
}

/* ---- the text ---- */

/* Under way, with the first error: after it nothing more is written. */
struct text {
    struct hl_buf *out;
    enum hl_err err;
};

#define WRITE(t, ...) ((t)->err = (t)->err ? (t)->err : hl_buf_printf((t)->out, __VA_ARGS__))

/* How a column's numbers are shown. */
enum unit {
    UNIT_NUMBER,     /* null: not known */
    UNIT_PER_SECOND, /* of a count, with one decimal */
    UNIT_MS,         /* of microseconds, with two decimals; null: none */
};

static const struct {
    const char *name;
    enum unit unit;
} columns[HL_HISTORY_COLUMNS] = {
    [HL_HISTORY_CALLS] = {"calls_per_s", UNIT_PER_SECOND},
    [HL_HISTORY_ERRORS] = {"errors_per_s", UNIT_PER_SECOND},
    [HL_HISTORY_IN_FLIGHT] = {"calls_in_flight", UNIT_NUMBER},
    [HL_HISTORY_RUNS] = {"runs_in_flight", UNIT_NUMBER},
    [HL_HISTORY_WAITING] = {"calls_waiting", UNIT_NUMBER},
    [HL_HISTORY_QUEUED] = {"runs_queued", UNIT_NUMBER},
    [HL_HISTORY_QUEUE_AGE_MS] = {"queue_age_ms", UNIT_NUMBER},
    [HL_HISTORY_LATENCY_P50] = {"latency_p50_ms", UNIT_MS},
    [HL_HISTORY_LATENCY_P99] = {"latency_p99_ms", UNIT_MS},
    [HL_HISTORY_DELIVERED] = {"attempts_delivered", UNIT_NUMBER},
    [HL_HISTORY_RETRIED] = {"attempts_retried", UNIT_NUMBER},
    [HL_HISTORY_DEAD] = {"attempts_dead", UNIT_NUMBER},
    [HL_HISTORY_PENDING] = {"deliveries_pending", UNIT_NUMBER},
    [HL_HISTORY_COMMITS] = {"commits_per_s", UNIT_PER_SECOND},
    [HL_HISTORY_COMMIT_P50] = {"commit_p50_ms", UNIT_MS},
    [HL_HISTORY_COMMIT_P99] = {"commit_p99_ms", UNIT_MS},
};

static void write_value(struct text *t, const struct hl_sample *sample, int column)
{
    uint32_t value = sample->values[column];
    enum unit unit = columns[column].unit;
    if (unit == UNIT_PER_SECOND)
        WRITE(t, "%.4g", sample->elapsed_ms ? value * 1000.0 / sample->elapsed_ms : 0);
    else if (value == HL_HISTORY_NONE)
        WRITE(t, "null");
    else if (unit == UNIT_NUMBER)
        WRITE(t, "%" PRIu32, value);
    else
        WRITE(t, "%.4g", value / 1000.0);
}

static void write_samples(struct text *t, const struct hl_history *history, uint64_t from)
{
    WRITE(t, "\"interval_ms\":%d,\"last\":%" PRIu64 ",\"samples\":{\"at\":[",
        HL_HISTORY_INTERVAL_MS, history->count);
    for (uint64_t i = from; i <= history->count; i++)
        WRITE(t, "%s%" PRId64, i > from ? "," : "", hl_history_at(history, i)->at_ms);
    for (int column = 0; column < HL_HISTORY_COLUMNS; column++) {
        WRITE(t, "],\"%s\":[", columns[column].name);
        for (uint64_t i = from; i <= history->count; i++) {
            if (i > from)
                WRITE(t, ",");
            write_value(t, hl_history_at(history, i), column);
        }
    }
    WRITE(t, "]}}\n");
}

/* Of an app that is awake there is nothing to say. */
static void write_sleep(struct text *t, const struct hl_figures *figures)
{
    int64_t since_ms = 0;
    enum hl_sleep_look look = hl_sleep_look(figures->sleep, &since_ms);
    char since[HL_CLOCK_TEXT];
    if (look == HL_SLEEP_LOOK_AWAKE)
        return;
    hl_clock_format(since_ms, since);
    WRITE(t, "\"app_state\":\"%s\",\"app_since\":\"%s\",", hl_sleep_look_text(look), since);
}

/* What it waits for while it drains. */
static void write_left(struct text *t, const struct hl_service *service)
{
    char words[HL_LEFT_TEXT];
    if (!atomic_load(&service->is_draining))
        return;
    struct hl_left left = hl_left_count(service);
    hl_left_write(&left, words);
    WRITE(t, "\"left\":\"%s\",", words);
}

/* The one that callers see. */
static void write_certificate(struct text *t, const struct hl_service *service)
{
    char expires[HL_CLOCK_TEXT];
    if (!hl_service_speaks_tls(service->config))
        return;
    int64_t expires_s = hl_tls_expires_s(service->tls);
    if (expires_s <= 0)
        return;
    hl_clock_format(1000 * expires_s, expires);
    WRITE(t, "\"certificate_expires_at\":\"%s\",", expires);
}

static void write_state(
    struct text *t, const struct hl_api_view *view, const struct hl_figures *figures)
{
    const char *problems[HL_SERVICE_PROBLEMS_MAX];
    char now[HL_CLOCK_TEXT], started[HL_CLOCK_TEXT];
    size_t n = hl_service_problems(view->service, problems);
    hl_clock_format(figures->now_ms, now);
    hl_clock_format(figures->started_ms, started);
    WRITE(t, "{\"now\":\"%s\",\"started_at\":\"%s\",\"version\":\"" HL_VERSION "\",\"ready\":%s",
        now, started, hl_service_not_ready(view->service) ? "false" : "true");
    /* Constant texts without anything that JSON escapes. */
    WRITE(t, ",\"problems\":[");
    for (size_t i = 0; i < n; i++)
        WRITE(t, "%s\"%s\"", i > 0 ? "," : "", problems[i]);
    WRITE(t, "],\"store\":\"%s\",", hl_store_words[view->config->store]);
    write_sleep(t, figures);
    write_left(t, view->service);
    write_certificate(t, view->service);
    if (view->config->project_id.n > 0)
        WRITE(t, "\"project_id\":\"%s\",", view->config->project_id.p);
}

static void write_current(struct text *t, const struct hl_figures *figures)
{
    const struct hl_worker_metrics *workers = &figures->workers;
    const struct hl_store_gauges *store = figures->store;
    uint64_t upstream_errors = 0;
    for (int reason = 0; reason <= HL_REASON_BAD_RESPONSE; reason++)
        upstream_errors += hl_counter_get(&workers->upstream_errors[reason]);
    bool is_unknown = hl_counter_get(&store->is_uncounted) > 0;
    const struct {
        const char *name;
        uint64_t value;
        bool is_unknown;
    } numbers[] = {
        {"connections_open", hl_counter_get(&workers->connections_open), false},
        {"calls_in_flight", hl_counter_get(&workers->calls_in_flight), false},
        {"calls_waiting", hl_figures_waiting(workers), false},
        {"runs_in_flight", hl_counter_get(&workers->runs_in_flight), false},
        {"runs_queued", hl_counter_get(&store->queued_runs), is_unknown},
        {"queue_age_ms", hl_figures_age_ms(figures->now_ms, &store->oldest_queued_ms), is_unknown},
        {"deliveries_pending", hl_counter_get(&store->pending_deliveries), is_unknown},
        {"deliveries_in_flight", hl_counter_get(&figures->sender->in_flight), false},
        {"deliveries_waiting_retry", hl_counter_get(&figures->sender->waiting_retry), false},
        {"delivery_age_ms", hl_figures_age_ms(figures->now_ms, &store->oldest_delivery_ms),
            is_unknown},
        {"dead_letters", hl_counter_get(&store->dead_letters), false},
        {"async_refused", hl_counter_get(&workers->async_refused), false},
        {"log_lines_dropped", figures->log_lines_dropped, false},
        {"webhooks_lost", hl_counter_get(&workers->webhooks_lost), false},
        {"upstream_errors", upstream_errors, false},
        {"store_bytes", hl_counter_get(&store->bytes), false},
        {"store_max_bytes", hl_counter_get(&store->max_bytes), false},
        {"resident_bytes", figures->process.resident_bytes, false},
    };
    WRITE(t, "\"current\":{");
    for (size_t i = 0; i < HL_ARRAY_LEN(numbers); i++) {
        WRITE(t, "%s\"%s\":", i > 0 ? "," : "", numbers[i].name);
        if (numbers[i].is_unknown)
            WRITE(t, "null");
        else
            WRITE(t, "%" PRIu64, numbers[i].value);
    }
    WRITE(t, "},");
}

/* ---- the answer ---- */

/* Which samples are asked for: those after one, and at most so many, the newest. */
struct wish {
    uint64_t after, newest;
};

/* False: one of them is there and is not a number. */
static bool read_wish(struct hl_str query, struct wish *wish)
{
    struct hl_param param;
    *wish = (struct wish){.newest = HL_HISTORY_SAMPLES};
    while (hl_query_next(&query, &param)) {
        if (hl_param_is(&param, HL_STR("after")) && !hl_str_to_u64(param.value, &wish->after))
            return false;
        if (hl_param_is(&param, HL_STR("newest")) && !hl_str_to_u64(param.value, &wish->newest))
            return false;
    }
    return true;
}

/* The first sample to show. An `after` beyond the newest is of a process that is gone. */
static uint64_t choose_first(const struct hl_history *history, const struct wish *wish)
{
    uint64_t first = hl_history_first(history);
    if (wish->after <= history->count && wish->after >= first)
        first = wish->after + 1;
    uint64_t many = history->count + 1 - first;
    return many > wish->newest ? history->count + 1 - wish->newest : first;
}

void hl_now_show(const struct hl_api_view *view, const struct hl_api_request *request,
    struct hl_api_response *response)
{
    struct hl_figures figures;
    struct wish wish;
    if (!read_wish(request->query, &wish)) {
        response->refusal = hl_refusal_make(HL_REFUSAL_FIGURES_AFTER);
        return;
    }
    hl_figures_collect(&figures, view);
    hl_process_read(&figures.process);
    struct text t = {.out = &response->body};
    write_state(&t, view, &figures);
    write_current(&t, &figures);
    write_samples(&t, view->history, choose_first(view->history, &wish));
    response->status = 200;
    response->content_type = HL_STR("application/json");
    if (t.err)
        response->refusal = hl_refusal_make(HL_REFUSAL_FIGURES_MEMORY);
}
