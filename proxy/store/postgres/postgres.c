/* postgres.c - the thread: what comes in, when it turns, how it begins and ends. */
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/list.h"
#include "base/metric.h"
#include "config/config.h"
#include "loop/thread.h"
#include "store/account.h"
#include "store/backend.h"
#include "store/claim.h"
#include "store/credit.h"
#include "store/data_dir.h"
#include "store/gauges.h"
#include "store/intake.h"
#include "store/key.h"
#include "store/message.h"
#include "store/operation.h"
#include "store/postgres/thread.h"
#include "store/postgres/bodies.h"
#include "store/postgres/diary.h"
#include "store/postgres/diary_file.h"
#include "store/postgres/link.h"
#include "store/postgres/run_map.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/session.h"
#include "store/postgres/upkeep.h"

/* At the end: for a server that is there and does not let us in, or refuses what has ended. */
#define JOIN_WAIT_MS 5000

static struct hl_pg_store *store_of(struct hl_store *store)
{
    return (struct hl_pg_store *)store;
}

/* --- mail ----------------------------------------------------------------------------------- */

static enum hl_err post(struct hl_store *store, struct hl_store_msg *m)
{
    struct hl_pg_store *s = store_of(store);
    enum hl_err err = HL_OK;
    if (!hl_store_message_is_credit(m))
        err = hl_intake_enter(&s->intake, m, hl_operation_weigh(m));
    if (!err)
        hl_mailbox_post(&s->mail.box, &m->msg);
    return err;
}

static void take_credit(struct hl_pg_store *s, struct hl_credit *credit)
{
    bool is_worker = credit->m.msg.type == HL_STORE_CREDIT;
    struct hl_credit_book *book = is_worker ? &s->dispatch.workers : &s->dispatch.senders;
    if (!is_worker && credit->n == 0)
        hl_credit_withdraw(book, credit->m.reply_to);
    hl_credit_add(book, credit);
    if (!hl_pg_link_is_up(&s->writer) || hl_pg_recall_waits(s))
        hl_credit_return_unused(&s->dispatch.workers);
    else if (is_worker && !s->dispatch.is_claiming && !s->dispatch.claims_more)
        hl_credit_return_unused(&s->dispatch.workers);
}

static void on_message(void *self, struct hl_msg *msg)
{
    struct hl_pg_store *s = self;
    if (msg->type == HL_STORE_BORROW) {
        hl_pg_lending_take(s, msg);
        return;
    }
    if (msg->type == HL_STORE_HOLD) {
        hl_pg_permits_take(s, msg);
        return;
    }
    struct hl_store_msg *m = (struct hl_store_msg *)msg;
    if (hl_store_message_ends_credit(m))
        hl_credit_withdraw(&s->dispatch.senders, m->reply_to);
    if (hl_store_message_is_credit(m)) {
        take_credit(s, (struct hl_credit *)m);
    } else if (msg->type == HL_STORE_WITHDRAW) {
        hl_pg_dispatch_withdraw(s, m);
    } else if (msg->type == HL_STORE_WATCH_ACCOUNTS) {
        s->outbox.watch = ((const struct hl_watch_accounts *)m)->watch;
        s->outbox.watcher = ((const struct hl_watch_accounts *)m)->watcher;
        hl_pg_reply(s, m, hl_operation_weigh(m), HL_OK);
    } else if (msg->type == HL_STORE_WATCH || msg->type == HL_STORE_UNWATCH) {
        hl_pg_watch_take(s, (struct hl_watch *)m);
    } else if (hl_operation_of(m)->is_question) {
        hl_pg_answer(s, m);
    } else if (hl_pg_operation_of(m)) {
        hl_pg_queue_add(s, m);
    } else {
        hl_pg_reply(s, m, hl_operation_weigh(m), HL_ERR_INVALID);
    }
}

static void take_mail(struct hl_pg_store *s)
{
    for (struct hl_msg *msg = hl_mailbox_take(&s->mail.box), *next; msg; msg = next) {
        next = msg->next;
        on_message(s, msg);
    }
}

