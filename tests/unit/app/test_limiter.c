/* test_limiter.c - slots of the app: how many are out, whose turn it is, and that none is lost. */
#include "app/limiter.h"

#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/metric.h"
#include "loop/thread.h"

#define SEATS_MAX 4

static struct hl_limiter limiter;
static struct hl_limiter_seat seats[SEATS_MAX], *seat_list[SEATS_MAX];
static struct hl_mailbox boxes[SEATS_MAX];

static void no_wake(void *arg)
{
    (void)arg;
}

static void open_limiter(uint32_t limit, uint32_t queue_max, uint32_t seat_count)
{
    for (uint32_t i = 0; i < seat_count; i++) {
        seat_list[i] = &seats[i];
        hl_mailbox_init(&boxes[i], no_wake, NULL);
        hl_limiter_seat_init(&seats[i], &limiter, i, &boxes[i]);
    }
    hl_limiter_init(&limiter, limit, queue_max, seat_list, seat_count);
}

static void serve_mail(struct hl_limiter_seat *seat)
{
    for (struct hl_msg *msg = hl_mailbox_take(seat->mailbox), *next; msg; msg = next) {
        next = msg->next;
        cr_assert_eq(msg->type, HL_LIMITER_GRANT);
        hl_limiter_on_grant(seat);
    }
}

/* --- one thread plays all workers ----------------------------------------------------------- */

struct waiter {
    struct hl_limiter_wait wait;
    struct hl_limiter_seat *seat;
};

static struct waiter *served[256]; /* in the order of their slots */
static size_t served_count;

static bool on_slot(struct hl_limiter_wait *wait)
{
    served[served_count++] = HL_CONTAINER_OF(wait, struct waiter, wait);
    return true;
}

static bool on_unwanted(struct hl_limiter_wait *wait)
{
    (void)wait;
    return false;
}

static bool queue(struct waiter *w, struct hl_limiter_seat *seat, enum hl_limiter_class class)
{
    hl_limiter_wait_init(&w->wait, on_slot);
    w->wait.priority = HL_PRIORITY_NORMAL;
    w->wait.subject = 0;
    w->seat = seat;
    return hl_limiter_queue(seat, &w->wait, class);
}

static void serve_all_mail(void)
{
    for (uint32_t i = 0; i < limiter.seat_count; i++)
        serve_mail(&seats[i]);
}

/* The slot goes from its holder, who works on `seat`, to the next waiter and so on. */
static void pass_on_until(struct hl_limiter_seat *seat, size_t count)
{
    while (served_count < count) {
        hl_limiter_release(seat);
        serve_all_mail();
        seat = served[served_count - 1]->seat;
    }
}

static void assert_all_free(uint32_t limit)
{
    serve_all_mail();
    cr_assert_eq(limiter.in_use, 0);
    cr_assert_eq(limiter.waiting[HL_LIMITER_CALLER], 0);
    cr_assert_eq(limiter.waiting[HL_LIMITER_ASYNC], 0);
    for (uint32_t i = 0; i < limit; i++)
        cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert_not(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
}

Test(limiter, gives_out_no_more_than_the_limit)
{
    open_limiter(3, 10, 2);
    for (int i = 0; i < 3; i++)
        cr_assert(hl_limiter_try(&seats[i % 2], HL_LIMITER_CALLER));
    cr_assert_not(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert_not(hl_limiter_try(&seats[1], HL_LIMITER_ASYNC));
    hl_limiter_release(&seats[1]);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_ASYNC));
}

Test(limiter, without_a_limit_refuses_nobody)
{
    open_limiter(0, 0, 1);
    for (int i = 0; i < 1000; i++)
        cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    hl_limiter_release(&seats[0]);
    cr_assert_eq(limiter.in_use, 0);
}

