/* sender.c - the delivery thread: when which delivery is sent.
 *
 * Thread: its own; start, stop and free are the control thread's.
 *
 *   LEASED ─▶ backlog ─▶ SIGNING ─▶ SENDING ─┬─▶ RECORDING ─▶ gone        (RESOLVING: courier.c)
 *                           ▲                └─▶ WAITING ─▶ DUE ─▶ (QUEUED ─▶ DUE) ─▶ ASKING
 *                           └───────────────────────────────────────────────────────────┘
 * A first attempt to a destination that fails begins in DUE, too.
 *
 * Promise: at most HOOKLINE_WEBHOOK_CONCURRENCY first attempts at once, and as many others: neither
 * waits for the other's places. One attempt at a time is begun to a destination that fails. What waits
 * for a retry holds neither a body nor a place; an attempt after the first is sent only after the store
 * has it on disk; an outcome that the store cannot keep is offered again until it can; nothing that was
 * leased is forgotten.
 * Not here: fairness between destinations (the store leases round-robin), whose turn it is to be tried
 * again (shares.c), what is known of destinations (watch.c), the states' lists (docket.c), how an attempt
 * is made (courier.c, parcel.c, transfer.c), what it came to (verdict.c, retry.c), the messages to the
 * store (ledger.c). */
#include "webhook/sender.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "config/alert_setting.h"
#include "config/config.h"
#include "loop/thread.h"
#include "store/store.h"
#include "webhook/courier.h"
#include "webhook/direct.h"
#include "webhook/docket.h"
#include "webhook/ledger.h"
#include "webhook/news.h"
#include "webhook/shares.h"
#include "webhook/transfer_result.h"
#include "webhook/verdict.h"
#include "webhook/watch.h"

/* About 1 KiB each; beyond so many nothing new is leased. */
#define WAITING_MAX 65536
/* Between two tries of what the store or the memory refused. */
#define AGAIN_MS 1000
/* After the end of the grace: a store that answers does so sooner, and one that does not would hold the process. */
#define STORE_MS 2000
/* A delivery whose attempt ended sooner gives its place at the destination away. One that was slow
 * keeps it, so that a destination that hangs gets no more deliveries than it has places. */
#define QUICK_US (250 * 1000)
#define IDLE_MS  60000

enum { MSG_STOP = HL_NEWS + 1, MSG_CUT }; /* beside enum hl_store_op and HL_DIRECT */

struct hl_sender {
    const struct hl_config *config;
    struct hl_thread thread;
    struct hl_mailbox box;
    struct hl_docket docket;
    struct hl_courier courier;
    /* Retries of those that gave their places away, and all attempts to destinations that fail. */
    struct hl_shares shares;
    struct hl_ledger ledger;
    struct hl_watch watch;
    struct hl_sender_gauges gauges;
    struct hl_id_source ids; /* of spans */

    struct hl_msg stop, cut;
    bool is_cut; /* posted; the control thread's */
    uint64_t grace_ms;
    void (*on_end)(void *arg);
    void *on_end_arg;
    bool is_stopping;
    uint64_t stop_at_ms; /* monotonic */
};

static void wake(void *arg);
static void run(void *arg);
static void on_attempt_end(
    void *self, struct hl_parcel *p, const struct hl_transfer_result *result);

enum hl_err hl_sender_start(
    struct hl_sender **out, const struct hl_sender_parts *parts, char *why, size_t why_len)
{
    const struct hl_config *config = parts->config;
    struct hl_store *store = parts->store;
    *out = NULL;
    struct hl_sender *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(why, why_len, "the webhook sender cannot start: out of memory");
        return HL_ERR_NOMEM;
    }
    s->config = config;
    s->stop.type = MSG_STOP;
    s->cut.type = MSG_CUT;
    hl_mailbox_init(&s->box, wake, s);
    hl_ledger_init(&s->ledger, store, &s->box);
    hl_docket_init(&s->docket, &s->gauges);
    hl_watch_init(&s->watch, store, &s->box);
    hl_shares_init(&s->shares, config->webhook_per_host, &s->watch.healths);
    s->watch.news = parts->news;
    s->watch.shares = &s->shares;
    s->watch.failing = &s->gauges.failing;
    s->shares.places = config->webhook_concurrency;
    s->shares.docket = &s->docket;
    s->shares.courier = &s->courier;
    enum hl_err err =
        hl_courier_init(&s->courier, config, &s->docket, hl_store_data_dir(store), why, why_len);
    hl_id_source_init(&s->ids);
    s->courier.parcels.tracing = (struct hl_attempt_tracing){parts->tracer, &s->ids};
    s->courier.on_end = on_attempt_end;
    s->courier.self = s;
    if (err == HL_OK && hl_thread_start(&s->thread, "hl-deliver", run, s) != 0) {
        snprintf(why, why_len, "the webhook sender cannot start: no thread can be made");
        err = HL_ERR_UNAVAILABLE;
    }
    if (err != HL_OK) {
        hl_sender_free(s);
        return err;
    }
    *out = s;
    return HL_OK;
}

