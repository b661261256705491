/* demand.c - which queued runs a worker has the store hand to it.
 * Owns: the worker's credit. Thread: the worker's.
 * Promise: without a limit on the app, credit stands with the store, so that a run is claimed in the
 * commit that accepts it; with one, a slot of the app is held before a run is claimed, so that
 * `running` never waits. No credit is out while the app takes no calls, but to end what has waited for
 * it for too long; credit of one kind is void before any of another is given.
 * Not here: what is done with a claimed run (dispatch.c), how long a run has waited (wait_clock.c), whether the app
 * takes calls (app/gate.c). */
#include "run/demand.h"

#include <stdlib.h>

#include "app/gate.h"
#include "app/limiter.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/metric.h"
#include "config/config.h"
#include "loop/wheel.h"
#include "run/runs.h"
#include "run/service.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/store.h"

#define DOOMED_AT_ONCE  64
#define DOOMED_PAUSE_MS 50 /* between two of those */
#define OVERDUE_MOST_MS 1000
/* While the app sleeps, of replicas that share a store: so long runs are left to others' apps, whose gauges are a second
 * old; and what has waited so long is left by them. */
#define OTHERS_FIRST_MS 1500
#define LEFT_WAITING_MS 2000
#define OVERDUE_PARTS   10 /* of HOOKLINE_APP_START_TIMEOUT: so much later at the most it is seen */

/* One slot of the app asked for. */
struct slot_request {
    struct hl_limiter_wait wait;
    struct hl_runs *runs;
};

static bool has_limit(const struct hl_runs *runs)
{
    return runs->config->app_concurrency > 0;
}

