/* engine.c - the store's thread. It sleeps until its mailbox is filled, takes all that is there and
 * runs it as one transaction (batch.c): the batch is what arrived during the previous commit, so a
 * lone operation waits for nothing and many share one fsync. There is no timer on that path; timed
 * wake-ups are for maintenance only, and each of its steps is small and alone in its transaction.
 *
 * Promise: replies and pushes leave after the commit of what they say, each request is answered
 * once, and an operation that ends something (FINISH, OUTCOME, …) is never lost to a full volume:
 * it waits here until there is space. After an I/O error or corruption nothing is written any more:
 * a commit whose fsync failed must not be tried again (the kernel may have dropped the pages). */
#include "store/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/message.h"

#define MAX_WAITING_REQUESTS 4096
#define MAX_WAITING_BYTES    (64u << 20)

#define NEVER      UINT64_MAX
#define RETRY_US   250000u
#define ROOM_US    50000u
#define SURVEY_US  200000u
#define QUIET_US   100000u
#define PURGE_STEP 64
#define SHED_STEP  16
#define SHED_STEPS 4

/* --- mailbox -------------------------------------------------------------------------------- */

static bool brings_work(const struct hl_store_msg *m)
{
    return m->msg.type == HL_STORE_ACCEPT || m->msg.type == HL_STORE_RECORD;
}

static bool is_credit(const struct hl_msg *msg)
{
    return msg->type == HL_STORE_CREDIT || msg->type == HL_STORE_LEASE_CREDIT;
}

static void weigh(struct hl_engine *e, size_t weight)
{
    atomic_fetch_add_explicit(&e->waiting_requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&e->waiting_bytes, weight, memory_order_relaxed);
}

static void unweigh(struct hl_engine *e, size_t weight)
{
    atomic_fetch_sub_explicit(&e->waiting_requests, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&e->waiting_bytes, weight, memory_order_relaxed);
}

