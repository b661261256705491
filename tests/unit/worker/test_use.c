/* test_use.c - what counts as use of the app, and who wants it. */
#include "worker/use.h"

#include <criterion/criterion.h>

#include "config/config.h"
#include "fake_store.h"
#include "run/run.h"
#include "run/service.h"
#include "worker/worker.h"

static struct hl_config config;
static struct hl_worker worker; /* never started: only its figures are used */
static struct hl_worker *workers[] = {&worker};
static struct hl_service service = {.config = &config, .workers = workers, .worker_count = 1};
static struct hl_app_use use = {.service = &service};
static struct hl_mailbox box;

static void no_wake(void *arg)
{
    (void)arg;
}

static void begin(void)
{
    service.store = fake_store_begin();
    hl_mailbox_init(&box, no_wake, NULL);
    hl_pool_group_init(&service.connections, true, 0);
    hl_pool_member_init(&worker.runs.pool.member, &service.connections, &box);
}

TestSuite(app_use, .init = begin, .timeout = 180);

Test(app_use, is_a_run_inside_or_waiting)
{
    cr_assert_not(hl_app_use_look(&use));
    hl_counter_add(&worker.runs.count, 1);
    cr_assert(hl_app_use_look(&use));
    cr_assert_not(hl_app_use_is_wanted(&use), "it may be inside");
    hl_counter_add(&worker.metrics.waiting_at_gate, 1);
    cr_assert(hl_app_use_is_wanted(&use));
    hl_counter_sub(&worker.metrics.waiting_at_gate, 1);
    hl_counter_sub(&worker.runs.count, 1);
    cr_assert_not(hl_app_use_look(&use));
}

Test(app_use, is_a_call_that_came_and_went_between_two_looks)
{
    hl_app_use_look(&use);
    hl_pool_member_note_busy(&worker.runs.pool.member);
    hl_counter_sub(&worker.runs.pool.member.busy_count, 1);
    cr_assert(hl_app_use_look(&use));
    cr_assert_not(hl_app_use_look(&use));
}

Test(app_use, is_a_queued_run_that_could_start_and_none_that_waits_for_its_retry)
{
    hl_counter_set(&fake_store.gauges.waiting_runs, 1);
    hl_counter_set(&fake_store.gauges.pending_deliveries, 1);
    cr_assert_not(hl_app_use_look(&use));
    cr_assert_not(hl_app_use_is_wanted(&use));
    hl_counter_set(&fake_store.gauges.queued[HL_PRIORITY_LOW], 1);
    hl_counter_set(&fake_store.gauges.queued_runs, 1);
    cr_assert(hl_app_use_look(&use));
    cr_assert(hl_app_use_is_wanted(&use));
    use.leaves_queue = true;
    cr_assert_not(hl_app_use_look(&use));
    cr_assert_not(hl_app_use_is_wanted(&use));
}

Test(app_use, is_not_known_while_a_claim_may_be_on_its_way)
{
    cr_assert(hl_app_use_is_settled(&use));
    atomic_store(&worker.runs.dispatch.may_claim, true);
    cr_assert_not(hl_app_use_is_settled(&use));
}
