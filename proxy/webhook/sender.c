/* sender.c - the delivery thread: when which delivery is sent, and what is said of it to the store.
 *
 * Owns: the curl multi handle, every leased delivery, the places (HOOKLINE_WEBHOOK_CONCURRENCY).
 * Thread: its own; start, stop and free are the control thread's.
 *
 *   LEASED ─▶ backlog ─▶ SIGNING ─▶ SENDING ─┬─▶ RECORDING ─▶ gone
 *                           ▲                └─▶ WAITING ─▶ DUE ─▶ ASKING
 *                           └───────────────────────────────────────┘
 *
 * Promise: at most `concurrency` attempts at once; who waits for a retry takes no place, and is
 * sent before anything new when its time has come; an attempt after the first is sent only after
 * the store has it on disk; an outcome that the store cannot keep is offered again until it can;
 * nothing that was leased is forgotten. Not here: fairness between destinations (the store leases
 * round-robin), the retry table (retry.c), what is sent (delivery.c) and how (transfer.c). */
#include "webhook/sender.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "http/url.h"
#include "loop/thread.h"
#include "webhook/delivery.h"
#include "webhook/due.h"
#include "webhook/retry.h"
#include "webhook/trust.h"

/* What deliveries that wait for a retry may keep in memory; beyond it nothing new is leased. */
#define WAITING_BYTES_MAX (64 * 1024 * 1024)
/* Between two tries of what the store or the memory refused. */
#define AGAIN_MS 1000
#define IDLE_MS  60000

enum { MSG_STOP = 1024 }; /* beside enum hl_store_op */

struct hl_sender {
    const struct hl_config *config;
    struct hl_store *store;
    struct hl_thread thread;
    struct hl_mailbox box;
    CURLM *multi;
    struct hl_trust trust;
    struct hl_transfer_settings settings;
    struct hl_webhook_names names;
    struct hl_sender_gauges gauges;

    struct hl_list lists[HL_DELIVERY_STATE_COUNT]; /* by state, but for WAITING and UNRECORDED: */
    struct hl_due due;
    uint32_t counts[HL_DELIVERY_STATE_COUNT];
    struct hl_msg *backlog, **backlog_end; /* LEASED, no place yet: first in, first out */
    uint32_t backlog_count;
    uint32_t credit;        /* leases that the store may still push */
    uint64_t waiting_bytes; /* of WAITING and DUE */
    struct hl_list idle;    /* transfers */

    struct hl_msg stop;
    uint64_t grace_ms;
    bool is_stopping;
    uint64_t stop_at_ms; /* monotonic */
};

static void wake(void *arg)
{
    struct hl_sender *s = arg;
    curl_multi_wakeup(s->multi);
}

static void run(void *arg);
static enum hl_err set_up(struct hl_sender *s, char *why, size_t why_len);

enum hl_err hl_sender_start(struct hl_sender **out, const struct hl_config *config,
    struct hl_store *store, char *why, size_t why_len)
{
    *out = NULL;
    snprintf(why, why_len, "the webhook sender cannot start: out of memory");
    struct hl_sender *s = calloc(1, sizeof *s);
    if (!s)
        return HL_ERR_NOMEM;
    s->config = config;
    s->store = store;
    s->trust.fd = -1;
    for (size_t i = 0; i < HL_ARRAY_LEN(s->lists); i++)
        hl_list_init(&s->lists[i]);
    hl_list_init(&s->idle);
    hl_due_init(&s->due, hl_clock_mono_ms());
    s->backlog_end = &s->backlog;
    s->stop.type = MSG_STOP;
    hl_mailbox_init(&s->box, wake, s);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    enum hl_err err = set_up(s, why, why_len);
    if (err == HL_OK && hl_thread_start(&s->thread, "hl-deliver", run, s) != 0) {
        snprintf(why, why_len, "the webhook sender cannot start: no thread");
        err = HL_ERR_UNAVAILABLE;
    }
    if (err != HL_OK) {
        hl_sender_free(s);
        return err;
    }
    *out = s;
    return HL_OK;
}