static void wake(void *arg)
{
    struct hl_sender *s = arg;
    curl_multi_wakeup(s->courier.multi);
}

const struct hl_sender_gauges *hl_sender_get_gauges(const struct hl_sender *sender)
{
    return &sender->gauges;
}

void hl_sender_send(struct hl_sender *sender, struct hl_direct *direct)
{
    direct->msg = (struct hl_msg){.type = HL_DIRECT};
    hl_mailbox_post(&sender->box, &direct->msg);
}

/* --- the thread's turns ---------------------------------------------------------------------- */

static void take_messages(struct hl_sender *s);
static void wake_due(struct hl_sender *s);
static void start_ready(struct hl_sender *s);
static void give_credit(struct hl_sender *s);
static void wind_down(struct hl_sender *s);
static bool is_over(const struct hl_sender *s);
static uint64_t wait_ms(const struct hl_sender *s);
static void cut_all(struct hl_sender *s);

static void run(void *arg)
{
    struct hl_sender *s = arg;
    for (;;) {
        hl_courier_turn(&s->courier);
        take_messages(s);
        wake_due(s);
        if (s->is_stopping)
            wind_down(s);
        if (is_over(s))
            break;
        start_ready(s);
        give_credit(s);
        hl_courier_wait(&s->courier, wait_ms(s));
    }
    cut_all(s);
    if (s->on_end)
        s->on_end(s->on_end_arg);
}

static bool has_free_place(const struct hl_sender *s)
{
    return s->docket.placed < s->config->webhook_concurrency;
}

static uint64_t wait_ms(const struct hl_sender *s)
{
    if (s->docket.counts[HL_PARCEL_SIGNING] > 0)
        return 0;
    uint64_t now = hl_clock_mono_ms();
    uint64_t wait = hl_due_ring_wait_ms(&s->docket.due, now);
    if (s->docket.backlog && has_free_place(s) && wait > AGAIN_MS)
        wait = AGAIN_MS; /* there was no memory to begin it */
    if (!s->is_stopping)
        return wait < IDLE_MS ? wait : IDLE_MS;
    uint64_t end_ms = s->stop_at_ms > now ? s->stop_at_ms : s->stop_at_ms + STORE_MS;
    if (end_ms > now && wait > end_ms - now)
        wait = end_ms - now;
    return wait < IDLE_MS ? wait : IDLE_MS;
}

/* Its attempt is on disk, and is not begun before it has its turn. */
static void line_up(struct hl_sender *s, struct hl_parcel *p)
{
    p->is_unsent = true;
    hl_docket_move(&s->docket, p, HL_PARCEL_DUE);
    hl_parcel_strip(p);
}

static void begin_leased(struct hl_sender *s)
{
    while (has_free_place(s)) {
        struct hl_parcel *p = hl_docket_adopt(&s->docket);
        if (!p)
            return;
        if (hl_shares_is_failing(&s->shares, p))
            line_up(s, p);
        else
            hl_courier_begin(&s->courier, p, p->n);
    }
}

