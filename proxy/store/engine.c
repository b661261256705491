/* engine.c - the store's thread. It sleeps until its mailbox is filled, takes all that is there and
 * runs it as one transaction (batch.c): the batch is what arrived during the previous commit, so a
 * lone operation waits for nothing and many share one fsync. Questions that no other thread answers
 * come after it. There is no timer on that path; timed wake-ups are for maintenance only, and each of
 * its steps is small and alone in its transaction.
 *
 * Promise: replies and pushes leave after the commit of what they say, each request is answered
 * once, and an operation that ends something (FINISH, OUTCOME, …) is never lost to a full volume:
 * it waits here until there is space, while what is lighter goes on. After an I/O error or
 * corruption nothing is written until the driver has opened the store anew: a commit whose fsync failed
 * must not be tried again (the kernel may have dropped the pages). What ends something waits for that,
 * too. */
#include "store/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "store/change.h"
#include "store/claim.h"
#include "store/driver.h"
#include "store/maintenance.h"
#include "store/message.h"
#include "store/operation.h"

#define RETRY_US HL_MIN_PAUSE_US

/* --- mailbox -------------------------------------------------------------------------------- */

enum hl_err hl_engine_post(struct hl_engine *e, struct hl_store_msg *m)
{
    if (!hl_store_message_is_credit(m)) {
        enum hl_err err = hl_intake_enter(&e->intake, m, hl_operation_weigh(m));
        if (err)
            return err;
    }
    hl_mailbox_post(&e->box, &m->msg);
    return HL_OK;
}

static void wake(void *arg)
{
    struct hl_engine *e = arg;
    sem_post(&e->wake);
}

static void take_credit(struct hl_engine *e, struct hl_credit *credit)
{
    if (credit->m.msg.type == HL_STORE_CREDIT) {
        hl_credit_add(&e->batch.workers, credit);
        return;
    }
    if (credit->n == 0)
        hl_credit_withdraw(&e->batch.senders, credit->m.reply_to);
    hl_credit_add(&e->batch.senders, credit);
}

static void reply(struct hl_engine *e, struct hl_store_msg *m, size_t weight, enum hl_err rc)
{
    hl_intake_leave(&e->intake, weight);
    hl_operation_end(m, rc);
    hl_mailbox_post(m->reply_to, &m->msg);
}

/* What was claimed for this worker is in its mailbox already, before this reply. */
static void withdraw(struct hl_engine *e, struct hl_store_msg *m)
{
    hl_credit_withdraw(&e->batch.workers, m->reply_to);
    reply(e, m, hl_operation_weigh(m), HL_OK);
}

static void answer_watch(struct hl_engine *e, struct hl_watch *watch, enum hl_err rc)
{
    hl_counter_set(&e->gauges.waiters, e->backlog.watchers.n);
    watch->m.rc = rc;
    hl_mailbox_post(watch->m.reply_to, &watch->m.msg);
}

/* Who waits is in nobody's way: what the intake has room for are requests that there is work with. */
static void take_watch(struct hl_engine *e, struct hl_watch *watch)
{
    struct hl_watchers *all = &e->backlog.watchers;
    bool is_watch = watch->m.msg.type == HL_STORE_WATCH;
    struct hl_watch *withdrawn = is_watch ? NULL : hl_watchers_remove(all, watch);
    enum hl_err err = is_watch ? hl_watchers_add(all, watch) : HL_OK;
    hl_intake_leave(&e->intake, hl_operation_weigh(&watch->m));
    hl_counter_set(&e->gauges.waiters, all->n);
    if (withdrawn)
        answer_watch(e, withdrawn, HL_ERR_CANCELLED);
    if (err || !is_watch)
        answer_watch(e, watch, err);
}

/* Between transactions. */
static void tell_watchers(struct hl_engine *e)
{
    for (struct hl_watch *w = hl_watchers_take(&e->backlog.watchers), *next; w; w = next) {
        next = w->next;
        answer_watch(e, w, HL_OK);
    }
}

/* What workers have is known here. False: the message has gone to where it is answered. */
static bool pick_running(struct hl_engine *e, struct hl_store_msg *m)
{
    size_t weight = hl_operation_weigh(m);
    enum hl_err err = hl_batch_pick_running(&e->batch, (struct hl_list_runs *)m);
    if (err) {
        reply(e, m, weight, err);
        return false;
    }
    if (!e->driver->vt->post_question)
        return true;
    hl_intake_leave(&e->intake, weight);
    e->driver->vt->post_question(e->driver, m);
    return false;
}

