/* verdict.c - what an attempt came to. Thread: the sender's.
 * Not here: which answers are tried again, and when (retry.c); what is told to the store (ledger.c). */
#include "webhook/verdict.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/random.h"
#include "net/address.h"
#include "store/destination.h"
#include "store/lane.h"
#include "store/lease.h"
#include "webhook/health.h"
#include "webhook/parcel.h"
#include "webhook/retry.h"
#include "webhook/sender.h"
#include "webhook/transfer_result.h"

enum hl_attempt_verdict hl_verdict_of(const struct hl_webhook_retry_on *on,
    const struct hl_parcel *p, const struct hl_transfer_result *result)
{
    if (result->is_permanent)
        return HL_ATTEMPT_DEAD;
    return hl_retry_verdict(on, result->http_status, p->n, p->leased->max_attempts);
}

static void destination(const struct hl_parcel *p, char to[HL_DESTINATION_MAX])
{
    if (hl_destination_write(to, p->leased->url) == 0)
        to[0] = '\0';
}

/* The last field of a line: the run's tags, if it has any. */
static struct hl_log_field tags_of(const struct hl_parcel *p)
{
    if (p->leased->tags.n == 0)
        return (struct hl_log_field){.name = NULL};
    return HL_LOG_STR("tags", p->leased->tags);
}

static void log_delivered(const struct hl_parcel *p, const struct hl_transfer_result *result)
{
    char to[HL_DESTINATION_MAX];
    destination(p, to);
    HL_LOG(INFO, "webhook delivered", HL_LOG_ID("run_id", &p->leased->run_id),
        HL_LOG_HEX("trace_id", hl_attempt_trace_id(p)),
        HL_LOG_ID("delivery_id", &p->leased->delivery_id), HL_LOG_TEXT("to", to),
        HL_LOG_INT("attempts", p->n), HL_LOG_INT("status", result->http_status), tags_of(p));
}

static void log_dead(const struct hl_parcel *p, const struct hl_transfer_result *result)
{
    char to[HL_DESTINATION_MAX], reason[HL_ATTEMPT_ERROR_MAX + HL_IP_TEXT + 4];
    destination(p, to);
    if (result->address[0])
        snprintf(reason, sizeof reason, "%s (%s)", result->error, result->address);
    else if (result->error[0])
        snprintf(reason, sizeof reason, "%s", result->error);
    else
        snprintf(reason, sizeof reason, "status %u", result->http_status);
    HL_LOG(ERROR, "webhook delivery failed for good", HL_LOG_ID("run_id", &p->leased->run_id),
        HL_LOG_HEX("trace_id", hl_attempt_trace_id(p)),
        HL_LOG_ID("delivery_id", &p->leased->delivery_id), HL_LOG_TEXT("to", to),
        HL_LOG_INT("attempts", p->n), HL_LOG_TEXT("reason", reason), tags_of(p));
}

void hl_verdict_note(enum hl_attempt_verdict verdict, const struct hl_parcel *p,
    const struct hl_transfer_result *result, struct hl_sender_gauges *gauges)
{
    struct hl_counter *counters[] = {
        [HL_ATTEMPT_OK] = &gauges->attempts_ok,
        [HL_ATTEMPT_RETRY] = &gauges->attempts_retry,
        [HL_ATTEMPT_DEAD] = &gauges->attempts_dead,
    };
    hl_counter_add(counters[verdict], 1);
    hl_histogram_add(&gauges->latency, hl_clock_mono_us() - p->started_us);
    if (verdict == HL_ATTEMPT_OK)
        log_delivered(p, result);
    if (verdict == HL_ATTEMPT_DEAD)
        log_dead(p, result);
}

void hl_verdict_note_health(const struct hl_parcel *p, struct hl_health health, bool was_failing,
    const struct hl_transfer_result *result)
{
    char to[HL_DESTINATION_MAX];
    bool is_failing = health.health == HL_LANE_FAILING;
    if (is_failing == was_failing)
        return;
    destination(p, to);
    if (is_failing)
        hl_verdict_log_failing(to, health.failing_since_ms, result->error);
    else
        HL_LOG(INFO, "webhook destination answers again", HL_LOG_TEXT("to", to),
            HL_LOG_INT("status", result->http_status));
}

void hl_verdict_log_failing(const char *to, int64_t since_ms, const char *error)
{
    char since[HL_CLOCK_TEXT + 1] = "";
    hl_clock_format(since_ms, since);
    HL_LOG(WARN, "webhook destination is failing: it gets one attempt at a time",
        HL_LOG_TEXT("to", to), HL_LOG_TEXT("since", since), HL_LOG_TEXT("error", error));
}

uint64_t hl_verdict_plan_next(const struct hl_schedule *schedule, struct hl_parcel *p,
    const struct hl_transfer_result *result)
{
    uint32_t random;
    hl_random_fill(&random, sizeof random);
    uint64_t delay_ms = hl_retry_delay_ms(schedule, p->n, result->retry_after_ms, random);
    p->outcome.next_ms = hl_clock_steady_ms() + (int64_t)delay_ms;
    p->outcome.puts_off = delay_ms > HL_RETRY_DELAY_MAX_MS || p->outcome.health == HL_LANE_FAILING;
    return delay_ms;
}