/* One that goes leaves the list; others may come to its end. */
static void begin_due(struct hl_sender *s)
{
    struct hl_list *due = &s->docket.lists[HL_PARCEL_DUE], *before = due;
    while (before->next != due && s->docket.placed_retries < s->config->webhook_concurrency) {
        struct hl_list *node = before->next;
        struct hl_parcel *p = HL_CONTAINER_OF(node, struct hl_parcel, node);
        if (p->away > 0) {
            before = node;
        } else if (p->direct) {
            hl_direct_begin(p, &s->docket, &s->courier);
        } else if (hl_shares_take_turn(&s->shares, p)) {
            p->is_retry = true;
            hl_docket_move(&s->docket, p, HL_PARCEL_ASKING);
            hl_ledger_ask(&s->ledger, p);
        }
    }
}

static void start_ready(struct hl_sender *s)
{
    begin_leased(s);
    hl_shares_call_in(&s->shares);
    begin_due(s);
}

/* As many leases as there are places that nobody has or was promised. */
static void give_credit(struct hl_sender *s)
{
    const struct hl_docket *k = &s->docket;
    uint32_t spoken_for = k->placed + k->backlog_count + s->ledger.credit;
    if (s->is_stopping || hl_docket_waiting(k) >= WAITING_MAX ||
        spoken_for >= s->config->webhook_concurrency)
        return;
    hl_ledger_give_credit(&s->ledger, s->config->webhook_concurrency - spoken_for);
}

/* --- an attempt ends ------------------------------------------------------------------------- */

static void on_attempt_end(void *self, struct hl_parcel *p, const struct hl_transfer_result *result)
{
    struct hl_sender *s = self;
    struct hl_attempt_outcome *o = &p->outcome;
    HL_CRASH_POINT(WEBHOOK_ANSWERED);
    if (p->direct) {
        hl_attempt_span_end(p, result, result->http_status / 100 == 2);
        hl_direct_end(p, &s->docket, &s->courier, result);
        return;
    }
    enum hl_attempt_verdict verdict = hl_verdict_of(&s->config->retried, p, result);
    hl_verdict_note(verdict, p, result, &s->gauges);
    if (verdict == HL_ATTEMPT_DEAD && !hl_is_alert_app(p->leased->app))
        hl_news_tell(s->watch.news, HL_NEWS_DEAD, 0, p, result);
    hl_attempt_span_end(p, result, verdict == HL_ATTEMPT_OK);
    hl_watch_judge(&s->watch, p, result);
    hl_attempt_outcome_fini(o);
    o->report = result->report;
    o->next_ms = 0;
    o->puts_off = false;
    uint64_t delay_ms =
        verdict == HL_ATTEMPT_RETRY ? hl_verdict_plan_next(&s->config->schedule, p, result) : 0;
    /* Where retries stand in line already, it keeps its place: new ones wait then, not retries. */
    o->parks = !o->puts_off && hl_clock_mono_us() - p->started_us < QUICK_US &&
               !hl_shares_has_line(&s->shares, p->lane);
    if (verdict == HL_ATTEMPT_RETRY && !o->puts_off)
        hl_docket_move_for(&s->docket, p, HL_PARCEL_WAITING, delay_ms);
    else
        hl_docket_move(&s->docket, p, HL_PARCEL_RECORDING);
    hl_parcel_strip(p);
    hl_shares_give_up(&s->shares, p);
    hl_ledger_record(&s->ledger, p, verdict, result->http_status, result->error);
}

static void go_on(struct hl_sender *s, struct hl_parcel *p)
{
    bool is_unrecorded = p->state == HL_PARCEL_UNRECORDED;
    hl_docket_move(&s->docket, p, is_unrecorded ? HL_PARCEL_RECORDING : HL_PARCEL_DUE);
    if (is_unrecorded)
        hl_ledger_record_again(&s->ledger, p);
}

static void wake_due(struct hl_sender *s)
{
    uint64_t now = hl_clock_mono_ms();
    for (struct hl_parcel *p; (p = hl_docket_take_due(&s->docket, now, false));)
        go_on(s, p);
}

/* --- what the store says --------------------------------------------------------------------- */

static void take_direct(struct hl_sender *s, struct hl_direct *direct);
static void on_asked(struct hl_sender *s, struct hl_parcel *p);
static void on_recorded(struct hl_sender *s, struct hl_parcel *p);
static void on_stop(struct hl_sender *s);