Test(limiter, serves_a_seat_first_in_first_out)
{
    struct waiter waiters[20];
    open_limiter(1, 100, 1);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    for (int i = 0; i < 20; i++)
        cr_assert(queue(&waiters[i], &seats[0], HL_LIMITER_CALLER));
    cr_assert_eq(served_count, 0);
    pass_on_until(&seats[0], 20);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(served[i], &waiters[i]);
    hl_limiter_release(&seats[0]);
    assert_all_free(1);
}

Test(limiter, a_slot_that_is_not_wanted_goes_to_who_is_next)
{
    struct waiter gone[10], next, elsewhere;
    open_limiter(1, 100, 2);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    for (int i = 0; i < 10; i++) {
        cr_assert(queue(&gone[i], &seats[0], HL_LIMITER_CALLER));
        gone[i].wait.on_slot = on_unwanted;
    }
    cr_assert(queue(&next, &seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&elsewhere, &seats[1], HL_LIMITER_CALLER));
    pass_on_until(&seats[0], 2);
    cr_assert(served[0] == &next || served[1] == &next);
    cr_assert(served[0] == &elsewhere || served[1] == &elsewhere);
    hl_limiter_release(&seats[0]);
    assert_all_free(1);
}

Test(limiter, lets_seats_take_turns)
{
    struct waiter waiters[3][4];
    open_limiter(1, 100, 3);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    for (int seat = 0; seat < 3; seat++)
        for (int i = 0; i < 4; i++)
            cr_assert(queue(&waiters[seat][i], &seats[seat], HL_LIMITER_CALLER));
    pass_on_until(&seats[0], 12);
    for (int round = 0; round < 4; round++) {
        bool was_served[3] = {false};
        for (int i = 0; i < 3; i++)
            was_served[served[round * 3 + i]->seat->index] = true;
        cr_assert(was_served[0] && was_served[1] && was_served[2]);
    }
}

Test(limiter, does_not_let_a_newcomer_overtake)
{
    struct waiter first;
    open_limiter(1, 100, 2);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&first, &seats[1], HL_LIMITER_CALLER));
    hl_limiter_release(&seats[0]); /* the slot is on its way */
    cr_assert_not(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert_not(hl_limiter_try(&seats[0], HL_LIMITER_ASYNC));
    serve_all_mail();
    cr_assert_eq(served_count, 1);
}

Test(limiter, gives_async_runs_one_start_in_eight_while_callers_wait)
{
    struct waiter callers[80], runs[10];
    open_limiter(1, 100, 2);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    for (int i = 0; i < 80; i++)
        cr_assert(queue(&callers[i], &seats[i % 2], HL_LIMITER_CALLER));
    for (int i = 0; i < 10; i++)
        cr_assert(queue(&runs[i], &seats[i % 2], HL_LIMITER_ASYNC));
    pass_on_until(&seats[0], 80);
    int callers_in_a_row = 0, starts = 0;
    for (size_t i = 0; i < 80; i++) {
        bool is_run = served[i]->wait.class == HL_LIMITER_ASYNC;
        callers_in_a_row = is_run ? 0 : callers_in_a_row + 1;
        starts += is_run;
        cr_assert_lt(callers_in_a_row, HL_PRIORITY_SHARE);
    }
    cr_assert_eq(starts, 10, "no more than their share either: %d", starts);
}

Test(limiter, gives_async_runs_all_that_no_caller_wants)
{
    struct waiter runs[5];
    open_limiter(1, 100, 1);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    for (int i = 0; i < 5; i++)
        cr_assert(queue(&runs[i], &seats[0], HL_LIMITER_ASYNC));
    pass_on_until(&seats[0], 5);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(served[i], &runs[i]);
}

Test(limiter, keeps_a_slot_whose_waiter_left_while_it_was_on_its_way)
{
    struct waiter leaver;
    open_limiter(1, 100, 2);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&leaver, &seats[1], HL_LIMITER_CALLER));
    hl_limiter_release(&seats[0]);
    hl_limiter_cancel(&seats[1], &leaver.wait);
    assert_all_free(1);
    cr_assert_eq(served_count, 0);
}