enum hl_err hl_engine_post(struct hl_engine *e, struct hl_store_msg *m)
{
    if (!is_credit(&m->msg)) {
        size_t weight = hl_message_weight(m);
        uint64_t n = atomic_load_explicit(&e->waiting_requests, memory_order_relaxed);
        uint64_t bytes = atomic_load_explicit(&e->waiting_bytes, memory_order_relaxed);
        if (brings_work(m) && (n >= MAX_WAITING_REQUESTS || bytes + weight > MAX_WAITING_BYTES))
            return HL_ERR_BUSY;
        weigh(e, weight);
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
    unweigh(e, weight);
    m->rc = rc;
    hl_mailbox_post(m->reply_to, &m->msg);
}

/* What was claimed for this worker is in its mailbox already, before this reply. */
static void withdraw(struct hl_engine *e, struct hl_store_msg *m)
{
    hl_credit_withdraw(&e->batch.workers, m->reply_to);
    reply(e, m, hl_message_weight(m), HL_OK);
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

/* Requests that the store will not take are answered as they come out of the mailbox, so that they
 * do not pile up behind those that wait for space. */
static void take_mail(struct hl_engine *e)
{
    for (struct hl_msg *msg = hl_mailbox_take(&e->box), *next; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        if (is_credit(msg))
            take_credit(e, (struct hl_credit *)m);
        else if (msg->type == HL_STORE_WITHDRAW)
            withdraw(e, m);
        else if (e->is_failing)
            reply(e, m, hl_message_weight(m), HL_ERR_UNAVAILABLE);
        else if (brings_work(m) && e->retry_us != NEVER)
            reply(e, m, hl_message_weight(m), HL_ERR_FULL);
        else
            append(e, msg);
    }
}

/* --- room ----------------------------------------------------------------------------------- */

static void set_gauge(struct hl_counter *gauge, uint64_t value)
{
    atomic_store_explicit(&gauge->v, value, memory_order_relaxed);
}

static void set_full(struct hl_engine *e, bool is_full)
{
    if (is_full != e->is_full)
        HL_LOG(WARN, is_full ? "store: no space left: new asynchronous calls are refused"
                             : "store: there is space again");
    e->is_full = is_full;
    set_gauge(&e->gauges.is_full, is_full);
}

static void fail(struct hl_engine *e, enum hl_err err)
{
    if (!e->is_failing)
        HL_LOG(ERROR,
            "store: unusable until hookline is started again; nothing acknowledged is lost",
            HL_LOG_TEXT("why", hl_err_text(err)));
    e->is_failing = true;
    set_gauge(&e->gauges.is_failing, 1);
}

/* A maintenance step in a transaction of its own. */
static enum hl_err commit_step(struct hl_engine *e, enum hl_err step)
{
    struct hl_driver *d = e->driver;
    enum hl_err err = step;
    if (step == HL_OK || (step == HL_ERR_NOT_FOUND && !d->is_broken))
        err = d->vt->commit(d);
    else
        d->vt->rollback(d);
    if (err)
        hl_backlog_rollback(&e->backlog);
    else
        hl_backlog_commit(&e->backlog);
    if (err == HL_ERR_IO || err == HL_ERR_CORRUPT)
        fail(e, err);
    return err ? err : step;
}

static enum hl_err begin_step(struct hl_engine *e)
{
    enum hl_err err = e->driver->vt->begin(e->driver);
    if (!err)
        hl_backlog_begin(&e->backlog);
    return err;
}

/* The oldest finished bodies make room for new runs (spec 6). */
static enum hl_err shed(struct hl_engine *e)
{
    enum hl_err room = HL_ERR_TOO_LARGE;
    for (int i = 0; i < SHED_STEPS && room == HL_ERR_TOO_LARGE; i++) {
        enum hl_err err = begin_step(e);
        if (!err)
            err = commit_step(e, e->driver->vt->shed(e->driver, SHED_STEP));
        if (err)
            break;
        e->driver->vt->settle(e->driver, false);
        room = e->driver->vt->room(e->driver);
    }
    return room;
}

static void look_for_room(struct hl_engine *e, uint64_t now_us)
{
    if (now_us < e->room_us)
        return;
    enum hl_err room = e->driver->vt->room(e->driver);
    if (room == HL_ERR_TOO_LARGE)
        room = shed(e);
    set_full(e, room != HL_OK);
    e->room_us = now_us + ROOM_US;
}

/* --- batches -------------------------------------------------------------------------------- */

static void fill_batch(struct hl_engine *e)
{
    struct hl_batch *b = &e->batch;
    b->n_ops = b->weight = 0;
    while (e->first && !hl_batch_is_full(b)) {
        struct hl_store_msg *m = (struct hl_store_msg *)e->first;
        size_t weight = hl_message_weight(m);
        e->first = e->first->next;
        if (!e->first)
            e->last = NULL;
        if (brings_work(m))
            look_for_room(e, hl_clock_mono_us());
        if (brings_work(m) && e->is_full)
            reply(e, m, weight, HL_ERR_FULL);
        else
            hl_batch_add(b, m, weight);
    }
}

/* Undecided operations go back to the front, in their order. */
static void hold(struct hl_engine *e)
{
    for (size_t i = e->batch.n_ops; i-- > 0;) {
        struct hl_batch_op *op = &e->batch.ops[i];
        if (!op->is_held)
            continue;
        op->m->msg.next = e->first;
        e->first = &op->m->msg;
        if (!e->last)
            e->last = e->first;
    }
}

static void answer(struct hl_engine *e, const struct hl_batch_op *op)
{
    if (op->m->msg.type == HL_STORE_ACCEPT && op->rc == HL_ERR_EXISTS)
        ((struct hl_accept *)op->m)->run_id = op->existing;
    if (op->m->msg.type == HL_STORE_OUTCOME &&
        ((struct hl_attempt_outcome *)op->m)->verdict == HL_ATTEMPT_ABANDONED)
        hl_credit_withdraw(&e->batch.senders, op->m->reply_to);
    if (op->has_more && op->rc == HL_OK)
        append(e, &op->m->msg);
    else
        reply(e, op->m, op->weight, op->rc);
}

static void show_backlog(struct hl_engine *e)
{
    const struct hl_backlog_totals *now = &e->backlog.now;
    set_gauge(&e->gauges.queued_runs, now->queued_runs);
    set_gauge(&e->gauges.pending_deliveries, now->pending);
    set_gauge(&e->gauges.leased_deliveries, now->leased);
    set_gauge(&e->gauges.dead_letters, now->dead);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void note_commit(struct hl_engine *e, uint64_t began_us)
{
    uint64_t now_us = hl_clock_mono_us();
    hl_counter_add(&e->gauges.commits, 1);
    hl_histogram_add(&e->gauges.commit_latency, now_us - began_us);
    show_backlog(e);
    e->survey_us = sooner(e->survey_us, now_us + SURVEY_US);
    e->settle_us = now_us + QUIET_US;
    if (e->purge_us == NEVER)
        e->purge_us = now_us + (uint64_t)e->keep_ms * 1000;
}

static bool can_serve(const struct hl_engine *e, uint64_t now_us)
{
    return !e->is_failing && !atomic_load(&e->is_stopping) && now_us >= e->serve_us &&
           hl_batch_can_serve(&e->batch);
}

/* Credit that holds slots of the app goes back when there is nothing to use it for; workers without
 * any are told when there is. */
static void settle_credit(struct hl_engine *e)
{
    if (e->is_failing || e->retry_us != NEVER || e->backlog.now.queued_runs == 0)
        hl_credit_return_unused(&e->batch.workers);
    else
        hl_credit_hint(&e->batch.workers);
}

static void run_batch(struct hl_engine *e)
{
    struct hl_batch *b = &e->batch;
    uint64_t began_us = hl_clock_mono_us();
    bool has_committed, serves = can_serve(e, began_us);
    fill_batch(e);
    enum hl_err err = hl_batch_run(b, serves, hl_clock_wall_ms(), &has_committed);

    if (has_committed)
        note_commit(e, began_us);
    if (err == HL_ERR_IO || err == HL_ERR_CORRUPT)
        fail(e, err);
    if (err == HL_ERR_FULL)
        set_full(e, true);
    e->retry_us = err == HL_ERR_FULL ? began_us + RETRY_US : NEVER;
    e->serve_us = err && err != HL_ERR_FULL ? began_us + RETRY_US : 0;

    hl_batch_note(b);
    hold(e);
    for (size_t i = 0; i < b->n_ops; i++)
        if (!b->ops[i].is_held)
            answer(e, &b->ops[i]);
    hl_batch_push(b);
    settle_credit(e);
}

/* --- maintenance ---------------------------------------------------------------------------- */

static void purge(struct hl_engine *e, uint64_t now_us)
{
    int64_t now_ms = hl_clock_wall_ms(), due_ms = INT64_MAX;
    enum hl_err err = begin_step(e);
    if (!err)
        err = commit_step(e, e->driver->vt->purge(e->driver, now_ms, PURGE_STEP, &due_ms));
    if (err && err != HL_ERR_NOT_FOUND) {
        HL_LOG(WARN, "store: runs past retention were not removed, trying again",
            HL_LOG_TEXT("why", hl_err_text(err)));
        due_ms = now_ms + 1000;
    }
    if (due_ms == INT64_MAX)
        e->purge_us = NEVER;
    else
        e->purge_us = due_ms > now_ms ? now_us + (uint64_t)(due_ms - now_ms) * 1000 : now_us;
    e->settle_us = now_us + QUIET_US;
}

static void survey(struct hl_engine *e)
{
    int64_t queued_ms, delivery_ms;
    uint64_t bytes;
    e->driver->vt->survey(e->driver, &queued_ms, &delivery_ms, &bytes);
    set_gauge(&e->gauges.oldest_queued_ms, (uint64_t)queued_ms);
    set_gauge(&e->gauges.oldest_delivery_ms, (uint64_t)delivery_ms);
    set_gauge(&e->gauges.bytes, bytes);
    e->survey_us = NEVER;
}

/* What is due of: unlinking and checkpoints, one purge step, the gauges. */
static void tend(struct hl_engine *e, bool is_idle)
{
    if (e->is_failing)
        return;
    uint64_t now_us = hl_clock_mono_us();
    bool is_quiet = is_idle && now_us >= e->settle_us;
    bool has_more = e->driver->vt->settle(e->driver, is_quiet);
    if (is_quiet)
        e->settle_us = has_more ? now_us + QUIET_US : NEVER;
    if (now_us >= e->purge_us && e->retry_us == NEVER)
        purge(e, now_us);
    if (now_us >= e->survey_us)
        survey(e);
    if (e->is_full && e->retry_us == NEVER)
        look_for_room(e, now_us);
}

static uint64_t next_due(const struct hl_engine *e)
{
    if (e->is_failing)
        return NEVER;
    uint64_t due = sooner(sooner(e->retry_us, e->settle_us), e->survey_us);
    if (e->retry_us == NEVER)
        due = sooner(due, e->purge_us);
    if (e->serve_us > 0)
        due = sooner(due, e->serve_us);
    return e->is_full ? sooner(due, e->room_us) : due;
}

static void sleep_until(struct hl_engine *e, uint64_t due_us)
{
    if (due_us == NEVER) {
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
    if (e->retry_us != NEVER && hl_clock_mono_us() < e->retry_us)
        return false;
    return e->first || can_serve(e, hl_clock_mono_us());
}

/* Only when the volume is full or the store is failing is anything left to refuse. */
static void refuse_rest(struct hl_engine *e)
{
    e->retry_us = NEVER;
    if (e->first && !e->is_failing)
        run_batch(e);
    while (e->first) {
        struct hl_store_msg *m = (struct hl_store_msg *)e->first;
        e->first = e->first->next;
        reply(e, m, hl_message_weight(m), HL_ERR_UNAVAILABLE);
    }
    hl_credit_return_unused(&e->batch.workers);
}

static void run(void *arg)
{
    struct hl_engine *e = arg;
    for (;;) {
        bool is_stopping = atomic_load(&e->is_stopping);
        take_mail(e);
        if (can_run(e)) {
            run_batch(e);
            tend(e, false);
            continue;
        }
        if (is_stopping)
            break;
        settle_credit(e);
        tend(e, true);
        uint64_t due_us = next_due(e);
        if (due_us > hl_clock_mono_us())
            sleep_until(e, due_us);
    }
    refuse_rest(e);
}

int hl_engine_start(struct hl_engine *e, struct hl_driver *driver, int64_t keep_ms)
{
    e->driver = driver;
    e->keep_ms = keep_ms;
    e->retry_us = NEVER;
    e->settle_us = e->room_us = 0;
    e->purge_us = e->survey_us = 0;
    hl_batch_init(&e->batch, driver, &e->backlog);
    hl_mailbox_init(&e->box, wake, e);
    atomic_init(&e->is_stopping, false);
    if (sem_init(&e->wake, 0, 0) < 0)
        return errno;
    show_backlog(e);
    survey(e);
    return hl_thread_start(&e->thread, "hl-store", run, e);
}

void hl_engine_stop(struct hl_engine *e)
{
    atomic_store(&e->is_stopping, true);
    sem_post(&e->wake);
    hl_thread_join(&e->thread);
    hl_batch_fini(&e->batch);
    sem_destroy(&e->wake);
}
