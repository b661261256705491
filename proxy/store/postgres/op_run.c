/* op_run.c - how runs begin and end. */
#include <string.h>

#include <mbedtls/sha256.h>

#include "base/clock.h"
#include "store/accept.h"
#include "store/attempt_log.h"
#include "store/barred.h"
#include "store/claim.h"
#include "store/message.h"
#include "store/postgres/bodies.h"
#include "store/postgres/crowd.h"
#include "store/postgres/expire.h"
#include "store/postgres/notify.h"
#include "store/postgres/op.h"
#include "store/postgres/push.h"
#include "store/postgres/row.h"
#include "store/postgres/schema.h"
#include "store/postgres/state.h"
#include "store/postgres/watch.h"

static void item_if(struct hl_pg_params *p, bool is_there, struct hl_str s)
{
    if (is_there)
        hl_pg_item_str(p, s);
    else
        hl_pg_item_null(p);
}

static void item_sealed(struct hl_pg_store *s, struct hl_pg_params *p, const char *place,
    const struct hl_id *row, bool is_there, struct hl_str plain)
{
    struct hl_buf sealed = {0};
    if (is_there && !p->err)
        p->err = hl_seal(&s->sealer, place, row, plain, &sealed);
    item_if(p, is_there, hl_buf_str(&sealed));
    hl_buf_fini(&sealed);
}

static bool has_digest(const struct hl_body *body)
{
    return body->where == HL_BODY_INLINE || body->where == HL_BODY_FILE;
}

static struct hl_str digest_of(const struct hl_body *body)
{
    return (struct hl_str){(const char *)body->digest, sizeof(body->digest)};
}

static void item_id_or_null(struct hl_pg_params *p, const struct hl_id *id)
{
    if (hl_id_is_nil(id))
        hl_pg_item_null(p);
    else
        hl_pg_item_id(p, id);
}

static void item_file(struct hl_pg_params *p, const struct hl_body *body)
{
    if (body->where == HL_BODY_FILE)
        hl_pg_item_id(p, &body->file);
    else
        hl_pg_item_null(p);
}