static void take_messages(struct hl_sender *s)
{
    for (struct hl_msg *msg = hl_mailbox_take(&s->box), *next; msg; msg = next) {
        next = msg->next;
        switch (msg->type) {
        case HL_STORE_LEASED:
            HL_CRASH_POINT(LEASE_COMMITTED);
            hl_watch_learn(&s->watch, HL_CONTAINER_OF(msg, struct hl_leased, msg));
            hl_docket_add(&s->docket, msg);
            hl_ledger_use_credit(&s->ledger);
            break;
        case HL_STORE_ATTEMPT:
            on_asked(s, HL_CONTAINER_OF(msg, struct hl_parcel, ask.m.msg));
            break;
        case HL_STORE_OUTCOME:
            on_recorded(s, HL_CONTAINER_OF(msg, struct hl_parcel, outcome.m.msg));
            break;
        case HL_STORE_LIST_DELIVERIES:
            hl_watch_recall(&s->watch, msg);
            break;
        case HL_DIRECT:
            take_direct(s, HL_CONTAINER_OF(msg, struct hl_direct, msg));
            break;
        case MSG_STOP:
            on_stop(s);
            break;
        case MSG_CUT:
            s->stop_at_ms = 0;
            break;
        default:
            HL_ASSERT(!"a message that the sender does not know");
        }
    }
}

static void abandon(struct hl_sender *s, struct hl_parcel *p);

static void take_direct(struct hl_sender *s, struct hl_direct *direct)
{
    if (s->is_stopping)
        hl_direct_give_up(direct);
    else
        hl_direct_take(direct, &s->docket, &s->courier);
}

static void on_asked(struct hl_sender *s, struct hl_parcel *p)
{
    p->away--;
    enum hl_err rc = p->ask.m.rc;
    HL_CRASH_POINT(ATTEMPT_COMMITTED);
    if (rc == HL_OK) {
        hl_parcel_renew(p, p->ask.leased);
        p->is_unsent = false;
    } else {
        hl_shares_give_up(&s->shares, p);
        hl_courier_cut(&s->courier, p);
    }
    if (rc != HL_OK && !hl_ledger_is_passing(rc)) {
        hl_docket_drop(&s->docket, p); /* the lease is gone */
    } else if (s->is_stopping) {
        p->n = rc == HL_OK ? p->ask.n : p->n;
        abandon(s, p);
    } else if (rc != HL_OK) {
        hl_docket_move_for(&s->docket, p, HL_PARCEL_WAITING, AGAIN_MS);
    } else if (hl_shares_needs_turn(
                   &s->shares, p)) { /* its destination has begun to fail meanwhile */
        p->n = p->ask.n;
        line_up(s, p);
    } else {
        hl_docket_move(&s->docket, p, HL_PARCEL_SIGNING);
        hl_courier_begin(&s->courier, p, p->ask.n);
    }
}

/* A RETRY whose lease stays loses nothing if it could not be recorded: the next ATTEMPT says as much. Any other is
 * kept until it is recorded, if that may still be. */
static void on_recorded(struct hl_sender *s, struct hl_parcel *p)
{
    p->away--;
    HL_CRASH_POINT(OUTCOME_COMMITTED);
    hl_watch_confirm(&s->watch, p);
    if (p->state == HL_PARCEL_RECORDING && hl_ledger_is_passing(p->outcome.m.rc) &&
        !s->is_stopping) {
        hl_docket_move_for(&s->docket, p, HL_PARCEL_UNRECORDED, AGAIN_MS);
        return;
    }
    hl_attempt_outcome_fini(&p->outcome);
    if (p->state == HL_PARCEL_RECORDING)
        hl_docket_drop(&s->docket, p);
}

/* --- the end --------------------------------------------------------------------------------- */

void hl_sender_stop(
    struct hl_sender *sender, uint64_t grace_ms, void (*on_end)(void *arg), void *arg)
{
    sender->grace_ms = grace_ms;
    sender->on_end = on_end;
    sender->on_end_arg = arg;
    hl_mailbox_post(&sender->box, &sender->stop);
}

void hl_sender_cut(struct hl_sender *sender)
{
    if (!sender->is_cut)
        hl_mailbox_post(&sender->box, &sender->cut);
    sender->is_cut = true;
}

void hl_sender_join(struct hl_sender *sender)
{
    hl_thread_join(&sender->thread);
}