static enum hl_err set_up(struct hl_sender *s, char *why, size_t why_len)
{
    const struct hl_config *config = s->config;
    if (config->webhook_secret.n > 0 && !hl_signature_secret_is_valid(config->webhook_secret)) {
        snprintf(why, why_len,
            "HOOKLINE_WEBHOOK_SECRET: allowed are 1 to %d bytes, after whsec_ only base64",
            HL_SIGNATURE_SECRET_MAX);
        return HL_ERR_INVALID;
    }
    if (hl_webhook_names_init(&s->names, config->service_name) != HL_OK) {
        snprintf(why, why_len,
            "HOOKLINE_SERVICE_NAME: allowed are 1 to %d characters of a field name",
            HL_SERVICE_NAME_MAX);
        return HL_ERR_INVALID;
    }
    enum hl_err err = hl_trust_init(&s->trust, config->webhook_ca_file, why, why_len);
    if (err != HL_OK)
        return err;
    s->settings = (struct hl_transfer_settings){
        .ca_file = s->trust.file,
        .timeout_ms = config->webhook_timeout_ms,
        .https_only = config->webhook_https_only,
        .allow = &config->webhook_allow,
    };
    s->multi = curl_multi_init();
    if (!s->multi)
        return HL_ERR_NOMEM;
    /* Kept connections: a few idle ones more than can be busy. */
    curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)config->webhook_concurrency * 2);
    curl_multi_setopt(s->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return HL_OK;
}

const struct hl_sender_gauges *hl_sender_gauges(const struct hl_sender *sender)
{
    return &sender->gauges;
}

/* --- the thread's turns
 * ------------------------------------------------------------------------------ */

static void take_finished(struct hl_sender *s);
static void take_messages(struct hl_sender *s);
static void wake_due(struct hl_sender *s);
static void start_ready(struct hl_sender *s);
static void sign_some(struct hl_sender *s);
static void give_credit(struct hl_sender *s);
static void wind_down(struct hl_sender *s);
static bool is_over(const struct hl_sender *s);
static int wait_ms(const struct hl_sender *s);

static void run(void *arg)
{
    struct hl_sender *s = arg;
    int running;
    for (;;) {
        curl_multi_perform(s->multi, &running);
        take_finished(s);
        take_messages(s);
        wake_due(s);
        if (s->is_stopping)
            wind_down(s);
        if (is_over(s))
            return;
        start_ready(s);
        sign_some(s);
        give_credit(s);
        curl_multi_poll(s->multi, NULL, 0, wait_ms(s), NULL);
    }
}

static uint32_t places_taken(const struct hl_sender *s)
{
    return s->counts[HL_DELIVERY_SIGNING] + s->counts[HL_DELIVERY_SENDING] +
           s->counts[HL_DELIVERY_ASKING];
}

static bool has_free_place(const struct hl_sender *s)
{
    return places_taken(s) < s->config->webhook_concurrency;
}

static int wait_ms(const struct hl_sender *s)
{
    if (s->counts[HL_DELIVERY_SIGNING] > 0)
        return 0;
    uint64_t now = hl_clock_mono_ms();
    uint64_t wait = hl_due_wait_ms(&s->due, now);
    if (s->backlog && has_free_place(s) && wait > AGAIN_MS)
        wait = AGAIN_MS; /* there was no memory to begin it */
    if (s->is_stopping && s->stop_at_ms > now && wait > s->stop_at_ms - now)
        wait = s->stop_at_ms - now;
    return wait < IDLE_MS ? (int)wait : IDLE_MS;
}

/* --- states
 * ------------------------------------------------------------------------------------------ */

