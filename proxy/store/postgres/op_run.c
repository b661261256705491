/* op_run.c - how runs begin and end. */
#include <string.h>

#include <mbedtls/sha256.h>

#include "base/clock.h"
#include "store/accept.h"
#include "store/attempt.h"
#include "store/quota.h"
#include "store/claim.h"
#include "store/message.h"
#include "store/postgres/bodies.h"
#include "store/postgres/thread.h"
#include "store/postgres/op.h"
#include "store/postgres/row.h"
#include "store/postgres/schema.h"

void hl_pg_add_sealed(struct hl_pg_store *s, struct hl_pg_columns *c, unsigned param,
    const char *place, const struct hl_id *row, struct hl_str plain)
{
    struct hl_buf sealed = {0};
    enum hl_err err = hl_seal(&s->sealer, place, row, plain, &sealed);
    if (err)
        s->params.err = err;
    hl_pg_columns_bytes(c, param, hl_buf_str(&sealed));
    hl_buf_fini(&sealed);
}

void hl_pg_add_answer_head(
    struct hl_pg_store *s, struct hl_pg_columns *c, const struct hl_id *run_id, struct hl_str head)
{
    if (head.n > 0)
        hl_pg_add_sealed(s, c, HL_PG_P_ANSWER_HEAD, "run.answer_head", run_id, head);
    else
        hl_pg_columns_null(c, HL_PG_P_ANSWER_HEAD, HL_PG_BYTES);
}

/* A body's columns, in their order. */
enum { AT_WHERE, AT_SIZE, AT_SHA256, AT_FILE, AT_BYTES, BODY_COLUMNS };

/* `size`: what is said of it. */
static void add_body(struct hl_pg_columns *c, const unsigned params[BODY_COLUMNS],
    const struct hl_body *body, int64_t size)
{
    static const struct hl_id none;
    bool is_inline = body->where == HL_BODY_INLINE, is_file = body->where == HL_BODY_FILE;
    struct hl_str digest = {(const char *)body->digest, sizeof(body->digest)};
    hl_pg_columns_int(c, params[AT_WHERE], body->where);
    hl_pg_columns_int(c, params[AT_SIZE], size);
    hl_pg_columns_bytes_if(c, params[AT_SHA256], is_inline || is_file, digest);
    hl_pg_columns_id(c, params[AT_FILE], is_file ? &body->file : &none);
    hl_pg_columns_bytes_if(
        c, params[AT_BYTES], is_inline, (struct hl_str){body->bytes, is_inline ? body->size : 0});
}

/* --- accept and record ---------------------------------------------------------------------- */

static const struct hl_accept *accept_of(const struct hl_pg_op *op)
{
    return (const struct hl_accept *)op->m;
}

static bool is_async(const struct hl_accept *a)
{
    return a->m.msg.type == HL_STORE_ACCEPT;
}

/* Two accepts with one key are not decided in the same statement. */
static void subject_of_accept(struct hl_pg_op *op)
{
    const struct hl_accept *a = accept_of(op);
    op->subject = a->run_id;
    if (a->idempotency_key.n == 0)
        return;
    uint8_t digest[32];
    struct hl_str parts[] = {a->project, a->app, a->subject, a->idempotency_key};
    mbedtls_sha256_context c;
    mbedtls_sha256_init(&c);
    mbedtls_sha256_starts_ret(&c, 0);
    for (size_t i = 0; i < HL_ARRAY_LEN(parts); i++) {
        mbedtls_sha256_update_ret(&c, (const uint8_t *)&parts[i].n, sizeof(parts[i].n));
        mbedtls_sha256_update_ret(&c, (const uint8_t *)parts[i].p, parts[i].n);
    }
    mbedtls_sha256_finish_ret(&c, digest);
    mbedtls_sha256_free(&c);
    memcpy(op->key.b, digest, sizeof(op->key.b));
}

static void add_webhook(struct hl_pg_store *s, struct hl_pg_columns *c, const struct hl_accept *a)
{
    bool has_webhook = a->webhook_url.n > 0;
    hl_pg_columns_int_if(c, HL_PG_P_LANE, has_webhook,
        has_webhook ? (int64_t)hl_key_lane(&s->keys.key, a->webhook_url) : 0);
    if (has_webhook)
        hl_pg_add_sealed(s, c, HL_PG_P_URL, "run.url", &a->run_id, a->webhook_url);
    else
        hl_pg_columns_null(c, HL_PG_P_URL, HL_PG_BYTES);
    if (a->webhook_secret.n > 0)
        hl_pg_add_sealed(s, c, HL_PG_P_SECRET, "run.secret", &a->run_id, a->webhook_secret);
    else
        hl_pg_columns_null(c, HL_PG_P_SECRET, HL_PG_BYTES);
    hl_pg_columns_bytes(c, HL_PG_P_TRACEPARENT, a->traceparent);
}