static void on_stop(struct hl_sender *s)
{
    s->is_stopping = true;
    s->stop_at_ms = hl_clock_mono_ms() + s->grace_ms;
    hl_ledger_end_credit(&s->ledger);
}

static void abandon_all(struct hl_sender *s, enum hl_parcel_state state);

/* Each turn from the stop on: what is not under way is given back at once, what is under way when
 * the grace is over. */
static void wind_down(struct hl_sender *s)
{
    for (struct hl_parcel *p; (p = hl_docket_take_due(&s->docket, 0, true));)
        go_on(s, p);
    abandon_all(s, HL_PARCEL_UNRESOLVED);
    abandon_all(s, HL_PARCEL_DUE);
    abandon_all(s, HL_PARCEL_QUEUED);
    abandon_all(s, HL_PARCEL_RESOLVING); /* nothing is sent yet */
    for (struct hl_parcel *p; (p = hl_docket_adopt(&s->docket));)
        abandon(s, p);
    if (hl_clock_mono_ms() < s->stop_at_ms)
        return;
    abandon_all(s, HL_PARCEL_SIGNING);
    abandon_all(s, HL_PARCEL_SENDING);
}

static void abandon_all(struct hl_sender *s, enum hl_parcel_state state)
{
    HL_LIST_EACH_SAFE (node, &s->docket.lists[state]) {
        struct hl_parcel *p = HL_CONTAINER_OF(node, struct hl_parcel, node);
        if (p->away == 0)
            abandon(s, p);
    }
}

static void abandon(struct hl_sender *s, struct hl_parcel *p)
{
    if (p->direct) {
        hl_direct_end(p, &s->docket, &s->courier, NULL);
        return;
    }
    bool is_under_way = p->state == HL_PARCEL_SENDING;
    hl_courier_cut(&s->courier, p);
    if (!is_under_way)
        p->started_ms = 0; /* nothing of this attempt was sent */
    hl_list_remove(&p->line);
    hl_docket_move(&s->docket, p, HL_PARCEL_RECORDING);
    hl_parcel_strip(p);
    hl_attempt_outcome_fini(&p->outcome);
    p->outcome.puts_off = p->outcome.parks = false;
    const char *error = is_under_way ? "interrupted" : "";
    hl_ledger_record(&s->ledger, p, HL_ATTEMPT_ABANDONED, 0, error);
}

/* All that is left is with the store. Its replies need no thread: hl_sender_free finds them. One to which it has not
 * answered for long may still commit what it was asked: an attempt counts then, with an outcome that is not known. */
static bool is_over(const struct hl_sender *s)
{
    if (!s->is_stopping)
        return false;
    uint32_t left = s->docket.backlog_count;
    for (size_t state = 0; state < HL_PARCEL_STATE_COUNT; state++)
        left += state == HL_PARCEL_RECORDING ? 0 : s->docket.counts[state];
    return left == 0 || hl_clock_mono_ms() >= s->stop_at_ms + STORE_MS;
}

/* What waits for the store may have a connection, or libcurl's. */
static void cut_all(struct hl_sender *s)
{
    for (size_t state = 0; state < HL_PARCEL_STATE_COUNT; state++)
        HL_LIST_EACH_SAFE (node, &s->docket.lists[state])
            hl_courier_cut(&s->courier, HL_CONTAINER_OF(node, struct hl_parcel, node));
}

void hl_sender_free(struct hl_sender *sender)
{
    if (!sender)
        return;
    for (struct hl_msg *msg = hl_mailbox_take(&sender->box), *next; msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_STORE_LEASED)
            hl_leased_free(HL_CONTAINER_OF(msg, struct hl_leased, msg));
        else if (msg->type == HL_STORE_ATTEMPT)
            hl_leased_free(HL_CONTAINER_OF(msg, struct hl_attempt, m.msg)->leased);
        else if (msg->type == HL_STORE_LIST_DELIVERIES)
            hl_recall_free(msg);
        else if (msg->type == HL_DIRECT)
            hl_direct_give_up(HL_CONTAINER_OF(msg, struct hl_direct, msg));
    }
    hl_docket_fini(&sender->docket);
    hl_shares_fini(&sender->shares);
    hl_watch_fini(&sender->watch);
    hl_courier_fini(&sender->courier);
    free(sender);
}
