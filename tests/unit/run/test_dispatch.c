/* test_dispatch.c - claimed runs: the credit that the store is given, and what becomes of a claim. The
 * app is not there: its runs wait for it. */
#include "caller/metrics.h"
#include "callers_fixture.h"
#include "config/config.h"
#include "fake_store.h"
#include "loop_fixture.h"
#include "run/dispatch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/demand.h"
#include "run/ending.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/service.h"
#include "runs_fixture.h"
#include "store/claim.h"
#include "store/message.h"

static void begin(void)
{
    runs_begin();
    config.async_concurrency = 4;
    config.app_start_timeout_ms = config.connect_timeout_ms = 600000;
    config.response_grace_period_ms = 600000;
}

/* What is left of the app's side is given up, without a word to the store. */
static void end(void)
{
    HL_LIST_EACH_SAFE (node, &runs.list) {
        struct hl_run *run = HL_CONTAINER_OF(node, struct hl_run, node);
        if (!hl_run_has_ended(run))
            hl_ending_abandon(run);
    }
    runs_end();
}

TestSuite(dispatch, .init = begin, .fini = end, .timeout = 180);

/* The oldest message is a CREDIT of that many. */
static void assert_credit(uint32_t n)
{
    struct hl_credit *credit =
        HL_CONTAINER_OF(fake_store_take(HL_STORE_CREDIT), struct hl_credit, m);
    cr_assert_eq(credit->n, n);
    free(credit);
}

static void start(uint32_t credit)
{
    hl_dispatch_start(&runs);
    assert_credit(credit);
}

static void set_limit(uint32_t slots)
{
    config.app_concurrency = slots;
    hl_limiter_init(&runs.service->limiter, slots, 10, runs.service->seats, 1);
}

static void tell(uint32_t type)
{
    struct hl_store_msg *m = calloc(1, sizeof(*m));
    m->msg.type = type;
    hl_dispatch_on_message(&runs, &m->msg);
}

static struct hl_claimed *make_claim(uint8_t n)
{
    struct hl_claimed *c, claimed = {.run_id = {{n}},
                              .epoch = 1,
                              .attempt = 1,
                              .head = HL_STR("POST /run HTTP/1.1\r\nHost: h\r\n")};
    cr_assert_eq(hl_claimed_new(&claimed, HL_STR(""), &c), HL_OK);
    return c;
}

static void claim(uint8_t n)
{
    hl_dispatch_on_message(&runs, &make_claim(n)->msg);
}

static void cancel(uint8_t n)
{
    struct hl_cancel_run *order = calloc(1, sizeof(*order));
    order->msg.type = HL_STORE_CANCEL_RUN;
    order->run_id = (struct hl_id){{n}};
    hl_dispatch_on_message(&runs, &order->msg);
}

static void assert_cancelled(uint8_t n)
{
    struct hl_finish *f = HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m);
    cr_assert_eq(f->run_id.b[0], n);
    cr_assert_eq(f->outcome.state, HL_RUN_CANCELLED);
    free(f);
}

static struct hl_run *find(uint8_t n)
{
    struct hl_id id = {{n}};
    HL_LIST_EACH_SAFE (node, &runs.list)
        if (hl_id_eq(&HL_CONTAINER_OF(node, struct hl_run, node)->id, &id))
            return HL_CONTAINER_OF(node, struct hl_run, node);
    return NULL;
}

static void assert_released(uint8_t n)
{
    struct hl_release *r = HL_CONTAINER_OF(fake_store_take(HL_STORE_RELEASE), struct hl_release, m);
    cr_assert_eq(r->claimed->run_id.b[0], n);
    hl_dispatch_on_message(&runs, &r->m.msg);
}

/* ---- bodies ---- */

static void claim_with_wrong_digest(uint8_t n, bool is_fresh)
{
    struct hl_claimed *c = make_claim(n);
    c->is_fresh = is_fresh;
    c->body = (struct hl_body){.where = HL_BODY_INLINE};
    cr_assert_eq(hl_body_copy(&c->body, HL_STR("abc")), HL_OK);
    c->body.size = 3;
    hl_dispatch_on_message(&runs, &c->msg);
}