/* legal[from]: the states it may go to. */
#define TO(name) (1U << HL_DELIVERY_##name)
static const unsigned legal[HL_DELIVERY_STATE_COUNT] = {
    [HL_DELIVERY_SIGNING] = TO(SENDING) | TO(WAITING) | TO(RECORDING),
    [HL_DELIVERY_SENDING] = TO(WAITING) | TO(RECORDING),
    [HL_DELIVERY_WAITING] = TO(DUE),
    [HL_DELIVERY_DUE] = TO(ASKING) | TO(RECORDING),
    [HL_DELIVERY_ASKING] = TO(SIGNING) | TO(WAITING) | TO(RECORDING),
    [HL_DELIVERY_RECORDING] = TO(UNRECORDED),
    [HL_DELIVERY_UNRECORDED] = TO(RECORDING),
};
#undef TO

static void leave(struct hl_sender *s, struct hl_delivery *d)
{
    hl_list_remove(&d->node);
    s->counts[d->state]--;
    if (hl_delivery_is_placed(d))
        hl_counter_sub(&s->gauges.in_flight, 1);
    if (d->state == HL_DELIVERY_WAITING || d->state == HL_DELIVERY_DUE) {
        hl_counter_sub(&s->gauges.waiting_retry, 1);
        s->waiting_bytes -= hl_delivery_weight(d);
    }
}

static void enter(struct hl_sender *s, struct hl_delivery *d, enum hl_delivery_state to)
{
    d->state = to;
    s->counts[to]++;
    if (to != HL_DELIVERY_WAITING && to != HL_DELIVERY_UNRECORDED)
        hl_list_push_back(&s->lists[to], &d->node);
    if (hl_delivery_is_placed(d))
        hl_counter_add(&s->gauges.in_flight, 1);
    if (to == HL_DELIVERY_WAITING || to == HL_DELIVERY_DUE) {
        hl_counter_add(&s->gauges.waiting_retry, 1);
        s->waiting_bytes += hl_delivery_weight(d);
    }
}

static void move(struct hl_sender *s, struct hl_delivery *d, enum hl_delivery_state to)
{
    HL_ASSERT(legal[d->state] & 1U << to);
    HL_LOG(DEBUG, "delivery changes state", HL_LOG_ID("delivery_id", &d->outcome.delivery_id),
        HL_LOG_TEXT("from", hl_delivery_state_text(d->state)),
        HL_LOG_TEXT("to", hl_delivery_state_text(to)));
    leave(s, d);
    enter(s, d, to);
}

/* To WAITING or UNRECORDED. */
static void move_for(
    struct hl_sender *s, struct hl_delivery *d, enum hl_delivery_state to, uint64_t ms)
{
    move(s, d, to);
    hl_due_add(&s->due, &d->node, hl_clock_mono_ms(), ms);
}

static void forget(struct hl_sender *s, struct hl_delivery *d)
{
    leave(s, d);
    hl_delivery_free(d);
}

/* --- beginning an attempt
 * ---------------------------------------------------------------------------- */

static void begin(struct hl_sender *s, struct hl_delivery *d, uint32_t n);
static void ask(struct hl_sender *s, struct hl_delivery *d);
static struct hl_delivery *adopt_next(struct hl_sender *s);

/* Retries first, then what was leased. */
static void start_ready(struct hl_sender *s)
{
    HL_LIST_EACH_SAFE (node, &s->lists[HL_DELIVERY_DUE]) {
        struct hl_delivery *d = HL_CONTAINER_OF(node, struct hl_delivery, node);
        if (!has_free_place(s))
            return;
        if (d->away == 0)
            ask(s, d);
    }
    while (s->backlog && has_free_place(s)) {
        struct hl_delivery *d = adopt_next(s);
        if (!d)
            return;
        begin(s, d, d->n);
    }
}