static void add_key(struct hl_pg_columns *c, const struct hl_accept *a)
{
    struct hl_str fingerprint = {(const char *)a->fingerprint, sizeof(a->fingerprint)};
    hl_pg_columns_bytes(c, HL_PG_P_SUBJECT, a->subject);
    hl_pg_columns_bytes_if(c, HL_PG_P_KEY, a->idempotency_key.n > 0, a->idempotency_key);
    hl_pg_columns_bytes(c, HL_PG_P_FINGERPRINT, fingerprint);
}

static void add_request(struct hl_pg_store *s, struct hl_pg_columns *c, const struct hl_accept *a)
{
    static const unsigned body_params[] = {HL_PG_P_REQUEST_WHERE, HL_PG_P_REQUEST_SIZE,
        HL_PG_P_REQUEST_SHA256, HL_PG_P_REQUEST_FILE, HL_PG_P_REQUEST_BYTES};
    if (is_async(a))
        hl_pg_add_sealed(s, c, HL_PG_P_HEAD, "run.head", &a->run_id, a->head);
    else
        hl_pg_columns_null(c, HL_PG_P_HEAD, HL_PG_BYTES);
    add_body(c, body_params, &a->body, is_async(a) ? (int64_t)a->body.size : -1);
}

static void add_accept(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    const struct hl_accept *a = accept_of(op);
    op->as = s->member.session;
    hl_pg_columns_id(c, HL_PG_P_RUN_ID, &a->run_id);
    hl_pg_columns_text(c, HL_PG_P_PROJECT, a->project);
    hl_pg_columns_text(c, HL_PG_P_APP, a->app);
    hl_pg_columns_record(
        c, &hl_pg_sql_statements[HL_PG_DO_RUN_ADD], HL_PG_P_CREATED_MS, &hl_accept_row_columns, a);
    add_request(s, c, a);
    add_webhook(s, c, a);
    add_key(c, a);
    hl_pg_columns_int(c, HL_PG_P_IS_ASYNC, is_async(a));
    hl_pg_columns_int(c, HL_PG_P_IS_BEYOND, op->is_busy);
    hl_pg_columns_int(c, HL_PG_P_TIMEOUT_MS, (int64_t)a->terms.timeout_ms);
    hl_pg_columns_int(c, HL_PG_P_WAIT_MS, (int64_t)a->terms.start_timeout_ms);
    hl_pg_columns_int(c, HL_PG_P_WHO, (int64_t)hl_key_subject(&s->keys.key, a->identity));
    hl_pg_columns_int(c, HL_PG_P_MAX_QUEUED, a->max_queued);
    hl_pg_columns_int(c, HL_PG_P_MAX_ATTEMPTS, a->terms.max_attempts);
    hl_pg_columns_int(c, HL_PG_P_HAS_CALLER, a->terms.has_caller);
}

static void bind_accept(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)op;
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(p, HL_PG_P_KEY_MS, (int64_t)s->idem_ms);
    HL_PG_EACH(p, HL_PG_P_TURNS, HL_PG_INT, HL_PRIORITIES, hl_pg_item_int(p, s->dispatch.turns[i]));
    hl_pg_add_int(p, HL_PG_P_KEEPS, hl_pg_keeps(s->keep_requests));
    hl_pg_add_id(p, HL_PG_P_SESSION, &s->member.session);
}

/* A record that is to be sent again found this replica dead, or another session of it: the next beat notices that
 * too. */
static void read_accept(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    hl_pg_id(row, &op->other);
    ((struct hl_accept *)op->m)->is_over_queued = op->rc == HL_ERR_BUSY && !op->is_busy;
    ((struct hl_accept *)op->m)->is_over_destination &= op->rc == HL_ERR_BUSY;
    op->was_dead = op->asks_again && !is_async(accept_of(op));
    if (op->was_dead)
        s->member.beat.due_ms = 0;
}