/* Its digest is of what was accepted: only what has been read since can be something else. */
Test(dispatch, a_body_that_was_read_and_is_damaged_does_not_reach_the_app)
{
    runs.spools.data_dir = "somewhere";
    start(4);
    claim_with_wrong_digest(1, false);
    struct hl_finish *f = HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m);
    cr_assert_eq(f->outcome.state, HL_RUN_FAILURE);
    cr_assert_eq(f->outcome.reason, HL_REASON_INTERRUPTED);
    free(f);
    claim_with_wrong_digest(2, true);
    cr_assert_not(hl_run_has_ended(find(2)));
    runs.spools.data_dir = NULL;
}

/* ---- credit ---- */

Test(dispatch, gives_credit_for_the_share_of_this_worker)
{
    runs.service->worker_count = 3;
    runs.index = 0;
    start(2);
    runs.dispatch = (struct hl_dispatch){.mode = HL_DEMAND_NOTHING}; /* of another worker */
    runs.index = 2;
    start(1);
    runs.service->worker_count = 1;
    runs.index = 0;
}

Test(dispatch, gives_credit_back_at_the_end_of_the_turn_for_what_has_ended_in_it)
{
    start(4);
    claim(1);
    claim(2);
    for (uint8_t i = 1; i <= 2; i++) {
        hl_ending_fail(find(i), HL_RUN_FAILURE, HL_REASON_UPSTREAM_RESET,
            hl_refusal_make(HL_REFUSAL_APP_CLOSED));
        free(HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m));
        cr_assert_eq(fake_store.count, 0);
    }
    hl_dispatch_end_turn(&runs);
    assert_credit(2);
    cr_assert_eq(runs.dispatch.running, 0);
    hl_dispatch_end_turn(&runs);
    cr_assert_eq(fake_store.count, 0);
}

Test(dispatch, holds_a_slot_of_the_app_before_it_gives_credit)
{
    set_limit(1);
    start(0);
    hl_counter_add(&fake_store.gauges.queued_runs, 3);
    tell(HL_STORE_WORK);
    cr_assert_eq(runs.service->limiter.in_use, 1);
    assert_credit(1);
    cr_assert_eq(fake_store.count, 0, "there is one slot");
    claim(1);
    cr_assert(find(1)->app.has_slot);
    hl_ending_abandon(find(1));
    cr_assert_eq(fake_store.count, 1, "the next one has it");
    assert_credit(1);
    hl_counter_sub(&fake_store.gauges.queued_runs, 3);
}

Test(dispatch, lets_a_slot_go_whose_credit_comes_back)
{
    set_limit(1);
    start(0);
    hl_counter_add(&fake_store.gauges.queued_runs, 1);
    tell(HL_STORE_WORK);
    assert_credit(1);
    struct hl_credit *back = calloc(1, sizeof(*back));
    back->m.msg.type = HL_STORE_CREDIT_BACK;
    back->n = 1;
    hl_dispatch_on_message(&runs, &back->m.msg);
    cr_assert_eq(runs.service->limiter.in_use, 0);
    cr_assert_eq(runs.dispatch.credit, 0);
}

/* ---- an app that takes no calls ---- */

static void assert_withdrawn(void)
{
    free(fake_store_take(HL_STORE_WITHDRAW));
    cr_assert_eq(fake_store.count, 0);
}

Test(dispatch, gives_no_credit_before_the_app_takes_calls)
{
    gate_close();
    hl_dispatch_start(&runs);
    cr_assert_eq(fake_store.count, 0);
    gate_open();
    assert_credit(4);
}