static void post(struct hl_runs *runs, struct hl_store_msg *m)
{
    enum hl_err err = hl_store_post(runs->service->store, m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

/* Without memory the store hears of it later (hl_demand_pay): lost credit would idle a place for ever. */
static void post_credit(struct hl_runs *runs, const struct hl_credit *given)
{
    struct hl_dispatch *d = &runs->dispatch;
    struct hl_credit *credit = malloc(sizeof(*credit));
    d->credit += given->n;
    if (!credit) {
        d->owed += given->n;
        d->owes_credit = true;
        hl_timer_arm(runs->wheel, &d->again, HL_DISPATCH_AGAIN_MS);
        return;
    }
    *credit = *given;
    credit->m.msg.type = HL_STORE_CREDIT;
    credit->m.reply_to = runs->box;
    credit->claims = &d->claims;
    post(runs, &credit->m);
}

static void give_credit(struct hl_runs *runs, uint32_t n, bool returns)
{
    post_credit(runs, &(struct hl_credit){.n = n, .returns = returns});
}

/* For a slot that was handed on for a class. */
static void give_wish(struct hl_runs *runs, enum hl_priority priority)
{
    post_credit(
        runs, &(struct hl_credit){.n = 1, .returns = true, .has_wish = true, .wish = priority});
}

/* ---- slots ---- */

static void ask_for_slots(struct hl_runs *runs);

/* More runs may have come since it was asked for, and another slot may be free in a moment. */
static bool on_slot(struct hl_limiter_wait *wait)
{
    struct slot_request *request = HL_CONTAINER_OF(wait, struct slot_request, wait);
    struct hl_runs *runs = request->runs;
    enum hl_priority priority = wait->priority;
    free(request);
    runs->dispatch.waiting--;
    if (runs->is_draining)
        hl_limiter_release(&runs->seat);
    else
        give_wish(runs, priority);
    ask_for_slots(runs);
    return true;
}

/* Claimed here, and not at their end. */
static uint32_t count_running(const struct hl_runs *runs)
{
    return runs->dispatch.running - runs->dispatch.ended;
}

/* Runs that are on their way here are not queued any more, so the credit that they use is not that of others. What is
 * queued is read first: a run is counted here before it is not there. */
static bool wants_slot(struct hl_runs *runs)
{
    struct hl_dispatch *d = &runs->dispatch;
    uint32_t asked = d->waiting + d->credit;
    uint64_t ready = hl_store_ready_runs(runs->service->store);
    uint32_t coming = atomic_load(&d->claims) - d->taken_claims;
    return d->mode == HL_DEMAND_RUNS && !runs->is_draining && ready + coming > asked &&
           count_running(runs) + asked < d->max;
}

/* With a limit: as many slots as there are runs waiting, within this worker's share. A free one comes at
 * once, and asks again in the middle of asking. */
static void ask_for_slots(struct hl_runs *runs)
{
    if (runs->dispatch.is_asking)
        return;
    runs->dispatch.is_asking = true;
    while (wants_slot(runs)) {
        struct slot_request *request = malloc(sizeof(*request));
        if (!request)
            break;
        request->runs = runs;
        hl_limiter_wait_init(&request->wait, on_slot);
        runs->dispatch.waiting++;
        hl_limiter_queue(&runs->seat, &request->wait, HL_LIMITER_ASYNC);
    }
    runs->dispatch.is_asking = false;
}

/* A hint of the store is used up by the worker's next CREDIT (store.h): one of 0 says that hints
 * are wanted again. */
static void look_for_work(struct hl_runs *runs)
{
    if (has_limit(runs))
        ask_for_slots(runs);
    if (!runs->is_draining && runs->dispatch.waiting + runs->dispatch.credit == 0 &&
        count_running(runs) < runs->dispatch.max)
        give_credit(runs, 0, has_limit(runs));
}

static void consider_waking(struct hl_runs *runs);

void hl_demand_look(struct hl_runs *runs)
{
    if (runs->dispatch.mode == HL_DEMAND_RUNS)
        look_for_work(runs);
    else if (runs->dispatch.mode == HL_DEMAND_HINTS)
        consider_waking(runs);
}

/* ---- while the app sleeps ---- */

static bool has_others(const struct hl_runs *runs, uint64_t *up, uint64_t *waking)
{
    const struct hl_store_gauges *gauges = hl_store_get_gauges(runs->service->store);
    *up = hl_counter_get(&gauges->others_up);
    *waking = hl_counter_get(&gauges->others_waking);
    return *up + *waking > 0;
}

/* Where replicas share the store, those whose apps are up take it first, and those that accepted it wake theirs. */
static void consider_waking(struct hl_runs *runs)
{
    if (!hl_store_is_shared(runs->service->store))
        hl_gate_knock(runs->gate.gate);
    else if (!hl_timer_is_armed(&runs->dispatch.others))
        hl_timer_arm(runs->wheel, &runs->dispatch.others, OTHERS_FIRST_MS);
}

void hl_demand_note_accepted(struct hl_runs *runs)
{
    uint64_t up, waking;
    if (!hl_gate_is_asleep(runs->gate.gate) || runs->is_aside || runs->is_draining)
        return;
    if (has_others(runs, &up, &waking))
        atomic_store(&runs->service->has_accepted, true);
    else
        hl_gate_knock(runs->gate.gate);
}

void hl_demand_note_end(struct hl_runs *runs)
{
    runs->dispatch.ended++;
    if (has_limit(runs))
        ask_for_slots(runs);
}

void hl_demand_renew(struct hl_runs *runs)
{
    uint32_t n = runs->dispatch.ended;
    runs->dispatch.ended = 0;
    runs->dispatch.running -= n;
    if (n == 0 || runs->dispatch.mode != HL_DEMAND_RUNS || runs->is_draining)
        return;
    if (has_limit(runs))
        look_for_work(runs);
    else
        give_credit(runs, n, false);
}

/* Slots asked for are not wanted any more: nobody reads this worker's mail once it has ended. */
static void leave_queue(struct hl_runs *runs)
{
    HL_LIST_EACH_SAFE (node, &runs->seat.queue[HL_LIMITER_ASYNC]) {
        struct hl_limiter_wait *wait = HL_CONTAINER_OF(node, struct hl_limiter_wait, node);
        hl_limiter_cancel(&runs->seat, wait);
        free(HL_CONTAINER_OF(wait, struct slot_request, wait));
        runs->dispatch.waiting--;
    }
}

static void release_slots(struct hl_runs *runs, uint32_t n)
{
    for (uint32_t i = 0; runs->dispatch.holds_slots && i < n; i++)
        hl_limiter_release(&runs->seat);
}

/* ---- what is claimed ---- */

static void look_at_clock(struct hl_runs *runs)
{
    const struct hl_wait_reading now = hl_wait_reading_take();
    hl_wait_clock_look(&runs->dispatch.clock, &now);
}

/* For how long it has been waited for since then. */
static uint64_t read_age(
    struct hl_runs *runs, struct hl_seen_time *seen, const struct hl_counter *wall)
{
    struct hl_wait_clock *clock = &runs->dispatch.clock;
    int64_t wall_ms = (int64_t)hl_counter_get(wall);
    hl_seen_time_look(seen, clock, wall_ms);
    return hl_wait_clock_age(clock, wall_ms, seen);
}

static bool is_left_waiting(struct hl_runs *runs, uint64_t most_ms)
{
    struct hl_dispatch *d = &runs->dispatch;
    look_at_clock(runs);
    uint64_t age_ms =
        read_age(runs, &d->oldest, &hl_store_get_gauges(runs->service->store)->oldest_queued_ms);
    return d->oldest.wall_ms > 0 && age_ms >= most_ms;
}

/* Others' apps that are up and leave a run waiting have no room for it; those that wake have HOOKLINE_APP_WAKE_TIMEOUT.
 * Of several that sleep that of who accepted it is the first. */
static bool is_ours(struct hl_runs *runs)
{
    uint64_t up, waking;
    bool has_any = has_others(runs, &up, &waking);
    bool is_about_to = has_any && up == 0;
    return (!has_any && atomic_load(&runs->service->has_accepted)) ||
           is_left_waiting(runs, is_about_to ? runs->config->app_wake_timeout_ms : LEFT_WAITING_MS);
}

static void on_others(struct hl_timer *timer)
{
    struct hl_runs *runs = HL_CONTAINER_OF(timer, struct hl_runs, dispatch.others);
    if (runs->dispatch.mode != HL_DEMAND_HINTS)
        return;
    bool has_any = hl_store_ready_runs(runs->service->store) > 0;
    if (!has_any)
        atomic_store(&runs->service->has_accepted, false);
    if (has_any && is_ours(runs))
        hl_gate_knock(runs->gate.gate);
    else
        give_credit(runs, 0, true); /* the next hint */
}

/* Whether the oldest queued run has waited so long, and the app (with replicas: the app of each) has
 * taken no call in all that time. The first worker sees to it for all. */
static bool has_doomed(struct hl_runs *runs)
{
    struct hl_dispatch *d = &runs->dispatch;
    const struct hl_store_gauges *gauges = hl_store_get_gauges(runs->service->store);
    if (runs->index != 0)
        return false;
    look_at_clock(runs);
    uint64_t most_ms = runs->config->app_start_timeout_ms;
    bool is_old = read_age(runs, &d->oldest, &gauges->oldest_queued_ms) >= most_ms;
    bool is_untaken = read_age(runs, &d->taken, &gauges->app_taken_ms) >= most_ms;
    return hl_gate_closed_for(runs->gate.gate) >= most_ms && d->oldest.wall_ms > 0 && is_old &&
           is_untaken;
}

static enum hl_demand_mode choose_mode(struct hl_runs *runs)
{
    if (runs->is_draining || runs->is_aside || runs->dispatch.is_withdrawing ||
        runs->dispatch.max == 0)
        return HL_DEMAND_NOTHING;
    if (hl_gate_is_open(runs->gate.gate))
        return HL_DEMAND_RUNS;
    if (hl_gate_is_asleep(runs->gate.gate)) /* one worker asks for all */
        return runs->index == 0 ? HL_DEMAND_HINTS : HL_DEMAND_NOTHING;
    return has_doomed(runs) ? HL_DEMAND_DOOMED : HL_DEMAND_NOTHING;
}

static void post_withdrawal(struct hl_runs *runs)
{
    struct hl_dispatch *d = &runs->dispatch;
    struct hl_store_msg *m = calloc(1, sizeof(*m));
    d->withdrawals++;
    if (!m) {
        d->owes_withdrawal = true;
        hl_timer_arm(runs->wheel, &d->again, HL_DISPATCH_AGAIN_MS);
        return;
    }
    m->msg.type = HL_STORE_WITHDRAW;
    m->reply_to = runs->box;
    post(runs, m);
}

static void withdraw(struct hl_runs *runs)
{
    leave_queue(runs);
    runs->dispatch.mode = HL_DEMAND_ENDING;
    runs->dispatch.owes_credit = false; /* it was not told of, and is taken back with the rest */
    runs->dispatch.owed = 0;
    if (!runs->dispatch.owes_withdrawal)
        post_withdrawal(runs);
}

void hl_demand_pay(struct hl_runs *runs)
{
    struct hl_dispatch *d = &runs->dispatch;
    if (d->owes_withdrawal) {
        d->withdrawals--;
        d->owes_withdrawal = false;
        post_withdrawal(runs);
    }
    if (!d->owes_credit)
        return;
    uint32_t n = d->owed;
    d->owes_credit = false;
    d->owed = 0;
    d->credit -= n;
    give_credit(runs, n, d->mode == HL_DEMAND_DOOMED || has_limit(runs));
}

static void begin_hints(struct hl_runs *runs)
{
    atomic_store(&runs->service->has_accepted, false);
    give_credit(runs, 0, true);
}

static void begin(struct hl_runs *runs, enum hl_demand_mode mode)
{
    struct hl_dispatch *d = &runs->dispatch;
    d->mode = mode;
    d->holds_slots = mode == HL_DEMAND_RUNS && has_limit(runs);
    atomic_store(&d->may_claim, mode == HL_DEMAND_RUNS);
    if (mode == HL_DEMAND_DOOMED)
        give_credit(runs, DOOMED_AT_ONCE, true);
    else if (mode == HL_DEMAND_HINTS)
        begin_hints(runs);
    else if (has_limit(runs))
        look_for_work(runs);
    else if (d->max > d->running)
        give_credit(runs, d->max - d->running, false);
}

/* While the app takes no calls, what waits is looked at every so often. */
static void arm_overdue(struct hl_runs *runs)
{
    struct hl_dispatch *d = &runs->dispatch;
    uint64_t most_ms = runs->config->app_start_timeout_ms, period_ms = most_ms / OVERDUE_PARTS;
    uint64_t closed_ms = hl_gate_closed_for(runs->gate.gate);
    if (runs->index != 0 || runs->is_draining || d->is_withdrawing || d->mode == HL_DEMAND_RUNS)
        return;
    if (period_ms > OVERDUE_MOST_MS)
        period_ms = OVERDUE_MOST_MS;
    if (period_ms < DOOMED_PAUSE_MS || d->has_more_doomed)
        period_ms = DOOMED_PAUSE_MS;
    hl_timer_arm(runs->wheel, &d->overdue, closed_ms < most_ms ? most_ms - closed_ms : period_ms);
}

/* Claims what is to be claimed, by and by: first the credit of the other kind is had back. */
static void settle(struct hl_runs *runs)
{
    struct hl_dispatch *d = &runs->dispatch;
    enum hl_demand_mode wanted = choose_mode(runs);
    if (d->mode == HL_DEMAND_NOTHING && wanted != HL_DEMAND_NOTHING)
        begin(runs, wanted);
    else if (d->mode != wanted && d->mode != HL_DEMAND_ENDING)
        withdraw(runs);
    arm_overdue(runs);
}

static void on_overdue(struct hl_timer *timer)
{
    struct hl_runs *runs = HL_CONTAINER_OF(timer, struct hl_runs, dispatch.overdue);
    if (runs->dispatch.mode == HL_DEMAND_DOOMED)
        arm_overdue(runs); /* the store has not answered yet */
    else
        settle(runs);
}

void hl_demand_start(struct hl_runs *runs)
{
    bool is_front = runs->config->role == HL_REPLICA_FRONT;
    uint32_t workers = runs->service->worker_count;
    uint32_t total = is_front ? 0 : runs->config->async_concurrency;
    runs->dispatch.max = total / workers + (runs->index < total % workers ? 1 : 0);
    hl_timer_init(&runs->dispatch.others, on_others);
    hl_timer_init(&runs->dispatch.overdue, on_overdue);
    settle(runs);
}

void hl_demand_on_gate(struct hl_runs *runs)
{
    settle(runs);
}

/* ---- the store's answers ---- */

/* Of doomed ones a few at once are asked for. */
static void end_batch(struct hl_runs *runs)
{
    if (runs->dispatch.mode != HL_DEMAND_DOOMED || runs->dispatch.credit > 0)
        return;
    runs->dispatch.mode = HL_DEMAND_NOTHING;
    arm_overdue(runs);
}

static enum hl_demand_verdict judge(struct hl_runs *runs, const struct hl_claimed *claimed)
{
    struct hl_dispatch *d = &runs->dispatch;
    if (runs->is_draining)
        return HL_DEMAND_GIVE_BACK;
    if (d->mode == HL_DEMAND_RUNS && hl_gate_is_open(runs->gate.gate))
        return claimed->has_no_place ? HL_DEMAND_GIVE_BACK : HL_DEMAND_CALL;
    look_at_clock(runs);
    d->has_more_doomed = d->mode == HL_DEMAND_DOOMED &&
                         hl_wait_clock_age(&d->clock, claimed->created_ms, &d->oldest) >=
                             runs->config->app_start_timeout_ms;
    return d->has_more_doomed ? HL_DEMAND_TOO_LATE : HL_DEMAND_GIVE_BACK;
}

enum hl_demand_verdict hl_demand_take(struct hl_runs *runs, const struct hl_claimed *claimed)
{
    HL_ASSERT(runs->dispatch.credit > 0);
    runs->dispatch.credit--;
    runs->dispatch.taken_claims++;
    enum hl_demand_verdict verdict = judge(runs, claimed);
    if (verdict == HL_DEMAND_GIVE_BACK)
        release_slots(runs, 1);
    end_batch(runs);
    return verdict;
}

void hl_demand_take_back(struct hl_runs *runs, struct hl_credit *credit)
{
    uint32_t n = credit->n;
    free(credit);
    runs->dispatch.credit -= n;
    release_slots(runs, n);
    if (runs->dispatch.mode == HL_DEMAND_DOOMED)
        runs->dispatch.has_more_doomed = false;
    end_batch(runs);
}

void hl_demand_stop(struct hl_runs *runs)
{
    runs->dispatch.is_withdrawing = true;
    hl_timer_fini(runs->wheel, &runs->dispatch.others);
    hl_timer_fini(runs->wheel, &runs->dispatch.overdue);
    withdraw(runs);
}

void hl_demand_on_withdrawn(struct hl_runs *runs)
{
    struct hl_dispatch *d = &runs->dispatch;
    if (--d->withdrawals > 0)
        return;
    uint32_t n = d->credit;
    d->credit = 0;
    d->mode = HL_DEMAND_NOTHING;
    atomic_store(&d->may_claim, false);
    release_slots(runs, n);
    d->holds_slots = false;
    d->has_withdrawn = d->is_withdrawing;
    settle(runs);
}