/* The oldest lease becomes a delivery in SIGNING. NULL, and it stays, when there is no memory. */
static struct hl_delivery *adopt_next(struct hl_sender *s)
{
    struct hl_msg *msg = s->backlog, *rest = msg->next;
    struct hl_delivery *d = hl_delivery_new(HL_CONTAINER_OF(msg, struct hl_leased, msg));
    if (!d)
        return NULL;
    s->backlog = rest;
    if (!rest)
        s->backlog_end = &s->backlog;
    s->backlog_count--;
    enter(s, d, HL_DELIVERY_SIGNING);
    return d;
}

static void post(struct hl_sender *s, struct hl_delivery *d, struct hl_store_msg *m, uint32_t type)
{
    *m = (struct hl_store_msg){.msg = {.type = type}, .reply_to = &s->box};
    d->away++;
    enum hl_err err = hl_store_post(s->store, m);
    HL_ASSERT(err == HL_OK); /* only ACCEPT and RECORD may be refused */
}

static void ask(struct hl_sender *s, struct hl_delivery *d)
{
    d->ask.n = d->n + 1;
    move(s, d, HL_DELIVERY_ASKING);
    post(s, d, &d->ask.m, HL_STORE_ATTEMPT);
}

static void sign(struct hl_sender *s, struct hl_delivery *d);
static void end_broken(struct hl_sender *s, struct hl_delivery *d, enum hl_err err);

static void begin(struct hl_sender *s, struct hl_delivery *d, uint32_t n)
{
    enum hl_err err = hl_delivery_begin(d, n, hl_store_data_dir(s->store));
    if (err == HL_OK)
        sign(s, d);
    else
        end_broken(s, d, err);
}

/* One slice of the delivery whose turn it is; small ones never get here unfinished. */
static void sign_some(struct hl_sender *s)
{
    struct hl_list *list = &s->lists[HL_DELIVERY_SIGNING];
    struct hl_list *node = hl_list_pop_front(list);
    if (!node)
        return;
    hl_list_push_back(list, node);
    sign(s, HL_CONTAINER_OF(node, struct hl_delivery, node));
}

static enum hl_err hand_over(struct hl_sender *s, struct hl_delivery *d);

static void sign(struct hl_sender *s, struct hl_delivery *d)
{
    bool is_done;
    enum hl_err err = hl_delivery_sign(d, &s->names, &is_done);
    if (err == HL_OK && is_done)
        err = hand_over(s, d);
    if (err != HL_OK)
        end_broken(s, d, err);
}

static void take_transfer_back(struct hl_sender *s, struct hl_delivery *d);

static enum hl_err hand_over(struct hl_sender *s, struct hl_delivery *d)
{
    struct hl_list *node = hl_list_pop_front(&s->idle);
    d->transfer =
        node ? HL_CONTAINER_OF(node, struct hl_transfer, node) : hl_transfer_new(&s->settings);
    if (!d->transfer)
        return HL_ERR_NOMEM;
    d->transfer->owner = d;
    enum hl_err err = hl_delivery_prepare(d);
    if (err == HL_OK && curl_multi_add_handle(s->multi, d->transfer->easy) != CURLM_OK)
        err = HL_ERR_NOMEM;
    if (err != HL_OK) {
        take_transfer_back(s, d);
        return err;
    }
    move(s, d, HL_DELIVERY_SENDING);
    return HL_OK;
}

static void take_transfer_back(struct hl_sender *s, struct hl_delivery *d)
{
    if (d->state == HL_DELIVERY_SENDING)
        curl_multi_remove_handle(s->multi, d->transfer->easy);
    hl_list_push_front(&s->idle, &d->transfer->node);
    d->transfer = NULL;
}

/* --- the end of an attempt
 * --------------------------------------------------------------------------- */

static void end_attempt(
    struct hl_sender *s, struct hl_delivery *d, const struct hl_transfer_result *result);