/* --- turns ---------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
    (void)timer; /* the turn after it does what is due */
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void sleep_until(struct hl_pg_store *s, uint64_t due_ms, uint64_t now_ms)
{
    if (due_ms == UINT64_MAX)
        uv_timer_stop(&s->timer);
    else
        uv_timer_start(&s->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static void close_all(struct hl_pg_store *s)
{
    hl_pg_link_close(&s->writer);
    hl_pg_link_close(&s->reader);
    hl_pg_link_close(&s->listener);
    hl_pg_complaints_end(s);
    hl_pg_bodies_cancel(s, true);
    if (s->recall.diary)
        hl_pg_diary_file_close(s->recall.diary);
    hl_pg_queue_refuse_all(s);
    hl_pg_answer_refuse_all(s);
    hl_pg_watch_refuse_all(s);
    hl_credit_return_unused(&s->dispatch.workers);
    hl_pg_upkeep_close(s);
    hl_uv_mailbox_close(&s->mail);
    uv_close((uv_handle_t *)&s->turn, NULL);
    uv_close((uv_handle_t *)&s->timer, NULL);
}

/* What was posted before the end is committed, if the server is there; then this replica leaves. */
static bool is_over(struct hl_pg_store *s)
{
    if (!atomic_load(&s->is_stopping))
        return false;
    take_mail(s);
    hl_pg_bodies_cancel(s, false);
    if (!hl_pg_link_is_up(&s->writer) || !atomic_load(&s->is_settled))
        return true;
    if (!hl_pg_is_joined(s) && hl_clock_mono_ms() - s->stopping_ms > JOIN_WAIT_MS)
        return true;
    bool is_patient = hl_clock_mono_ms() - s->stopping_ms <= JOIN_WAIT_MS;
    /* A body whose parts the server refuses waits as an end does that it refuses. */
    bool waits_for_bodies = s->bodies.n_transfers > 0 && (is_patient || !hl_pg_refusal_is_any(s));
    bool is_asking = hl_pg_link_is_up(&s->reader) && (s->n_asking > 0 || waits_for_bodies);
    if (!hl_pg_is_joined(s) || is_asking || !hl_pg_flush_is_idle(s, is_patient))
        return false;
    if (s->is_guest)
        return true;
    if (s->member.state == HL_PG_JOINED && !hl_pg_member_leave(s))
        return true;
    return s->member.state == HL_PG_LEFT;
}

/* What is done by itself, in this order, and when it is due next. */
static const struct routine {
    void (*turn)(struct hl_pg_store *s, uint64_t now_ms);
    uint64_t (*due_ms)(const struct hl_pg_store *s);
    bool is_guests; /* too */
} routines[] = {
    {hl_pg_member_turn, hl_pg_member_due_ms, false},
    {hl_pg_recall_turn, hl_pg_recall_due_ms, false},
    {hl_pg_gauging_turn, hl_pg_gauging_due_ms, false},
    {hl_pg_full_turn, hl_pg_full_due_ms, false},
    {hl_pg_expire_turn, hl_pg_expire_due_ms, false},
    {hl_pg_watch_turn, hl_pg_watch_due_ms, false},
    {hl_pg_lending_turn, hl_pg_lending_due_ms, false},
    {hl_pg_permits_turn, hl_pg_permits_due_ms, false},
    {hl_pg_flush_turn, hl_pg_flush_due_ms, true},
    {hl_pg_empty_accept_turn, hl_pg_empty_accept_due_ms, false},
    {hl_pg_diary_turn, hl_pg_diary_due_ms, true},
    {hl_pg_outbox_turn, hl_pg_outbox_due_ms, false},
    {hl_pg_notify_turn, hl_pg_notify_due_ms, false},
    {hl_pg_complaints_turn, hl_pg_complaints_due_ms, true},
};

static void take_turns(struct hl_pg_store *s, uint64_t now_ms)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(routines); i++)
        if (routines[i].is_guests || !s->is_guest)
            routines[i].turn(s, now_ms);
}