static void append(struct hl_engine *e, struct hl_msg *msg)
{
    msg->next = NULL;
    if (e->last)
        e->last->next = msg;
    else
        e->first = msg;
    e->last = msg;
}

/* What was blocked may start again: something of its account has left the app, or its limit is another. */
static void hear_bell(struct hl_engine *e)
{
    atomic_store(&e->bell.is_rung, false);
    hl_quota_blocked_forget(&e->backlog.blocked);
}

/* Requests that the store will not take are answered as they come out of the mailbox, so that they
 * do not pile up behind those that wait for space. */
static void take_mail(struct hl_engine *e)
{
    for (struct hl_msg *msg = hl_mailbox_take(&e->box), *next; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        if (msg->type == HL_STORE_LEFT) {
            hear_bell(e);
            continue;
        }
        if (hl_store_message_asks_what_runs(m) && !pick_running(e, m))
            continue;
        if (hl_store_message_ends_credit(m)) /* in the same batch neither */
            hl_credit_withdraw(&e->batch.senders, m->reply_to);
        if (hl_store_message_is_credit(m))
            take_credit(e, (struct hl_credit *)m);
        else if (msg->type == HL_STORE_WITHDRAW)
            withdraw(e, m);
        else if (msg->type == HL_STORE_WATCH || msg->type == HL_STORE_UNWATCH)
            take_watch(e, (struct hl_watch *)m);
        else if (e->is_failing && hl_batch_refuses(m, HL_ERR_IO))
            reply(e, m, hl_operation_weigh(m), HL_ERR_UNAVAILABLE);
        else if (hl_operation_of(m)->may_be_refused && e->retry_us != HL_NEVER)
            reply(e, m, hl_operation_weigh(m), HL_ERR_UNAVAILABLE);
        else
            append(e, msg);
    }
}

/* --- batches -------------------------------------------------------------------------------- */

/* All that was held is the first to be tried again. */
static void take_held(struct hl_engine *e)
{
    hl_held_requests_release(&e->held, &e->first, &e->last);
}

/* While something is held, what may be refused is refused, without another look. */
static bool is_refused(struct hl_engine *e, const struct hl_store_msg *m)
{
    if (!hl_operation_of(m)->may_be_refused || e->is_failing)
        return false;
    if (!e->held.first)
        hl_maintenance_look_for_room(e, hl_clock_mono_us());
    return (e->room || e->held.first) && !e->is_failing;
}

static void fill_batch(struct hl_engine *e)
{
    struct hl_batch *b = &e->batch;
    b->n_ops = b->weight = 0;
    while (e->first && !hl_batch_is_full(b) && e->n_asked < HL_ENGINE_MAX_ASKED) {
        struct hl_store_msg *m = (struct hl_store_msg *)e->first;
        size_t weight = hl_operation_weigh(m);
        e->first = e->first->next;
        if (!e->first)
            e->last = NULL;
        if (hl_operation_of(m)->is_question)
            e->asked[e->n_asked++] = m;
        else if (is_refused(e, m))
            reply(e, m, weight, e->room == HL_ERR_NOT_FOUND ? HL_ERR_IO : HL_ERR_FULL);
        else if (hl_held_requests_blocks(&e->held, m, weight))
            hl_held_requests_add(&e->held, m, weight);
        else
            hl_batch_add(b, m, weight);
    }
}

/* What could not be decided. Somebody else has the database: all of it is tried again, before the
 * rest. */
static void keep_undecided(struct hl_engine *e, enum hl_err why, uint64_t began_us)
{
    struct hl_batch *b = &e->batch;
    for (size_t i = 0; i < b->n_ops; i++)
        if (b->ops[i].is_held) {
            hl_change_restore(&b->ops[i]);
            hl_held_requests_add(&e->held, b->ops[i].m, b->ops[i].weight);
        }
    if (why == HL_ERR_UNAVAILABLE)
        take_held(e);
    else if (!e->held.first)
        e->pause_us = HL_MIN_PAUSE_US;
    else if (e->held.retry_us == HL_NEVER)
        e->held.retry_us = began_us + hl_maintenance_pause(e);
}

/* What may be refused does not wait behind what may not. Nothing of it was tried: where the store has failed it is
 * as if it had come after that. */
static void refuse_waiting(struct hl_engine *e, enum hl_err why)
{
    bool has_failed = why == HL_ERR_IO || why == HL_ERR_CORRUPT;
    enum hl_err rc = has_failed ? HL_ERR_UNAVAILABLE : why;
    struct hl_msg *msg = e->first, *next;
    e->first = e->last = NULL;
    for (; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        if (hl_batch_refuses(m, why))
            reply(e, m, hl_operation_weigh(m), rc);
        else
            append(e, msg);
    }
}