static void note_accept(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_accept *a = (struct hl_accept *)op->m;
    if (op->rc == HL_ERR_EXISTS)
        a->run_id = op->other;
    if (op->rc != HL_OK)
        return;
    hl_pg_bodies_remove(s, &a->body);
    hl_pg_full_note_url(s, a->webhook_url);
    if (is_async(a)) {
        hl_counter_add(&s->gauges.queued_runs, 1);
        hl_counter_add(&s->gauges.queued[a->terms.priority], 1);
        s->dispatch.claims_more = true;
        hl_pg_notify_work(s);
        if (a->terms.start_timeout_ms > 0)
            hl_pg_expire_note(s, a->terms.start_timeout_ms);
    } else {
        hl_pg_run_map_put(&s->runs, &a->run_id, 1, a->m.reply_to);
    }
}

const struct hl_pg_operation hl_pg_op_add = {.query = HL_PG_DO_RUN_ADD,
    .repeated = HL_ERR_INVALID,
    .subject = subject_of_accept,
    .add_row = add_accept,
    .bind = bind_accept,
    .read = read_accept,
    .note = note_accept};

/* --- the end of a run ----------------------------------------------------------------------- */

static const struct hl_finish *finish_of(const struct hl_pg_op *op)
{
    return (const struct hl_finish *)op->m;
}

static const struct hl_outcome *outcome_of(const struct hl_pg_op *op)
{
    return &finish_of(op)->outcome;
}

/* The delivery that the end begins has one id, however often it is sent. */
static void add_delivery_id(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    if (hl_id_is_nil(&op->delivery_id))
        op->delivery_id = hl_id_next(&s->ids, hl_clock_wall_ms());
    hl_pg_columns_id(c, HL_PG_P_DELIVERY_ID, &op->delivery_id);
}

/* Of which mode the run is, its record knows. */
static void add_time(struct hl_pg_columns *c, unsigned param, enum hl_tally_kind kind, int64_t us)
{
    hl_pg_columns_int_if(c, param, us >= 0, us < 0 ? 0 : hl_tally_time_key(kind, false, us));
}

static void add_finish(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    static const unsigned body_params[] = {HL_PG_P_BODY_WHERE, HL_PG_P_BODY_SIZE,
        HL_PG_P_BODY_SHA256, HL_PG_P_BODY_FILE, HL_PG_P_BODY_BYTES};
    const struct hl_finish *f = finish_of(op);
    const struct hl_outcome *o = &f->outcome;
    hl_pg_columns_id(c, HL_PG_P_RUN_ID, &f->run_id);
    hl_pg_columns_int(c, HL_PG_P_EPOCH, f->epoch);
    hl_pg_columns_int(c, HL_PG_P_STATE, o->state);
    hl_pg_columns_record(
        c, &hl_pg_sql_statements[HL_PG_DO_RUN_FINISH], HL_PG_P_FINISHED_MS, &hl_outcome_columns, o);
    add_body(c, body_params, &o->body, (int64_t)o->body.size);
    add_delivery_id(s, c, op);
    hl_pg_columns_bytes_if(c, HL_PG_P_LOG, f->log.n > 0, hl_buf_str(&f->log));
    add_time(c, HL_PG_P_RUN_KEY, HL_TALLY_RUN, f->run_us);
    add_time(c, HL_PG_P_WAIT_KEY, HL_TALLY_WAIT, f->queued_us);
    hl_pg_columns_int(c, HL_PG_P_SET_MS, hl_clock_ahead_ms() - op->posted_ahead_ms);
    hl_pg_add_answer_head(s, c, &f->run_id, hl_buf_str(&f->answer_head));
}

/* Of what may end, and then begins a delivery. */
static void bind_end(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)op;
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
}

static void bind_finish(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    bind_end(s, p, op);
    hl_pg_add_int(p, HL_PG_P_NOW_MS, hl_clock_wall_ms());
}

static void read_finish(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    (void)s;
    op->number = hl_pg_int(row); /* whether a delivery begins */
    bool is_cancelled = hl_pg_int(row);
    if (op->rc == HL_OK && is_cancelled)
        hl_outcome_cancel(&((struct hl_finish *)op->m)->outcome);
}

static void note_finish(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (op->rc == HL_OK) {
        hl_counter_add(&s->gauges.pending_deliveries, (uint64_t)op->number);
        hl_pg_bodies_remove(s, &outcome_of(op)->body);
    }
    if (op->rc == HL_OK)
        hl_pg_watch_end(s, &finish_of(op)->run_id);
    if (hl_pg_run_map_end(&s->runs, &finish_of(op)->run_id, finish_of(op)->epoch))
        hl_pg_bodies_drop(s, &finish_of(op)->run_id);
    s->dispatch.leases_more = true;
    if (hl_quota_blocked_first(
            atomic_load(&s->base.quotas))) /* it may leave room for another of its account */
        s->dispatch.claims_more = true;
    if (op->rc == HL_OK && op->number)
        hl_pg_notify_work(s);
    if (op->rc == HL_OK && finish_of(op)->has_caller)
        hl_pg_notify_answer(s);
}