static void take_finished(struct hl_sender *s)
{
    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(s->multi, &left))) {
        CURLcode code = msg->data.result;
        struct hl_transfer *t = NULL;
        struct hl_transfer_result result;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        hl_transfer_read_result(t, code, &result);
        struct hl_delivery *d = t->owner;
        take_transfer_back(s, d);
        end_attempt(s, d, &result);
    }
}

/* The attempt cannot be sent at all. */
static void end_broken(struct hl_sender *s, struct hl_delivery *d, enum hl_err err)
{
    struct hl_transfer_result result = {.is_permanent = err != HL_ERR_NOMEM};
    if (err == HL_ERR_NOMEM)
        snprintf(result.error, sizeof result.error, "out_of_memory");
    else
        snprintf(result.error, sizeof result.error, "body_unreadable: the kept response: %s",
            hl_err_text(err));
    end_attempt(s, d, &result);
}

static void post_outcome(struct hl_sender *s, struct hl_delivery *d,
    enum hl_attempt_verdict verdict, uint16_t http_status, const char *error);
static void log_dead(const struct hl_delivery *d, const struct hl_transfer_result *result);

static void end_attempt(
    struct hl_sender *s, struct hl_delivery *d, const struct hl_transfer_result *result)
{
    uint32_t max = d->leased->max_attempts;
    enum hl_attempt_verdict verdict =
        result->is_permanent ? HL_ATTEMPT_DEAD : hl_retry_verdict(result->http_status, d->n, max);
    hl_histogram_add(&s->gauges.latency, hl_clock_mono_us() - d->started_us);
    hl_delivery_rest(d);
    if (verdict == HL_ATTEMPT_RETRY) {
        uint32_t random;
        hl_random_fill(&random, sizeof random);
        hl_counter_add(&s->gauges.attempts_retry, 1);
        post_outcome(s, d, verdict, result->http_status, result->error);
        move_for(s, d, HL_DELIVERY_WAITING, hl_retry_delay_ms(d->n, random));
        return;
    }
    if (verdict == HL_ATTEMPT_DEAD)
        log_dead(d, result);
    hl_counter_add(verdict == HL_ATTEMPT_OK ? &s->gauges.attempts_ok : &s->gauges.attempts_dead, 1);
    move(s, d, HL_DELIVERY_RECORDING);
    post_outcome(s, d, verdict, result->http_status, result->error);
    hl_delivery_strip(d);
}

static void post_outcome(struct hl_sender *s, struct hl_delivery *d,
    enum hl_attempt_verdict verdict, uint16_t http_status, const char *error)
{
    struct hl_attempt_outcome *o = &d->outcome;
    o->n = d->n;
    o->verdict = verdict;
    o->http_status = http_status;
    o->started_ms = d->started_ms;
    o->ended_ms = hl_clock_wall_ms();
    snprintf(o->error, sizeof o->error, "%s", error);
    post(s, d, &o->m, HL_STORE_OUTCOME);
}

static void log_dead(const struct hl_delivery *d, const struct hl_transfer_result *result)
{
    char to[300] = "", reason[HL_ATTEMPT_ERROR_MAX + 1];
    struct hl_url url;
    if (hl_url_parse(d->leased->url, &url))
        snprintf(to, sizeof to, "%s://%.*s", url.is_https ? "https" : "http", HL_STR_ARG(url.host));
    if (result->error[0])
        snprintf(reason, sizeof reason, "%s", result->error);
    else
        snprintf(reason, sizeof reason, "status %u", result->http_status);
    HL_LOG(ERROR, "webhook delivery failed for good", HL_LOG_ID("run_id", &d->leased->run_id),
        HL_LOG_ID("delivery_id", &d->leased->delivery_id), HL_LOG_TEXT("to", to),
        HL_LOG_INT("attempts", d->n), HL_LOG_TEXT("reason", reason));
}

/* --- messages
 * ---------------------------------------------------------------------------------------- */