Test(limiter, hands_a_slot_whose_waiter_left_to_another_seat)
{
    struct waiter leaver, stayer;
    open_limiter(1, 100, 2);
    cr_assert(hl_limiter_try(&seats[1], HL_LIMITER_CALLER));
    limiter.next_worker = 1;
    cr_assert(queue(&leaver, &seats[1], HL_LIMITER_CALLER));
    hl_limiter_release(&seats[0]);
    hl_limiter_cancel(&seats[1], &leaver.wait);
    cr_assert(queue(&stayer, &seats[0], HL_LIMITER_CALLER));
    serve_mail(&seats[1]);
    serve_mail(&seats[0]);
    cr_assert_eq(served_count, 1);
    cr_assert_eq(served[0], &stayer);
}

Test(limiter, forgets_a_waiter_that_left)
{
    struct waiter leaver, stayer;
    open_limiter(1, 100, 1);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&leaver, &seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&stayer, &seats[0], HL_LIMITER_CALLER));
    hl_limiter_cancel(&seats[0], &leaver.wait);
    hl_limiter_cancel(&seats[0], &leaver.wait); /* harmless twice */
    pass_on_until(&seats[0], 1);
    cr_assert_eq(served[0], &stayer);
    hl_limiter_release(&seats[0]);
    assert_all_free(1);
}

Test(limiter, refuses_callers_beyond_the_queue_over_all_seats)
{
    struct waiter callers[3], run;
    open_limiter(1, 2, 2);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&callers[0], &seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&callers[1], &seats[1], HL_LIMITER_CALLER));
    cr_assert_not(queue(&callers[2], &seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&run, &seats[0], HL_LIMITER_ASYNC), "asynchronous runs wait in the store");
    hl_limiter_cancel(&seats[1], &callers[1].wait);
    cr_assert(queue(&callers[2], &seats[0], HL_LIMITER_CALLER));
}

Test(limiter, does_not_let_a_seat_close_while_a_slot_is_on_its_way)
{
    struct waiter leaver;
    open_limiter(1, 100, 2);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&leaver, &seats[1], HL_LIMITER_CALLER));
    hl_limiter_release(&seats[0]);
    hl_limiter_cancel(&seats[1], &leaver.wait);
    cr_assert_not(hl_limiter_seat_close(&seats[1]));
    serve_mail(&seats[1]);
    cr_assert(hl_limiter_seat_close(&seats[1]));
    assert_all_free(1);
}

Test(limiter, sends_no_slot_to_a_closed_seat)
{
    open_limiter(1, 100, 2);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    seats[1].waiting[HL_LIMITER_CALLER] = 1;
    seats[1].callers_waiting[HL_PRIORITY_NORMAL] =
        1; /* seen by the giver just before its owner left */
    cr_assert(hl_limiter_seat_close(&seats[1]));
    hl_limiter_release(&seats[0]);
    seats[1].waiting[HL_LIMITER_CALLER] = seats[1].callers_waiting[HL_PRIORITY_NORMAL] = 0;
    cr_assert_null(hl_mailbox_take(&boxes[1]));
    assert_all_free(1);
}

Test(limiter, says_how_long_its_first_caller_has_waited)
{
    struct waiter first, second;
    uint64_t now = hl_clock_mono_ms();
    open_limiter(1, 100, 2);
    cr_assert_eq(hl_limiter_queue_age_ms(&limiter, now), 0);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&first, &seats[0], HL_LIMITER_CALLER));
    cr_assert(queue(&second, &seats[1], HL_LIMITER_CALLER));
    seats[0].oldest_ms = first.wait.since_ms = now - 5000;
    seats[1].oldest_ms = second.wait.since_ms = now - 300;
    cr_assert_eq(hl_limiter_queue_age_ms(&limiter, now), 5000);
    hl_limiter_cancel(&seats[0], &first.wait);
    cr_assert_eq(hl_limiter_queue_age_ms(&limiter, now), 300);
    hl_limiter_cancel(&seats[1], &second.wait);
    cr_assert_eq(hl_limiter_queue_age_ms(&limiter, now), 0);
}