static uint64_t next_turn_ms(const struct hl_pg_store *s)
{
    uint64_t due_ms = UINT64_MAX;
    for (size_t i = 0; i < HL_ARRAY_LEN(routines); i++)
        if (routines[i].is_guests || !s->is_guest)
            due_ms = least(due_ms, routines[i].due_ms(s));
    return due_ms;
}

static void on_turn(uv_prepare_t *turn)
{
    struct hl_pg_store *s = turn->data;
    uint64_t now_ms = hl_clock_mono_ms();
    if (uv_is_closing((uv_handle_t *)&s->timer))
        return;
    take_turns(s, now_ms);
    hl_counter_set(&s->gauges.is_failing, hl_pg_is_failing(s, now_ms));
    uint64_t due_ms = least(hl_pg_queue_expire(s, now_ms), hl_pg_answer_expire(s, now_ms));
    due_ms = least(due_ms, hl_pg_refusal_due_ms(s, now_ms));
    due_ms = least(due_ms, hl_pg_bodies_turn(s, now_ms));
    if (!s->is_guest)
        due_ms = least(due_ms, hl_pg_upkeep_turn(s, now_ms));
    if (is_over(s)) {
        close_all(s);
        return;
    }
    due_ms = least(due_ms, next_turn_ms(s));
    if (s->pause_ms > now_ms)
        due_ms = least(due_ms > now_ms ? due_ms : s->pause_ms, s->pause_ms);
    sleep_until(s, due_ms, now_ms);
}

static void on_writer(void *self, bool is_up)
{
    struct hl_pg_store *s = self;
    hl_pg_gauging_forget(s);
    if (is_up)
        hl_pg_pooler_meet(s, &s->writer);
    if (is_up && !s->is_guest)
        hl_pg_opening_end(s);
    hl_pg_member_connect(s, is_up);
    if (is_up)
        hl_pg_hurry(s);
    else
        hl_credit_return_unused(&s->dispatch.workers);
}

static void on_reader(void *self, bool is_up)
{
    struct hl_pg_store *s = self;
    if (!is_up)
        return;
    hl_pg_pooler_meet(s, &s->reader);
    s->outbox.begins_anew = true;
    sem_post(&s->opening.decided);
    hl_pg_hurry(s);
    hl_pg_answer_waiting(s);
}