static void answer(struct hl_engine *e, const struct hl_batch_op *op)
{
    if (hl_change_of(op->m)->fill)
        hl_change_of(op->m)->fill(op);
    if (op->has_more && op->rc == HL_OK)
        append(e, &op->m->msg);
    else
        reply(e, op->m, op->weight, op->rc);
}

/* Whether this is a time for handing out; there may be nothing. */
static bool may_serve(const struct hl_engine *e, uint64_t now_us)
{
    return !e->is_failing && !e->is_expiring && !atomic_load(&e->is_stopping) &&
           now_us >= e->serve_us;
}

/* Credit that holds slots of the app goes back when there is nothing to use it for; workers without
 * any are told when there is. */
static void settle_credit(struct hl_engine *e)
{
    if (e->is_failing || e->retry_us != HL_NEVER || hl_backlog_ready(&e->backlog) == 0)
        hl_credit_return_unused(&e->batch.workers);
    else
        hl_credit_hint(&e->batch.workers);
}

/* All that was taken from the mailbox. */
static void refuse_all(struct hl_engine *e)
{
    take_held(e);
    while (e->first) {
        struct hl_store_msg *m = (struct hl_store_msg *)e->first;
        e->first = e->first->next;
        reply(e, m, hl_operation_weigh(m), HL_ERR_UNAVAILABLE);
    }
    e->last = NULL;
    hl_credit_return_unused(&e->batch.workers);
}

/* The store has failed before the batch was begun. */
static void put_batch_back(struct hl_engine *e)
{
    struct hl_batch *b = &e->batch;
    for (size_t i = 0; i < b->n_ops; i++)
        hl_held_requests_add(&e->held, b->ops[i].m, b->ops[i].weight);
    b->n_ops = 0;
    take_held(e);
    refuse_waiting(e, HL_ERR_IO);
    hl_credit_return_unused(&e->batch.workers);
}

static void try_held(struct hl_engine *e, uint64_t now_us)
{
    enum hl_err room = e->driver->vt->room(e->driver);
    if (room == HL_ERR_TOO_LARGE)
        hl_maintenance_look_for_room(e, now_us);
    e->batch.is_short = room != HL_OK;
    take_held(e);
}

static void run_batch(struct hl_engine *e)
{
    struct hl_batch *b = &e->batch;
    uint64_t began_us = hl_clock_mono_us();
    bool has_committed, serves = may_serve(e, began_us);
    b->is_short = false;
    if (e->held.first && began_us >= e->held.retry_us)
        try_held(e, began_us);
    fill_batch(e);
    if (e->is_failing) { /* since the search for room */
        put_batch_back(e);
        return;
    }
    enum hl_err err = hl_batch_run(b, serves, hl_clock_wall_ms(), &has_committed);

    hl_batch_count_claims(b);
    if (has_committed)
        hl_maintenance_note_commit(e, began_us);
    if (err == HL_ERR_IO || err == HL_ERR_CORRUPT)
        hl_maintenance_fail(e, err);
    if (err == HL_ERR_FULL) {
        hl_maintenance_set_room(e, HL_ERR_FULL);
        e->room_us = began_us + RETRY_US;
    }
    keep_undecided(e, err, began_us);
    if (err == HL_ERR_FULL || err == HL_ERR_UNAVAILABLE || e->is_failing)
        refuse_waiting(e, err);
    e->retry_us = err == HL_ERR_UNAVAILABLE ? began_us + RETRY_US : HL_NEVER;
    e->serve_us = err && err != HL_ERR_UNAVAILABLE ? began_us + RETRY_US : 0;

    hl_batch_note(b);
    for (size_t i = 0; i < b->n_ops; i++)
        if (!b->ops[i].is_held)
            answer(e, &b->ops[i]);
    b->n_ops = 0;
    hl_batch_send_pushes(b);
    settle_credit(e);
}

/* They see what was committed, and change nothing. */
static void answer_asked(struct hl_engine *e)
{
    const struct hl_driver_vt *vt = e->driver->vt;
    for (size_t i = 0; i < e->n_asked; i++) {
        struct hl_store_msg *m = e->asked[i];
        enum hl_err rc = HL_ERR_UNAVAILABLE;
        if (!e->is_failing)
            rc = vt->answer ? vt->answer(e->driver, m) : HL_ERR_INVALID;
        reply(e, m, hl_operation_weigh(m), rc);
    }
    e->n_asked = 0;
}