static void item_bytes(struct hl_pg_params *p, const struct hl_body *body)
{
    item_if(p, body->where == HL_BODY_INLINE, (struct hl_str){body->bytes, body->size});
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

static void bind_webhook(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_array_begin(p, HL_PG_P_LANE, HL_PG_INT, n);
    for (size_t i = 0; i < n; i++) {
        struct hl_str url = accept_of(ops[i])->webhook_url;
        if (url.n > 0)
            hl_pg_item_int(p, (int64_t)hl_key_lane(&s->keys.key, url));
        else
            hl_pg_item_null(p);
    }
    hl_pg_array_end(p);
    HL_PG_EACH(p, HL_PG_P_URL, HL_PG_BYTES, n,
        item_sealed(s, p, "run.url", &accept_of(ops[i])->run_id,
            accept_of(ops[i])->webhook_url.n > 0, accept_of(ops[i])->webhook_url));
    HL_PG_EACH(p, HL_PG_P_SECRET, HL_PG_BYTES, n,
        item_sealed(s, p, "run.secret", &accept_of(ops[i])->run_id,
            accept_of(ops[i])->webhook_secret.n > 0, accept_of(ops[i])->webhook_secret));
    HL_PG_EACH(
        p, HL_PG_P_TRACEPARENT, HL_PG_BYTES, n, hl_pg_item_str(p, accept_of(ops[i])->traceparent));
}

static void bind_key(struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    HL_PG_EACH(p, HL_PG_P_SUBJECT, HL_PG_BYTES, n, hl_pg_item_str(p, accept_of(ops[i])->subject));
    HL_PG_EACH(p, HL_PG_P_KEY, HL_PG_BYTES, n,
        item_if(p, accept_of(ops[i])->idempotency_key.n > 0, accept_of(ops[i])->idempotency_key));
    HL_PG_EACH(p, HL_PG_P_FINGERPRINT, HL_PG_BYTES, n,
        hl_pg_item_str(p, (struct hl_str){(const char *)accept_of(ops[i])->fingerprint,
                              sizeof(accept_of(ops[i])->fingerprint)}));
}

static void bind_accept(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        ops[i]->as = s->member.session;
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &accept_of(ops[i])->run_id));
    HL_PG_EACH(p, HL_PG_P_PROJECT, HL_PG_TEXT, n, hl_pg_item_str(p, accept_of(ops[i])->project));
    HL_PG_EACH(p, HL_PG_P_APP, HL_PG_TEXT, n, hl_pg_item_str(p, accept_of(ops[i])->app));
    HL_PG_EACH(
        p, HL_PG_P_CREATED_MS, HL_PG_INT, n, hl_pg_item_int(p, accept_of(ops[i])->created_ms));
    HL_PG_EACH(p, HL_PG_P_METHOD, HL_PG_BYTES, n, hl_pg_item_str(p, accept_of(ops[i])->method));
    HL_PG_EACH(p, HL_PG_P_PATH, HL_PG_BYTES, n,
        hl_pg_item_str(p, hl_store_message_shown_path(accept_of(ops[i])->target)));
    HL_PG_EACH(p, HL_PG_P_HEAD, HL_PG_BYTES, n,
        item_sealed(s, p, "run.head", &accept_of(ops[i])->run_id, is_async(accept_of(ops[i])),
            accept_of(ops[i])->head));
    HL_PG_EACH(
        p, HL_PG_P_REQUEST_WHERE, HL_PG_INT, n, hl_pg_item_int(p, accept_of(ops[i])->body.where));
    HL_PG_EACH(p, HL_PG_P_REQUEST_SIZE, HL_PG_INT, n,
        hl_pg_item_int(
            p, is_async(accept_of(ops[i])) ? (int64_t)accept_of(ops[i])->body.size : -1));
    HL_PG_EACH(p, HL_PG_P_REQUEST_SHA256, HL_PG_BYTES, n,
        item_if(p, has_digest(&accept_of(ops[i])->body), digest_of(&accept_of(ops[i])->body)));
    HL_PG_EACH(p, HL_PG_P_REQUEST_FILE, HL_PG_ID, n, item_file(p, &accept_of(ops[i])->body));
    HL_PG_EACH(p, HL_PG_P_REQUEST_BYTES, HL_PG_BYTES, n, item_bytes(p, &accept_of(ops[i])->body));
    bind_webhook(s, p, ops, n);
    bind_key(p, ops, n);
    hl_pg_add_int(p, HL_PG_P_KEY_MS, (int64_t)s->idem_ms);
    HL_PG_EACH(p, HL_PG_P_IS_ASYNC, HL_PG_INT, n, hl_pg_item_int(p, is_async(accept_of(ops[i]))));
    HL_PG_EACH(p, HL_PG_P_IS_BEYOND, HL_PG_INT, n, hl_pg_item_int(p, ops[i]->is_busy));
    HL_PG_EACH(p, HL_PG_P_TIMEOUT_MS, HL_PG_INT, n,
        hl_pg_item_int(p, (int64_t)accept_of(ops[i])->terms.timeout_ms));
    HL_PG_EACH(p, HL_PG_P_WAIT_MS, HL_PG_INT, n,
        hl_pg_item_int(p, (int64_t)accept_of(ops[i])->terms.start_timeout_ms));
    HL_PG_EACH(
        p, HL_PG_P_PRIORITY, HL_PG_INT, n, hl_pg_item_int(p, accept_of(ops[i])->terms.priority));
    HL_PG_EACH(p, HL_PG_P_WHO, HL_PG_INT, n,
        hl_pg_item_int(p, (int64_t)hl_key_subject(&s->keys.key, accept_of(ops[i])->identity)));
    HL_PG_EACH(p, HL_PG_P_TURNS, HL_PG_INT, HL_PRIORITIES, hl_pg_item_int(p, s->turns[i]));
    HL_PG_EACH(
        p, HL_PG_P_MAX_QUEUED, HL_PG_INT, n, hl_pg_item_int(p, accept_of(ops[i])->max_queued));
    HL_PG_EACH(p, HL_PG_P_MAX_ATTEMPTS, HL_PG_INT, n,
        hl_pg_item_int(p, accept_of(ops[i])->terms.max_attempts));
    HL_PG_EACH(p, HL_PG_P_IDENTITY, HL_PG_BYTES, n,
        item_if(p, accept_of(ops[i])->identity.n > 0, accept_of(ops[i])->identity));
    HL_PG_EACH(p, HL_PG_P_RERUN_OF, HL_PG_ID, n, item_id_or_null(p, &accept_of(ops[i])->rerun_of));
    hl_pg_add_int(p, HL_PG_P_KEEPS, hl_pg_keeps(s->keep_requests));
    hl_pg_add_id(p, HL_PG_P_SESSION, &s->member.session);
}