static void on_leased(struct hl_sender *s, struct hl_msg *msg);
static void on_asked(struct hl_sender *s, struct hl_delivery *d);
static void on_recorded(struct hl_sender *s, struct hl_delivery *d);

static void take_messages(struct hl_sender *s)
{
    for (struct hl_msg *msg = hl_mailbox_take(&s->box), *next; msg; msg = next) {
        next = msg->next;
        switch (msg->type) {
        case HL_STORE_LEASED:
            on_leased(s, msg);
            break;
        case HL_STORE_ATTEMPT:
            on_asked(s, HL_CONTAINER_OF(msg, struct hl_delivery, ask.m.msg));
            break;
        case HL_STORE_OUTCOME:
            on_recorded(s, HL_CONTAINER_OF(msg, struct hl_delivery, outcome.m.msg));
            break;
        case MSG_STOP:
            s->is_stopping = true;
            s->stop_at_ms = hl_clock_mono_ms() + s->grace_ms;
            break;
        default:
            HL_ASSERT(!"a message that the sender does not know");
        }
    }
}

static void on_leased(struct hl_sender *s, struct hl_msg *msg)
{
    msg->next = NULL;
    *s->backlog_end = msg;
    s->backlog_end = &msg->next;
    s->backlog_count++;
    s->credit--;
}

/* Nothing came of the question, but it may later: a full disk, a failing one. */
static bool is_passing(enum hl_err err)
{
    return err != HL_OK && err != HL_ERR_STALE && err != HL_ERR_NOT_FOUND &&
           err != HL_ERR_UNAVAILABLE;
}

static void abandon(struct hl_sender *s, struct hl_delivery *d);

static void on_asked(struct hl_sender *s, struct hl_delivery *d)
{
    d->away--;
    if (d->ask.m.rc != HL_OK && !is_passing(d->ask.m.rc)) {
        forget(s, d); /* the lease is gone */
    } else if (s->is_stopping) {
        d->n = d->ask.m.rc == HL_OK ? d->ask.n : d->n;
        abandon(s, d);
    } else if (d->ask.m.rc != HL_OK) {
        move_for(s, d, HL_DELIVERY_WAITING, AGAIN_MS);
    } else {
        move(s, d, HL_DELIVERY_SIGNING);
        begin(s, d, d->ask.n);
    }
}

/* A RETRY's row that could not be kept is no loss: the next attempt's ATTEMPT says the same. A
 * final outcome is. */
static void on_recorded(struct hl_sender *s, struct hl_delivery *d)
{
    d->away--;
    if (d->state != HL_DELIVERY_RECORDING)
        return;
    if (is_passing(d->outcome.m.rc) && !s->is_stopping)
        move_for(s, d, HL_DELIVERY_UNRECORDED, AGAIN_MS);
    else
        forget(s, d);
}

static void record_again(struct hl_sender *s, struct hl_delivery *d)
{
    move(s, d, HL_DELIVERY_RECORDING);
    post(s, d, &d->outcome.m, HL_STORE_OUTCOME);
}

static void wake_due(struct hl_sender *s)
{
    uint64_t now = hl_clock_mono_ms();
    for (struct hl_list *node; (node = hl_due_take(&s->due, now));) {
        struct hl_delivery *d = HL_CONTAINER_OF(node, struct hl_delivery, node);
        if (d->state == HL_DELIVERY_UNRECORDED)
            record_again(s, d);
        else
            move(s, d, HL_DELIVERY_DUE);
    }
}

/* As many leases as there are places that nobody has, waits for or was promised. */
static void give_credit(struct hl_sender *s)
{
    uint32_t spoken_for =
        places_taken(s) + s->counts[HL_DELIVERY_DUE] + s->backlog_count + s->credit;
    if (s->is_stopping || s->waiting_bytes > WAITING_BYTES_MAX ||
        spoken_for >= s->config->webhook_concurrency)
        return;
    struct hl_credit *credit = calloc(1, sizeof *credit);
    if (!credit)
        return;
    credit->n = s->config->webhook_concurrency - spoken_for;
    credit->m = (struct hl_store_msg){.msg = {.type = HL_STORE_LEASE_CREDIT}, .reply_to = &s->box};
    s->credit += credit->n;
    enum hl_err err = hl_store_post(s->store, &credit->m);
    HL_ASSERT(err == HL_OK);
}

