/* retry.c - see retry.h. A run between two attempts is the store's alone: it holds no slot, no memory here.
 * Not here: runs that a stopped process leaves behind (store/). */
#include "run/retry.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "config/config.h"
#include "http/field_value.h"
#include "run/call_span.h"
#include "run/runs.h"
#include "run/service.h"
#include "run/stream.h"
#include "store/attempt.h"
#include "store/claim.h"
#include "store/store.h"

#define MOST_DELAY_MS UINT64_C(300000)
#define LATEST_MS     (INT64_C(12) * 60 * 60 * 1000) /* after the first attempt's beginning */

uint64_t hl_run_retry_delay_ms(uint64_t first_ms, uint32_t n, uint32_t random)
{
    uint64_t delay_ms = hl_doubled_ms(first_ms, n > 1 ? n - 1 : 0, MOST_DELAY_MS);
    uint64_t spread_ms = delay_ms / 4;
    return delay_ms - spread_ms + random % (spread_ms + 1);
}

void hl_run_retry_note(struct hl_run *run, const struct hl_head *head)
{
    if (!hl_run_is_async(run) || head->status < HL_RETRY_STATUS_LEAST)
        return;
    for (size_t i = 0; i < head->field_count; i++)
        if (hl_str_eq_nocase(head->fields[i].name, HL_STR("retry-after")))
            run->response.retry_after_ms =
                hl_retry_after_ms(head->fields[i].value, hl_clock_wall_ms());
}

static bool is_retried_for(
    const struct hl_retry_on *on, enum hl_run_reason reason, uint16_t http_status)
{
    switch (reason) {
    case HL_REASON_UPSTREAM_UNREACHABLE:
        return on->unreachable;
    case HL_REASON_UPSTREAM_RESET:
        return on->reset;
    case HL_REASON_TIMEOUT:
        return on->timeout;
    case HL_REASON_INTERRUPTED:
        return on->interrupted;
    case HL_REASON_APP_ERROR:
        return hl_retry_on_status(on, http_status);
    case HL_REASON_NONE:
    case HL_REASON_BAD_RESPONSE:
    case HL_REASON_EXPIRED:
    case HL_REASON_RESPONSE_NOT_KEPT:
        break;
    }
    return false;
}

bool hl_run_retry_is_due(const struct hl_run *run, enum hl_run_state state,
    enum hl_run_reason reason, uint64_t *delay_ms)
{
    const struct hl_config *config = run->runs->config;
    const struct hl_claimed *claimed = run->store.claimed;
    if (!claimed || run->store.record != HL_RECORD_OPEN || state != HL_RUN_FAILURE ||
        config->run_attempts <= 1 ||
        !is_retried_for(&config->retry_on, reason, run->response.status))
        return false;
    uint32_t most = config->run_attempts, random;
    if (claimed->terms.max_attempts > 0 && claimed->terms.max_attempts < most)
        most = claimed->terms.max_attempts;
    hl_random_fill(&random, sizeof(random));
    *delay_ms = hl_run_retry_delay_ms(config->run_retry_delay_ms, claimed->attempt, random);
    if (run->response.retry_after_ms > *delay_ms)
        *delay_ms = run->response.retry_after_ms < MOST_DELAY_MS ? run->response.retry_after_ms
                                                                 : MOST_DELAY_MS;
    int64_t due_ms = hl_clock_steady_ms() + (int64_t)*delay_ms;
    return claimed->attempt < most && due_ms <= claimed->first_ms + LATEST_MS;
}

static int64_t steady_start_ms(const struct hl_run *run)
{
    return hl_clock_steady_ms() - (int64_t)((hl_clock_mono_us() - run->times.started_us) / 1000);
}

void hl_run_retry_put_off(struct hl_run *run, enum hl_run_reason reason, uint64_t delay_ms)
{
    struct hl_runs *runs = run->runs;
    struct hl_release *release = hl_release_new(run->store.claimed);
    HL_LOG(INFO, "run will be retried", HL_LOG_ID("run_id", &run->id),
        HL_LOG_HEX("trace_id", hl_run_trace_id(run)),
        HL_LOG_TEXT("reason", hl_run_reason_text(reason)),
        HL_LOG_INT("status", run->response.status),
        HL_LOG_INT("attempt", run->store.claimed->attempt), HL_LOG_INT("in_ms", delay_ms));
    release->is_retry = true;
    release->due_ms = hl_clock_steady_ms() + (int64_t)delay_ms;
    release->ended = (struct hl_attempt_entry){.attempt = run->store.claimed->attempt,
        .started_ms = run->times.started_ms,
        .finished_ms = hl_clock_wall_ms(),
        .http_status = run->response.status,
        .reason = reason,
        .events = run->stream ? run->stream->ids.count : 0,
        .steady_ms = steady_start_ms(run)};
    release->m.reply_to = runs->box;
    run->store.claimed = NULL;
    hl_run_stream_close(run, false); /* before another attempt can begin */
    enum hl_err err = hl_store_post(runs->service->store, &release->m);
    (void)err; /* only ACCEPT and RECORD can be refused */
    hl_counter_add(&runs->metrics->runs_retried, 1);
    hl_progress_record(run, HL_RECORD_NONE);
    hl_run_free(run);
}