/* A record that is to be sent again found this replica dead, or another session of it: the next beat notices that too. */
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
    hl_pg_crowd_note_url(s, a->webhook_url);
    if (is_async(a)) {
        hl_counter_add(&s->gauges.queued_runs, 1);
        hl_counter_add(&s->gauges.queued[a->terms.priority], 1);
        s->claims_more = true;
        hl_pg_notify_work(s);
        if (a->terms.start_timeout_ms > 0)
            hl_pg_expire_note(s, a->terms.start_timeout_ms);
    } else {
        hl_pg_live_put(&s->live, &a->run_id, 1, a->m.reply_to);
    }
}

const struct hl_pg_operation hl_pg_op_add = {.query = HL_PG_DO_RUN_ADD,
    .repeated = HL_ERR_INVALID,
    .subject = subject_of_accept,
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
static void name_delivery(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (hl_id_is_nil(&op->delivery_id))
        op->delivery_id = hl_id_next(&s->ids, hl_clock_wall_ms());
}

static void bind_delivery_ids(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        name_delivery(s, ops[i]);
    HL_PG_EACH(p, HL_PG_P_DELIVERY_ID, HL_PG_ID, n, hl_pg_item_id(p, &ops[i]->delivery_id));
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
}

static void subject_of_finish(struct hl_pg_op *op)
{
    op->subject = finish_of(op)->run_id;
}

/* Of which mode the run is, its record knows. */
static void item_time(struct hl_pg_params *p, enum hl_tally_kind kind, int64_t us)
{
    if (us < 0)
        hl_pg_item_null(p);
    else
        hl_pg_item_int(p, hl_tally_time_key(kind, false, us));
}

static void bind_finish(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &finish_of(ops[i])->run_id));
    HL_PG_EACH(p, HL_PG_P_EPOCH, HL_PG_INT, n, hl_pg_item_int(p, finish_of(ops[i])->epoch));
    HL_PG_EACH(p, HL_PG_P_STATE, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->state));
    HL_PG_EACH(p, HL_PG_P_REASON, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->reason));
    HL_PG_EACH(
        p, HL_PG_P_HTTP_STATUS, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->http_status));
    HL_PG_EACH(
        p, HL_PG_P_ENDED_MS, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->finished_ms));
    HL_PG_EACH(p, HL_PG_P_CONTENT_TYPE, HL_PG_BYTES, n,
        hl_pg_item_str(p, hl_str_from(outcome_of(ops[i])->content_type)));
    HL_PG_EACH(p, HL_PG_P_CONTENT_ENCODING, HL_PG_BYTES, n,
        hl_pg_item_str(p, hl_str_from(outcome_of(ops[i])->content_encoding)));
    HL_PG_EACH(p, HL_PG_P_ENCODING, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->encoding));
    HL_PG_EACH(p, HL_PG_P_ESCAPED_SIZE, HL_PG_INT, n,
        hl_pg_item_int(p, (int64_t)outcome_of(ops[i])->escaped_size));
    HL_PG_EACH(
        p, HL_PG_P_BODY_WHERE, HL_PG_INT, n, hl_pg_item_int(p, outcome_of(ops[i])->body.where));
    HL_PG_EACH(p, HL_PG_P_BODY_SIZE, HL_PG_INT, n,
        hl_pg_item_int(p, (int64_t)outcome_of(ops[i])->body.size));
    HL_PG_EACH(p, HL_PG_P_BODY_SHA256, HL_PG_BYTES, n,
        item_if(p, has_digest(&outcome_of(ops[i])->body), digest_of(&outcome_of(ops[i])->body)));
    HL_PG_EACH(p, HL_PG_P_BODY_FILE, HL_PG_ID, n, item_file(p, &outcome_of(ops[i])->body));
    HL_PG_EACH(p, HL_PG_P_BODY_BYTES, HL_PG_BYTES, n, item_bytes(p, &outcome_of(ops[i])->body));
    bind_delivery_ids(s, p, ops, n);
    HL_PG_EACH(p, HL_PG_P_LOG, HL_PG_BYTES, n,
        item_if(p, finish_of(ops[i])->log.n > 0, hl_buf_str(&finish_of(ops[i])->log)));
    HL_PG_EACH(
        p, HL_PG_P_RUN_KEY, HL_PG_INT, n, item_time(p, HL_TALLY_RUN, finish_of(ops[i])->run_us));
    HL_PG_EACH(p, HL_PG_P_WAIT_KEY, HL_PG_INT, n,
        item_time(p, HL_TALLY_WAIT, finish_of(ops[i])->queued_us));
    int64_t ahead_ms = hl_clock_ahead_ms();
    HL_PG_EACH(
        p, HL_PG_P_SET_MS, HL_PG_INT, n, hl_pg_item_int(p, ahead_ms - ops[i]->posted_ahead_ms));
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
    if (hl_pg_live_end(&s->live, &finish_of(op)->run_id, finish_of(op)->epoch))
        hl_pg_bodies_drop(s, &finish_of(op)->run_id);
    s->leases_more = true;
    if (hl_barred_first(
            atomic_load(&s->base.quotas))) /* it may leave room for another of its account */
        s->claims_more = true;
    if (op->rc == HL_OK && op->number)
        hl_pg_notify_work(s);
}