static void queue_as(
    struct waiter *w, struct hl_limiter_seat *seat, enum hl_priority priority, uint64_t subject)
{
    hl_limiter_wait_init(&w->wait, on_slot);
    w->wait.priority = priority;
    w->wait.subject = subject;
    w->seat = seat;
    cr_assert(hl_limiter_queue(seat, &w->wait, HL_LIMITER_CALLER));
}

Test(limiter, callers_of_one_subject_do_not_hold_up_the_one_of_another)
{
    struct waiter ann[3], ben;
    open_limiter(1, 10, 1);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    for (int i = 0; i < 3; i++)
        queue_as(&ann[i], &seats[0], HL_PRIORITY_NORMAL, 1);
    queue_as(&ben, &seats[0], HL_PRIORITY_NORMAL, 2);
    pass_on_until(&seats[0], 4);
    const struct waiter *order[] = {&ann[0], &ben, &ann[1], &ann[2]};
    for (int i = 0; i < 4; i++)
        cr_assert_eq(served[i], order[i], "%d", i);
    hl_limiter_release(&seats[0]);
    assert_all_free(1);
}

Test(limiter, of_eight_slots_for_which_several_classes_wait_one_goes_to_a_lower_one)
{
    struct waiter high[9], normal, low;
    open_limiter(1, 20, 1);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    queue_as(&low, &seats[0], HL_PRIORITY_LOW, 0);
    queue_as(&normal, &seats[0], HL_PRIORITY_NORMAL, 0);
    for (int i = 0; i < 9; i++)
        queue_as(&high[i], &seats[0], HL_PRIORITY_HIGH, 0);
    pass_on_until(&seats[0], 11);
    cr_assert_eq(served[6], &high[6]);
    cr_assert_eq(served[7], &normal);
    cr_assert_eq(served[8], &high[7]);
    cr_assert_eq(served[10], &low);
    hl_limiter_release(&seats[0]);
    assert_all_free(1);
}

Test(limiter, slot_for_a_queued_run_says_of_which_class_it_is)
{
    struct hl_counter queued[HL_PRIORITIES] = {0};
    struct waiter caller, run;
    open_limiter(1, 20, 1);
    hl_limiter_know_queue(&limiter, queued);
    hl_counter_set(&queued[HL_PRIORITY_HIGH], 3);
    cr_assert(hl_limiter_try(&seats[0], HL_LIMITER_CALLER));
    queue_as(&caller, &seats[0], HL_PRIORITY_NORMAL, 0);
    cr_assert(queue(&run, &seats[0], HL_LIMITER_ASYNC));
    pass_on_until(&seats[0], 1);
    cr_assert_eq(served[0], &run);
    cr_assert_eq(run.wait.priority, HL_PRIORITY_HIGH);
    pass_on_until(&seats[0], 2);
    hl_limiter_release(&seats[0]);
    assert_all_free(1);
}

/* --- four threads --------------------------------------------------------------------------- */

#define STRESS_LIMIT 3
#define STRESS_CALLS 20000 /* a thread */
#define AT_ONCE      8     /* of one thread, waiting or inside */

enum call_state { CALL_FREE, CALL_WAITING, CALL_INSIDE };

struct worker;

struct call {
    struct hl_limiter_wait wait;
    struct worker *worker;
    enum call_state state;
};

struct worker {
    struct hl_thread thread;
    struct hl_limiter_seat *seat;
    struct call calls[AT_ONCE];
    unsigned left, served, cancelled, inside, waiting;
    uint32_t random;
};

static _Atomic uint32_t inside_now, inside_most;
static sem_t wakes[SEATS_MAX];

static void wake_thread(void *arg)
{
    sem_post(arg);
}