Test(dispatch, takes_its_credit_back_when_the_app_takes_no_calls_and_gives_it_anew)
{
    start(4);
    claim(1);
    hl_progress_request(find(1), HL_REQUEST_SENT);
    gate_close();
    assert_withdrawn();
    gate_open();
    cr_assert_eq(fake_store.count, 0, "not before the store has answered");
    tell(HL_STORE_WITHDRAW);
    assert_credit(3);
    cr_assert_not(runs.dispatch.has_withdrawn);
}

Test(dispatch, gives_back_what_waits_for_an_app_that_takes_no_calls)
{
    start(4);
    claim(1);
    gate_close();
    free(fake_store_take(HL_STORE_WITHDRAW));
    assert_released(1);
    claim(2); /* it was on its way */
    assert_released(2);
    tell(HL_STORE_WITHDRAW);
    cr_assert_eq(run_count(), 0);
    gate_open();
    assert_credit(4);
}

Test(dispatch, lets_the_slots_go_that_its_credit_holds)
{
    set_limit(2);
    start(0);
    hl_counter_add(&fake_store.gauges.queued_runs, 3);
    tell(HL_STORE_WORK);
    assert_credit(1);
    assert_credit(1);
    cr_assert_eq(runs.service->limiter.in_use, 2);
    gate_close();
    assert_withdrawn();
    tell(HL_STORE_WITHDRAW);
    cr_assert_eq(runs.service->limiter.in_use, 0);
    tell(HL_STORE_WORK);
    cr_assert_eq(fake_store.count, 0, "a hint that was on its way");
    gate_open();
    assert_credit(1);
    assert_credit(1);
    hl_demand_stop(&runs);
    assert_withdrawn();
    tell(HL_STORE_WITHDRAW);
    hl_counter_sub(&fake_store.gauges.queued_runs, 3);
}

/* ---- while the app sleeps ---- */

static bool is_knocked(void)
{
    struct hl_bell *knock = &runs.gate.gate->knock;
    bool is_rung = atomic_load(&knock->is_rung);
    hl_bell_heard(knock);
    return is_rung;
}

static struct hl_mailbox control;

static void no_wake(void *arg)
{
    (void)arg;
}

static void fall_asleep(void)
{
    hl_mailbox_init(&control, no_wake, NULL);
    hl_bell_init(&runs.gate.gate->knock, &control, HL_GATE_KNOCKED);
    start(4);
    cr_assert(atomic_load(&runs.dispatch.may_claim));
    gate_sleep();
    assert_withdrawn();
    cr_assert(atomic_load(&runs.dispatch.may_claim), "one may be on its way");
    tell(HL_STORE_WITHDRAW);
    cr_assert_not(atomic_load(&runs.dispatch.may_claim));
    assert_credit(0);
}

static void wake_up(void)
{
    hl_gate_wake(runs.gate.gate);
    gate_open();
    free(fake_store_take(HL_STORE_WITHDRAW));
    tell(HL_STORE_WITHDRAW);
    assert_credit(4);
}

Test(dispatch, wakes_the_app_by_a_hint_and_claims_nothing_while_it_sleeps)
{
    fall_asleep();
    cr_assert_not(is_knocked());
    tell(HL_STORE_WORK);
    cr_assert(is_knocked());
    cr_assert_eq(fake_store.count, 0);
    wake_up();
}

Test(dispatch, wakes_no_app_while_it_is_set_aside)
{
    fall_asleep();
    runs.is_aside = true;
    hl_dispatch_set_aside(&runs);
    assert_withdrawn();
    tell(HL_STORE_WITHDRAW);
    tell(HL_STORE_WORK); /* it was on its way */
    hl_demand_note_accepted(&runs);
    cr_assert_not(is_knocked());
    runs.is_aside = false;
    hl_dispatch_set_aside(&runs);
    assert_credit(0);
    wake_up();
}