static void run(void *arg)
{
    struct hl_pg_store *s = arg;
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

/* --- opening -------------------------------------------------------------------------------- */

static enum hl_err read_config(
    struct hl_pg_store *s, const struct hl_config *config, char *why, size_t why_len)
{
    s->url = strdup(config->postgres_url.p);
    if (!s->url)
        return HL_ERR_NOMEM;
    hl_pg_settings_init(&s->settings, config);
    s->settings.url = s->url;
    snprintf(s->member.name, sizeof(s->member.name), "%.*s", HL_STR_ARG(config->replica));
    snprintf(s->member.address, sizeof(s->member.address), "%.*s", HL_STR_ARG(config->replica_url));
    s->is_guest = config->run_attempts == 0 && config->webhook_attempts == 0;
    s->role = config->role;
    s->retention_ms = config->retention_ms;
    s->stream_retention_ms = config->stream_retention_ms;
    s->idem_ms = (uint64_t)hl_store_key_ms(config->retention_ms);
    s->store_max = config->store_max_bytes;
    s->run_attempts = config->run_attempts;
    s->keep_requests = config->keep_requests;
    s->retries_interrupted = config->retry_on.interrupted;
    s->webhook_attempts = config->webhook_attempts;
    s->max_queued_runs = config->max_queued_runs;
    s->max_pending = config->max_pending_deliveries;
    hl_pg_places_init(&s->places, config->webhook_per_host);
    s->all_places = config->webhook_concurrency;
    hl_pg_full_init(&s->full_destinations, config->max_pending_deliveries);
    hl_watchers_init(&s->watchers);
    enum hl_err err = hl_shared_keys_open(&s->keys, config, why, why_len);
    if (!err)
        err = hl_sealer_init_shared(&s->sealer, &s->keys);
    s->base.shared_keys = &s->keys;
    return err ? err : hl_pg_texts_init(&s->texts, &s->settings);
}

static int init_loop(struct hl_pg_store *s)
{
    int rc = uv_loop_init(&s->loop);
    if (rc == 0)
        rc = hl_uv_mailbox_init(&s->mail, &s->loop, on_message, s);
    if (rc == 0)
        rc = uv_prepare_init(&s->loop, &s->turn);
    if (rc == 0)
        rc = uv_timer_init(&s->loop, &s->timer);
    s->turn.data = s->timer.data = s;
    if (rc == 0)
        rc = uv_prepare_start(&s->turn, on_turn);
    if (rc == 0)
        rc = hl_pg_upkeep_init(s);
    if (rc == 0)
        rc = hl_pg_link_init(&s->writer, &s->loop, &s->settings, &s->texts, on_writer, s);
    if (rc == 0)
        rc = hl_pg_link_init(&s->reader, &s->loop, &s->settings, &s->texts, on_reader, s);
    s->reader.way = HL_PG_READER;
    if (rc == 0)
        rc = hl_pg_notify_init(s);
    return rc;
}

static void free_store(struct hl_pg_store *s)
{
    hl_pg_diary_fini(s); /* before its directory may be another's */
    hl_pg_bodies_close(s);
    hl_pg_texts_fini(&s->texts);
    hl_pg_params_fini(&s->params);
    hl_pg_columns_fini(&s->columns);
    hl_pg_places_fini(&s->places);
    hl_pg_full_fini(&s->full_destinations);
    hl_watchers_fini(&s->watchers);
    hl_lender_fini(&s->lender);
    hl_pg_outbox_fini(s);
    hl_id_map_fini(&s->busy);
    hl_pg_run_map_fini(&s->runs);
    hl_credit_book_fini(&s->dispatch.workers);
    hl_credit_book_fini(&s->dispatch.senders);
    hl_sealer_fini(&s->sealer);
    hl_shared_keys_wipe(&s->keys);
    sem_destroy(&s->opening.decided);
    explicit_bzero(s->signing_key, sizeof(s->signing_key));
    if (s->url)
        explicit_bzero(s->url, strlen(s->url));
    free(s->url);
    free(s);
}

/* The mailbox has been closed with the loop's other handles. */
static void close_store(struct hl_store *store)
{
    struct hl_pg_store *s = store_of(store);
    s->stopping_ms = hl_clock_mono_ms();
    atomic_store(&s->is_stopping, true);
    s->mail.box.wake(s->mail.box.arg);
    hl_thread_join(&s->thread);
    uv_loop_close(&s->loop);
    free_store(s);
}

static bool is_destination_full(const struct hl_store *store, struct hl_str webhook_url)
{
    return hl_pg_is_destination_full((const struct hl_pg_store *)store, webhook_url);
}

/* The turn that follows beats. */
static void hear_app(struct hl_store *store)
{
    uv_async_send(&store_of(store)->mail.async);
}

static const struct hl_store_vt vt = {.hear_app = hear_app,
    .post = post,
    .is_destination_full = is_destination_full,
    .close = close_store};

static void init(struct hl_pg_store *s)
{
    hl_list_init(&s->queue);
    hl_list_init(&s->questions);
    hl_pg_diary_init(s);
    hl_pg_params_init(&s->params);
    hl_pg_columns_init(&s->columns);
    hl_id_map_init(&s->busy);
    hl_pg_run_map_init(&s->runs);
    hl_credit_book_init(&s->dispatch.workers);
    hl_credit_book_init(&s->dispatch.senders);
    hl_id_source_init(&s->ids);
    s->dispatch.lane_at = INT64_MIN;
    s->dispatch.wake_ms = s->queue_due_ms = UINT64_MAX;
    s->dispatch.poll_wait_ms = 250;
    s->dispatch.claims_more = s->dispatch.leases_more = true;
    hl_pg_bodies_init(s);
    hl_pg_empty_accept_init(s);
    hl_pg_lending_init(s);
    hl_pg_permits_init(s);
    sem_init(&s->opening.decided, 0, 0);
    s->base = (struct hl_store){.vt = &vt,
        .gauges = &s->gauges,
        .signing_key = s->signing_key,
        .refusal = s->opening.why,
        .keeps_keys = true,
        .is_shared = true,
        .lender = &s->lender};
}

/* Takes a guest's connections. */
static void open_links(struct hl_pg_store *s, PGconn *writer, PGconn *reader)
{
    if (!s->is_guest) {
        hl_pg_opening_begin(s);
        return;
    }
    hl_pg_link_open(&s->writer, writer);
    hl_pg_link_open(&s->reader, reader);
}

/* Takes the connections. */
static enum hl_err start(
    struct hl_pg_store *s, PGconn *writer, PGconn *reader, char *why, size_t why_len)
{
    int rc = init_loop(s);
    if (rc != 0) {
        snprintf(why, why_len, "cannot make the store's event loop: %s", uv_strerror(rc));
        PQfinish(writer);
        PQfinish(reader);
        return HL_ERR_NOMEM;
    }
    open_links(s, writer, reader);
    int failed = hl_thread_start(&s->thread, "hl-store", run, s);
    if (!failed)
        return HL_OK;
    snprintf(why, why_len, "cannot start the store's thread: %s", strerror(failed));
    close_all(s);
    run(s);
    uv_loop_close(&s->loop);
    return hl_err_from_errno(failed);
}

static enum hl_err open_store(
    struct hl_pg_store *s, const struct hl_config *config, char *why, size_t why_len)
{
    struct hl_pg_session writer = {0}, reader = {0};
    enum hl_err err = read_config(s, config, why, why_len);
    if (!err && s->is_guest)
        err = hl_pg_opening_visit(s, &writer, &reader, why, why_len);
    else if (!err)
        err = hl_pg_bodies_look(config->data_dir.p, why, why_len);
    return err ? err : start(s, writer.conn, reader.conn, why, why_len);
}

/* A start that is refused leaves no directory behind. */
static enum hl_err settle(
    struct hl_pg_store *s, const struct hl_config *config, char *why, size_t why_len)
{
    enum hl_err err = s->is_guest ? HL_OK : hl_pg_opening_wait(s, why, why_len);
    if (!err)
        err = hl_pg_bodies_open(s, config->data_dir.p, why, why_len);
    if (!err)
        err = hl_pg_diary_open(s, why, why_len);
    if (!err) {
        atomic_store(&s->is_settled, true);
        s->mail.box.wake(s->mail.box.arg);
    }
    s->base.data_dir = s->scratch.path;
    uint64_t max = hl_store_limit_bytes(&s->store_max, s->scratch.volume_size);
    hl_counter_set(
        &s->gauges.max_stream_bytes, hl_store_limit_bytes(&config->stream_keep_max_bytes, max));
    return err;
}

enum hl_err hl_pg_open(
    struct hl_store **out, const struct hl_config *config, char *why, size_t why_len)
{
    struct hl_pg_store *s = calloc(1, sizeof(*s));
    snprintf(why, why_len, "%s", hl_err_text(HL_ERR_NOMEM));
    if (!s)
        return HL_ERR_NOMEM;
    init(s);
    enum hl_err err = open_store(s, config, why, why_len);
    if (err) {
        free_store(s);
        hl_pg_session_name_setting(err, why, why_len);
        return err;
    }
    err = settle(s, config, why, why_len);
    if (err)
        close_store(&s->base);
    else
        *out = &s->base;
    return err;
}