/* --- the end
 * ----------------------------------------------------------------------------------------- */

void hl_sender_stop(struct hl_sender *sender, uint64_t grace_ms)
{
    sender->grace_ms = grace_ms;
    hl_mailbox_post(&sender->box, &sender->stop);
    hl_thread_join(&sender->thread);
}

static void abandon_all(struct hl_sender *s, enum hl_delivery_state state);

/* Each turn from the stop on: what is not under way is given back at once, what is under way when
 * the grace is over. */
static void wind_down(struct hl_sender *s)
{
    for (struct hl_list *node; (node = hl_due_take_any(&s->due));) {
        struct hl_delivery *d = HL_CONTAINER_OF(node, struct hl_delivery, node);
        if (d->state == HL_DELIVERY_UNRECORDED)
            record_again(s, d);
        else
            move(s, d, HL_DELIVERY_DUE);
    }
    abandon_all(s, HL_DELIVERY_DUE);
    while (s->backlog) {
        struct hl_delivery *d = adopt_next(s);
        if (!d)
            break;
        abandon(s, d);
    }
    if (hl_clock_mono_ms() < s->stop_at_ms)
        return;
    abandon_all(s, HL_DELIVERY_SIGNING);
    abandon_all(s, HL_DELIVERY_SENDING);
}

static void abandon_all(struct hl_sender *s, enum hl_delivery_state state)
{
    HL_LIST_EACH_SAFE (node, &s->lists[state]) {
        struct hl_delivery *d = HL_CONTAINER_OF(node, struct hl_delivery, node);
        if (d->away == 0)
            abandon(s, d);
    }
}

/* started_ms 0 tells the store that nothing of this attempt was sent. */
static void abandon(struct hl_sender *s, struct hl_delivery *d)
{
    bool is_under_way = d->state == HL_DELIVERY_SENDING;
    if (d->transfer)
        take_transfer_back(s, d);
    if (!is_under_way)
        d->started_ms = 0;
    move(s, d, HL_DELIVERY_RECORDING);
    post_outcome(s, d, HL_ATTEMPT_ABANDONED, 0, is_under_way ? "interrupted" : "");
    hl_delivery_strip(d);
}

/* All that is left is with the store. Its replies need no thread: hl_sender_free finds them. */
static bool is_over(const struct hl_sender *s)
{
    uint32_t left = 0;
    for (size_t state = 0; state < HL_DELIVERY_STATE_COUNT; state++)
        left += state == HL_DELIVERY_RECORDING ? 0 : s->counts[state];
    return s->is_stopping && left == 0 && !s->backlog;
}

void hl_sender_free(struct hl_sender *sender)
{
    if (!sender)
        return;
    for (struct hl_msg *msg = hl_mailbox_take(&sender->box), *next; msg; msg = next) {
        next = msg->next;
        if (msg->type == HL_STORE_LEASED)
            hl_leased_free(HL_CONTAINER_OF(msg, struct hl_leased, msg));
    }
    for (struct hl_list *node; (node = hl_list_pop_front(&sender->lists[HL_DELIVERY_RECORDING]));)
        hl_delivery_free(HL_CONTAINER_OF(node, struct hl_delivery, node));
    for (struct hl_list *node; (node = hl_list_pop_front(&sender->idle));)
        hl_transfer_free(HL_CONTAINER_OF(node, struct hl_transfer, node));
    curl_multi_cleanup(sender->multi);
    hl_trust_fini(&sender->trust);
    curl_global_cleanup();
    free(sender);
}