Test(dispatch, leaves_a_run_to_the_apps_of_other_replicas_as_long_as_they_take_it)
{
    fake_store.is_shared = true;
    config.app_wake_timeout_ms = 600000;
    fall_asleep();
    hl_counter_set(&fake_store.gauges.others_up, 1);
    hl_counter_set(&fake_store.gauges.queued_runs, 1);
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, (uint64_t)hl_clock_wall_ms());
    hl_demand_note_accepted(&runs);
    tell(HL_STORE_WORK);
    cr_assert_not(is_knocked(), "they have some time for it");
    runs.dispatch.others.on_fire(&runs.dispatch.others);
    cr_assert_not(is_knocked(), "it has only just come");
    assert_credit(0);
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, (uint64_t)hl_clock_wall_ms() - 3000);
    runs.dispatch.others.on_fire(&runs.dispatch.others);
    cr_assert(is_knocked(), "they have no room");
    hl_counter_set(&fake_store.gauges.others_up, 0);
    hl_counter_set(&fake_store.gauges.others_waking, 1);
    runs.dispatch.others.on_fire(&runs.dispatch.others);
    cr_assert_not(is_knocked(), "one is about to take it");
    assert_credit(0);
    config.app_wake_timeout_ms = 3000;
    runs.dispatch.others.on_fire(&runs.dispatch.others);
    cr_assert(is_knocked(), "it does not wake");
    hl_counter_set(&fake_store.gauges.others_waking, 0);
    hl_demand_note_accepted(&runs);
    cr_assert(is_knocked(), "nobody else would");
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, (uint64_t)hl_clock_wall_ms());
    runs.dispatch.others.on_fire(&runs.dispatch.others);
    cr_assert(is_knocked(), "it was accepted here, when another's seemed to be up");
    atomic_store(&runs.service->has_accepted, false);
    runs.dispatch.others.on_fire(&runs.dispatch.others);
    cr_assert_not(is_knocked(), "who accepted it wakes its own");
    assert_credit(0);
    hl_counter_set(&fake_store.gauges.queued_runs, 0);
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, 0);
    wake_up();
}

/* A queued run has waited for as long as it may. */
static void doom(void)
{
    config.app_start_timeout_ms = 1;
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, 1);
}

Test(dispatch, ends_what_has_waited_too_long_for_an_app_that_takes_no_calls)
{
    doom();
    gate_close();
    hl_dispatch_start(&runs);
    UNTIL(fake_store.count == 1);
    struct hl_credit *credit =
        HL_CONTAINER_OF(fake_store_take(HL_STORE_CREDIT), struct hl_credit, m);
    cr_assert(credit->returns);
    claim(1); /* of 1970 */
    struct hl_finish *f = HL_CONTAINER_OF(fake_store_take(HL_STORE_FINISH), struct hl_finish, m);
    cr_assert_eq(f->outcome.state, HL_RUN_FAILURE);
    cr_assert_eq(f->outcome.reason, HL_REASON_UPSTREAM_UNREACHABLE);
    free(f);
    credit->n--;
    credit->m.msg.type = HL_STORE_CREDIT_BACK;
    hl_dispatch_on_message(&runs, &credit->m.msg);
    cr_assert_eq(runs.dispatch.credit, 0);
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, 0);
    gate_open();
    hl_dispatch_end_turn(&runs);
    cr_assert_eq(runs.dispatch.credit, 4);
    while (fake_store.count > 0)
        free(HL_CONTAINER_OF(fake_store_take(HL_STORE_CREDIT), struct hl_credit, m));
}

Test(dispatch, ends_nothing_that_waits_for_an_app_that_sleeps)
{
    config.app_start_timeout_ms = 1;
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, 1);
    fall_asleep();
    runs.gate.gate->closed_ms = 0; /* as if for hours */
    runs.dispatch.overdue.on_fire(&runs.dispatch.overdue);
    cr_assert_eq(fake_store.count, 0);
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, 0);
    wake_up();
}