static void enter(struct call *call)
{
    uint32_t now = atomic_fetch_add(&inside_now, 1) + 1, most = atomic_load(&inside_most);
    while (now > most && !atomic_compare_exchange_weak(&inside_most, &most, now))
        ;
    call->state = CALL_INSIDE;
    call->worker->inside++;
    call->worker->served++;
}

static bool on_call_slot(struct hl_limiter_wait *wait)
{
    struct call *call = HL_CONTAINER_OF(wait, struct call, wait);
    call->worker->waiting--;
    enter(call);
    return true;
}

static void begin_call(struct worker *w, struct call *call, enum hl_limiter_class class)
{
    w->left--;
    if (hl_limiter_try(w->seat, class)) {
        enter(call);
        return;
    }
    hl_limiter_wait_init(&call->wait, on_call_slot);
    call->wait.priority = (enum hl_priority)((w->random >> 20) % HL_PRIORITIES);
    call->wait.subject = (w->random >> 22) % 3;
    call->state = CALL_WAITING;
    w->waiting++;
    cr_assert(hl_limiter_queue(w->seat, &call->wait, class));
}

static void step(struct worker *w)
{
    w->random = w->random * 1664525 + 1013904223;
    struct call *call = &w->calls[(w->random >> 16) % AT_ONCE];
    if (call->state == CALL_INSIDE) {
        call->state = CALL_FREE;
        w->inside--;
        atomic_fetch_sub(&inside_now, 1);
        hl_limiter_release(w->seat);
    } else if (call->state == CALL_FREE && w->left > 0) {
        bool is_run = (w->random >> 28) == 0;
        begin_call(w, call, is_run ? HL_LIMITER_ASYNC : HL_LIMITER_CALLER);
    } else if (call->state == CALL_WAITING && (w->random >> 24) % 16 == 0) {
        call->state = CALL_FREE;
        w->waiting--;
        w->cancelled++;
        hl_limiter_cancel(w->seat, &call->wait);
    }
}

/* Who has ended its calls closes its seat and reads no more mail, while the others go on. */
static void run_worker(void *arg)
{
    struct worker *w = arg;
    for (;;) {
        serve_mail(w->seat);
        if (w->left > 0 || w->inside > 0)
            step(w);
        else if (w->waiting == 0 && hl_limiter_seat_close(w->seat))
            return;
        else
            sem_wait(&wakes[w->seat->index]);
    }
}

Test(limiter, holds_under_four_threads, .timeout = 120)
{
    static struct worker workers[SEATS_MAX];
    unsigned calls = 0, served_by_all = 0, cancelled = 0;
    open_limiter(STRESS_LIMIT, UINT32_MAX, SEATS_MAX);
    for (uint32_t i = 0; i < SEATS_MAX; i++) {
        sem_init(&wakes[i], 0, 0);
        hl_mailbox_init(&boxes[i], wake_thread, &wakes[i]);
        workers[i] =
            (struct worker){.seat = &seats[i], .left = STRESS_CALLS / (i + 1), .random = i + 1};
        calls += workers[i].left;
        for (int j = 0; j < AT_ONCE; j++)
            workers[i].calls[j].worker = &workers[i];
    }
    for (int i = 0; i < SEATS_MAX; i++)
        cr_assert_eq(hl_thread_start(&workers[i].thread, "worker", run_worker, &workers[i]), 0);
    for (int i = 0; i < SEATS_MAX; i++) {
        hl_thread_join(&workers[i].thread);
        served_by_all += workers[i].served;
        cancelled += workers[i].cancelled;
    }
    cr_assert_leq(inside_most, STRESS_LIMIT);
    cr_assert_eq(served_by_all + cancelled, calls, "a waiter was forgotten");
    cr_assert_gt(cancelled, 0);
    for (int i = 0; i < SEATS_MAX; i++)
        cr_assert_null(hl_mailbox_take(&boxes[i]), "a slot went to a worker that had ended");
    assert_all_free(STRESS_LIMIT);
}
