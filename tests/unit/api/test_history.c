#include <criterion/criterion.h>
#include <stdlib.h>

#include "api/now.h"
#include "api/figures.h"
#include "store/gauges.h"
#include "webhook/sender.h"

static struct hl_history *history;
static struct hl_figures figures;
static struct hl_store_gauges store;
static struct hl_sender_gauges sender;
static uint64_t mono_ms;

static void start(void)
{
    history = calloc(1, sizeof(*history));
    memset(&figures, 0, sizeof(figures));
    memset(&store, 0, sizeof(store));
    memset(&sender, 0, sizeof(sender));
    figures.store = &store;
    figures.sender = &sender;
    figures.now_ms = 1700000000000;
    mono_ms = 5000;
    hl_counter_add(&figures.workers.requests[HL_METHOD_POST][HL_MODE_SYNC][2], 1000);
    hl_histogram_add(&store.commit_latency, 400);
    hl_history_init(history, &figures, mono_ms);
}

static void end(void)
{
    free(history);
}

TestSuite(history, .init = start, .fini = end);

static const struct hl_sample *add_sample(void)
{
    mono_ms += HL_HISTORY_INTERVAL_MS;
    figures.now_ms += HL_HISTORY_INTERVAL_MS;
    hl_history_add(history, &figures, mono_ms);
    return hl_history_at(history, history->count);
}

Test(history, begins_empty)
{
    cr_assert_eq(history->count, 0);
    cr_assert_eq(hl_history_first(history), 1);
}

Test(history, counts_what_happened_since_the_sample_before)
{
    hl_counter_add(&figures.workers.requests[HL_METHOD_POST][HL_MODE_SYNC][2], 7);
    hl_counter_add(&figures.workers.requests[HL_METHOD_GET][HL_MODE_OTHER][4], 2);
    hl_counter_add(&figures.workers.requests[HL_METHOD_POST][HL_MODE_STREAM][5], 1);
    hl_counter_add(&sender.attempts_ok, 3);
    hl_counter_add(&sender.attempts_retry, 2);
    hl_counter_add(&sender.attempts_dead, 1);
    hl_counter_add(&store.commits, 4);
    const struct hl_sample *sample = add_sample();
    cr_assert_eq(sample->at_ms, 1700000010000);
    cr_assert_eq(sample->elapsed_ms, HL_HISTORY_INTERVAL_MS);
    cr_assert_eq(sample->values[HL_HISTORY_CALLS], 10);
    cr_assert_eq(sample->values[HL_HISTORY_ERRORS], 1);
    cr_assert_eq(sample->values[HL_HISTORY_DELIVERED], 3);
    cr_assert_eq(sample->values[HL_HISTORY_RETRIED], 2);
    cr_assert_eq(sample->values[HL_HISTORY_DEAD], 1);
    cr_assert_eq(sample->values[HL_HISTORY_COMMITS], 4);

    sample = add_sample();
    cr_assert_eq(sample->values[HL_HISTORY_CALLS], 0);
    cr_assert_eq(sample->values[HL_HISTORY_DELIVERED], 0);
}

Test(history, keeps_the_levels_of_the_moment)
{
    hl_counter_add(&figures.workers.calls_in_flight, 5);
    hl_counter_add(&figures.workers.runs_in_flight, 2);
    hl_counter_add(&figures.workers.waiting_for_slot, 3);
    hl_counter_add(&store.queued_runs, 40);
    hl_counter_add(&store.pending_deliveries, 6);
    hl_counter_add(&store.oldest_queued_ms, 1700000000000);
    const struct hl_sample *sample = add_sample();
    cr_assert_eq(sample->values[HL_HISTORY_IN_FLIGHT], 5);
    cr_assert_eq(sample->values[HL_HISTORY_RUNS], 2);
    cr_assert_eq(sample->values[HL_HISTORY_WAITING], 3);
    cr_assert_eq(sample->values[HL_HISTORY_QUEUED], 40);
    cr_assert_eq(sample->values[HL_HISTORY_PENDING], 6);
    cr_assert_eq(sample->values[HL_HISTORY_QUEUE_AGE_MS], HL_HISTORY_INTERVAL_MS);
}

Test(history, has_quantiles_of_its_own_time_alone)
{
    const struct hl_sample *sample = add_sample();
    cr_assert_eq(sample->values[HL_HISTORY_LATENCY_P50], HL_HISTORY_NONE, "there was no call");
    cr_assert_eq(sample->values[HL_HISTORY_COMMIT_P99], HL_HISTORY_NONE, "nor a commit");

    for (int i = 0; i < 100; i++)
        hl_histogram_add(&figures.workers.duration[HL_MODE_SYNC], 2000);
    hl_histogram_add(&figures.workers.duration[HL_MODE_STREAM], 90000000);
    sample = add_sample();
    cr_assert_eq(sample->values[HL_HISTORY_LATENCY_P50], 1750);
    cr_assert_eq(sample->values[HL_HISTORY_LATENCY_P99], 2485);

    hl_histogram_add(&figures.workers.duration[HL_MODE_SYNC], 40);
    sample = add_sample();
    cr_assert_eq(sample->values[HL_HISTORY_LATENCY_P50], 50);
}

Test(history, keeps_an_hour_and_no_more)
{
    cr_assert_eq(HL_HISTORY_SAMPLES * HL_HISTORY_INTERVAL_MS, 3600 * 1000);
    for (uint32_t i = 1; i <= HL_HISTORY_SAMPLES + 3; i++) {
        hl_counter_add(&figures.workers.requests[HL_METHOD_POST][HL_MODE_SYNC][2], i);
        add_sample();
    }
    cr_assert_eq(hl_history_first(history), 4);
    cr_assert_eq(hl_history_at(history, 4)->values[HL_HISTORY_CALLS], 4);
    cr_assert_eq(hl_history_at(history, HL_HISTORY_SAMPLES + 3)->values[HL_HISTORY_CALLS],
        HL_HISTORY_SAMPLES + 3);
    cr_assert_leq(sizeof(*history), 64 * 1024);
}

Test(history, shows_a_figure_that_is_too_large_as_the_largest)
{
    hl_counter_add(&store.queued_runs, 1ull << 40);
    cr_assert_eq(add_sample()->values[HL_HISTORY_QUEUED], HL_HISTORY_NONE - 1);
}