Test(dispatch, ends_nothing_while_the_app_of_another_replica_takes_calls)
{
    doom();
    config.app_start_timeout_ms = 3600000;
    runs.gate.gate->closed_ms = 0; /* as if for hours */
    gate_close();
    runs.gate.gate->closed_ms = 0;
    hl_counter_set(&fake_store.gauges.app_taken_ms, (uint64_t)hl_clock_wall_ms() - 60000);
    hl_dispatch_start(&runs);
    cr_assert_eq(fake_store.count, 0);
    hl_counter_set(&fake_store.gauges.app_taken_ms, 0);
    gate_open();
    assert_credit(4);
    hl_counter_set(&fake_store.gauges.oldest_queued_ms, 0);
}

/* ---- a claim ---- */

Test(dispatch, makes_a_run_without_a_caller_of_a_claim)
{
    start(4);
    claim(1);
    struct hl_run *run = find(1);
    cr_assert(hl_run_is_async(run));
    cr_assert_null(run->client);
    cr_assert_eq(run->store.record, HL_RECORD_OPEN);
    cr_assert_eq(run->request.method, HL_METHOD_POST);
    cr_assert_eq(hl_counter_get(&metrics.runs_in_flight), 1);
    const char *head = "POST /run HTTP/1.1\r\nHost: h\r\nX-Run-Attempt: 1\r\nX-Run-Deadline: ";
    cr_assert_eq(strncmp(run->request.page.p, head, strlen(head)), 0);
}

Test(dispatch, ends_a_claimed_run_that_is_cancelled)
{
    start(4);
    claim(1);
    claim(2);
    cancel(2);
    assert_cancelled(2);
    cr_assert_not(hl_run_has_ended(find(1)));
}

Test(dispatch, ends_what_was_cancelled_while_it_waited_for_memory)
{
    struct hl_claimed *first = make_claim(1), *second = make_claim(2);
    start(4);
    first->msg.next = &second->msg;
    runs.dispatch.put_off = &first->msg;
    runs.dispatch.running = 2;
    runs.dispatch.credit = 2;
    cancel(2);
    cr_assert_eq(fake_store.count, 0);
    runs.dispatch.again.on_fire(&runs.dispatch.again);
    assert_cancelled(2);
    cr_assert_not(hl_run_has_ended(find(1)));
}

Test(dispatch, knows_nothing_of_a_cancelled_run_that_it_does_not_have)
{
    start(4);
    claim(1);
    cancel(9);
    cr_assert_eq(fake_store.count, 0);
}

/* ---- the worker stops ---- */

Test(dispatch, gives_back_what_the_app_has_not_seen)
{
    start(4);
    claim(1);
    hl_dispatch_stop(&runs);
    free(fake_store_take(HL_STORE_WITHDRAW));
    assert_released(1);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(runs.dispatch.running, 0);
    cr_assert_eq(hl_counter_get(&metrics.runs_in_flight), 0);
}

Test(dispatch, leaves_a_run_alone_that_is_inside_the_app)
{
    start(4);
    claim(1);
    hl_progress_request(find(1), HL_REQUEST_SENT);
    hl_dispatch_stop(&runs);
    free(fake_store_take(HL_STORE_WITHDRAW));
    cr_assert_eq(fake_store.count, 0);
    cr_assert_eq(run_count(), 1);
}

Test(dispatch, gives_a_claim_back_that_comes_while_it_stops)
{
    set_limit(1);
    start(0);
    hl_counter_add(&fake_store.gauges.queued_runs, 1);
    tell(HL_STORE_WORK);
    assert_credit(1);
    runs.is_draining = true;
    claim(1);
    assert_released(1);
    cr_assert_eq(run_count(), 0);
    cr_assert_eq(runs.service->limiter.in_use, 0, "with its slot");
}

Test(dispatch, asks_for_its_credit_once)
{
    start(4);
    hl_dispatch_stop(&runs);
    hl_dispatch_stop(&runs);
    free(fake_store_take(HL_STORE_WITHDRAW));
    cr_assert_eq(fake_store.count, 0);
    cr_assert_not(runs.dispatch.has_withdrawn);
    tell(HL_STORE_WITHDRAW);
    cr_assert(runs.dispatch.has_withdrawn);
}