const struct hl_pg_operation hl_pg_op_finish = {.query = HL_PG_DO_RUN_FINISH,
    .repeated = HL_ERR_STALE,
    .subject_at = offsetof(struct hl_finish, run_id),
    .add_row = add_finish,
    .bind = bind_finish,
    .read = read_finish,
    .note = note_finish};

/* --- release and cancel --------------------------------------------------------------------- */

static const struct hl_release *release_of(const struct hl_pg_op *op)
{
    return (const struct hl_release *)op->m;
}

static const struct hl_claimed *claimed_of(const struct hl_pg_op *op)
{
    return release_of(op)->claimed;
}

/* By the server's clock, which may not be this machine's. */
static int64_t wait_of(const struct hl_release *r)
{
    int64_t left_ms = r->due_ms - hl_clock_steady_ms();
    return r->is_retry && left_ms > 0 ? left_ms : 0;
}

static void subject_of_release(struct hl_pg_op *op)
{
    op->subject = claimed_of(op)->run_id;
}

static void add_release(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    char room[HL_ATTEMPT_ENTRY_MAX];
    const struct hl_release *r = release_of(op);
    hl_pg_columns_id(c, HL_PG_P_RUN_ID, &r->claimed->run_id);
    hl_pg_columns_int(c, HL_PG_P_EPOCH, r->claimed->epoch);
    hl_pg_columns_int(c, HL_PG_P_ENDED_MS, hl_clock_wall_ms());
    add_delivery_id(s, c, op);
    hl_pg_columns_int(c, HL_PG_P_IS_RETRY, r->is_retry);
    hl_pg_columns_int(c, HL_PG_P_WAIT_MS, wait_of(r));
    hl_pg_columns_text(
        c, HL_PG_P_ENTRY, r->is_retry ? hl_attempt_entry_write(&r->ended, room) : HL_STR(""));
}

static void note_release(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (hl_pg_run_map_end(&s->runs, &claimed_of(op)->run_id, claimed_of(op)->epoch))
        hl_pg_bodies_drop(s, &claimed_of(op)->run_id);
    if (op->rc == HL_OK && release_of(op)->is_retry)
        hl_counter_add(&s->gauges.waiting_runs, 1);
    s->dispatch.claims_more = s->dispatch.leases_more = true;
    hl_pg_notify_all(s); /* its app takes no calls: others' may */
}

const struct hl_pg_operation hl_pg_op_release = {.query = HL_PG_DO_RUN_RELEASE,
    .subject = subject_of_release,
    .add_row = add_release,
    .bind = bind_end,
    .note = note_release};

static const struct hl_run_ref *ref_of(const struct hl_pg_op *op)
{
    return (const struct hl_run_ref *)op->m;
}

static void add_cancel(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    hl_pg_columns_id(c, HL_PG_P_RUN_ID, &ref_of(op)->run_id);
    hl_pg_columns_text(c, HL_PG_P_PROJECT, hl_str_from(ref_of(op)->project));
    hl_pg_columns_text(c, HL_PG_P_APP, hl_str_from(ref_of(op)->app));
    hl_pg_columns_int(c, HL_PG_P_ENDED_MS, hl_clock_wall_ms());
    add_delivery_id(s, c, op);
    hl_pg_audit_add_row(c, op->m);
}

static void read_cancel(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    (void)s;
    hl_pg_id(row, &op->other);
    ((struct hl_run_ref *)op->m)->was_wished =
        hl_pg_int(row) && !op->is_in_doubt; /* not by itself */
}

/* Who has the run here is told at once; another replica hears of it from the outbox. */
static void note_cancel(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_run_ref *ref = (struct hl_run_ref *)op->m;
    if (op->rc == HL_OK && !hl_pg_push_cancel(s, &ref->run_id, &ref->order))
        s->outbox.has_missed = true;
    hl_pg_watch_hurry(s); /* a queued one has ended */
    s->dispatch.leases_more = true;
    if (op->rc == HL_OK)
        hl_pg_notify_all(s);
}

const struct hl_pg_operation hl_pg_op_cancel = {.query = HL_PG_DO_RUN_CANCEL,
    .repeated = HL_ERR_CONFLICT,
    .subject_at = offsetof(struct hl_run_ref, run_id),
    .add_row = add_cancel,
    .bind = bind_end,
    .read = read_cancel,
    .note = note_cancel};