const struct hl_pg_operation hl_pg_op_finish = {.query = HL_PG_DO_RUN_FINISH,
    .repeated = HL_ERR_STALE,
    .subject = subject_of_finish,
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

static void item_entry(struct hl_pg_params *p, const struct hl_release *r)
{
    char room[HL_ATTEMPT_ENTRY_MAX];
    hl_pg_item_str(p, r->is_retry ? hl_attempt_entry_write(&r->ended, room) : HL_STR(""));
}

static void subject_of_release(struct hl_pg_op *op)
{
    op->subject = claimed_of(op)->run_id;
}

static void bind_release(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &claimed_of(ops[i])->run_id));
    HL_PG_EACH(p, HL_PG_P_EPOCH, HL_PG_INT, n, hl_pg_item_int(p, claimed_of(ops[i])->epoch));
    HL_PG_EACH(p, HL_PG_P_ENDED_MS, HL_PG_INT, n, hl_pg_item_int(p, hl_clock_wall_ms()));
    bind_delivery_ids(s, p, ops, n);
    HL_PG_EACH(p, HL_PG_P_IS_RETRY, HL_PG_INT, n, hl_pg_item_int(p, release_of(ops[i])->is_retry));
    HL_PG_EACH(p, HL_PG_P_WAIT_MS, HL_PG_INT, n, hl_pg_item_int(p, wait_of(release_of(ops[i]))));
    HL_PG_EACH(p, HL_PG_P_ENTRY, HL_PG_TEXT, n, item_entry(p, release_of(ops[i])));
}

static void note_release(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (hl_pg_live_end(&s->live, &claimed_of(op)->run_id, claimed_of(op)->epoch))
        hl_pg_bodies_drop(s, &claimed_of(op)->run_id);
    s->claims_more = s->leases_more = true;
    hl_pg_notify_all(s); /* its app takes no calls: others' may */
}

const struct hl_pg_operation hl_pg_op_release = {.query = HL_PG_DO_RUN_RELEASE,
    .subject = subject_of_release,
    .bind = bind_release,
    .note = note_release};

static const struct hl_run_ref *ref_of(const struct hl_pg_op *op)
{
    return (const struct hl_run_ref *)op->m;
}

static void subject_of_cancel(struct hl_pg_op *op)
{
    op->subject = ref_of(op)->run_id;
}

static void bind_cancel(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &ref_of(ops[i])->run_id));
    HL_PG_EACH(
        p, HL_PG_P_PROJECT, HL_PG_TEXT, n, hl_pg_item_str(p, hl_str_from(ref_of(ops[i])->project)));
    HL_PG_EACH(p, HL_PG_P_APP, HL_PG_TEXT, n, hl_pg_item_str(p, hl_str_from(ref_of(ops[i])->app)));
    HL_PG_EACH(p, HL_PG_P_ENDED_MS, HL_PG_INT, n, hl_pg_item_int(p, hl_clock_wall_ms()));
    bind_delivery_ids(s, p, ops, n);
}

static void read_cancel(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    (void)s;
    hl_pg_id(row, &op->other);
}

/* Who has the run here is told at once; another replica hears of it from the outbox. */
static void note_cancel(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_run_ref *ref = (struct hl_run_ref *)op->m;
    if (op->rc == HL_OK && !hl_pg_push_cancel(s, &ref->run_id, &ref->order))
        s->outbox.has_missed = true;
    hl_pg_watch_hurry(s); /* a queued one has ended */
    s->leases_more = true;
    if (op->rc == HL_OK)
        hl_pg_notify_all(s);
}

const struct hl_pg_operation hl_pg_op_cancel = {.query = HL_PG_DO_RUN_CANCEL,
    .repeated = HL_ERR_CONFLICT,
    .subject = subject_of_cancel,
    .bind = bind_cancel,
    .read = read_cancel,
    .note = note_cancel};