static void sleep_until(struct hl_engine *e, uint64_t due_us)
{
    if (due_us == HL_NEVER) {
        sem_wait(&e->wake);
        return;
    }
    struct timespec until = {
        .tv_sec = (time_t)(due_us / 1000000), .tv_nsec = (long)(due_us % 1000000) * 1000};
    sem_clockwait(&e->wake, CLOCK_MONOTONIC, &until);
}

/* --- the thread ----------------------------------------------------------------------------- */

static bool can_run(const struct hl_engine *e)
{
    uint64_t now_us = hl_clock_mono_us();
    if (e->is_failing || (e->retry_us != HL_NEVER && now_us < e->retry_us))
        return false;
    return e->first || (e->held.first && now_us >= e->held.retry_us) ||
           (may_serve(e, now_us) && hl_batch_can_serve(&e->batch));
}

/* What waited for a store that had failed comes first, as it came. */
static void reopen(struct hl_engine *e)
{
    if (!e->is_failing || !hl_maintenance_reopen(e))
        return;
    e->retry_us = HL_NEVER;
    e->serve_us = 0;
    e->pause_us = HL_MIN_PAUSE_US;
    take_held(e);
}

/* Only when the volume is full or the store is failing is anything left to refuse. */
static void refuse_rest(struct hl_engine *e)
{
    reopen(e);
    e->retry_us = HL_NEVER;
    take_held(e);
    while (e->first && e->retry_us == HL_NEVER && !e->is_failing) {
        run_batch(e);
        answer_asked(e);
    }
    refuse_all(e);
}

static void run(void *arg)
{
    struct hl_engine *e = arg;
    for (;;) {
        bool is_stopping = atomic_load(&e->is_stopping);
        take_mail(e);
        if (e->is_failing && hl_clock_mono_us() >= e->reopening.next_us)
            reopen(e);
        hl_maintenance_expire(e);
        hl_maintenance_recall(e);
        tell_watchers(e);
        if (can_run(e)) {
            run_batch(e);
            tell_watchers(e);
            answer_asked(e);
            hl_maintenance_tend(e, false);
            continue;
        }
        if (is_stopping)
            break;
        settle_credit(e);
        hl_maintenance_tend(e, true);
        uint64_t due_us = hl_maintenance_next_due(e);
        if (due_us > hl_clock_mono_us())
            sleep_until(e, due_us);
    }
    hl_maintenance_note_time(e, hl_clock_mono_us());
    refuse_rest(e);
    for (struct hl_watch *w; (w = hl_watchers_take_any(&e->backlog.watchers)) != NULL;)
        answer_watch(e, w, HL_ERR_UNAVAILABLE);
}

int hl_engine_start(struct hl_engine *e, struct hl_driver *driver, int64_t keep_ms)
{
    e->driver = driver;
    e->keep_ms = keep_ms;
    e->n_asked = 0;
    e->retry_us = HL_NEVER;
    hl_held_requests_init(&e->held);
    e->pause_us = HL_MIN_PAUSE_US;
    e->settle_us = e->room_us = 0;
    e->purge_us = e->survey_us = e->clock_us = e->expire_us = e->recall_us = 0;
    hl_clock_guard_init(&e->clock_guard, driver->noted.seen_ms, hl_clock_mono_us());
    hl_steady_clock_init(&e->steady, &driver->noted, hl_clock_mono_us());
    (void)hl_steady_clock_hold(&e->steady, hl_clock_wall_ms(), hl_clock_mono_us());
    hl_batch_init(&e->batch, driver, &e->backlog);
    hl_mailbox_init(&e->box, wake, e);
    e->bell = (struct hl_quota_bell){.box = &e->box, .msg.type = HL_STORE_LEFT};
    atomic_init(&e->is_stopping, false);
    atomic_init(&e->wants_trim, false);
    e->trim_us = 0;
    e->reopening = (struct hl_reopening){0};
    if (sem_init(&e->wake, 0, 0) < 0)
        return errno;
    hl_maintenance_show_all(e);
    return hl_thread_start(&e->thread, "hl-store", run, e);
}

void hl_engine_trim_streams(struct hl_engine *e)
{
    if (!atomic_exchange(&e->wants_trim, true))
        sem_post(&e->wake);
}

void hl_engine_stop(struct hl_engine *e)
{
    atomic_store(&e->is_stopping, true);
    sem_post(&e->wake);
    hl_thread_join(&e->thread);
    hl_batch_fini(&e->batch);
    sem_destroy(&e->wake);
}
