/* delivery.c - deliveries go over, with their attempts. An attempt that was under way when the last process
 * ended counts, with an unknown outcome: after the last one the delivery is a dead letter. What waits
 * for its next attempt waits on until it is due, and a destination that fails goes on failing while
 * something waits for it; what else is pending is due at once, as after a start. */
#include <stdlib.h>

#include "store/attempt.h"
#include "store/driver.h"
#include "store/import/import.h"
#include "store/import/passage.h"
#include "store/import/source.h"
#include "store/key.h"
#include "store/postgres/row.h"
#include "store/postgres/statement.h"
#include "store/sqlite/database.h"

struct delivery {
    struct hl_id delivery_id, run_id;
    struct hl_str project, app;
    int64_t run_state, state, round, n, max_attempts, created_ms, done_ms, due_ms, failing_ms;
    bool is_leased, has_lane;
    int64_t lane;
    struct hl_str url, secret; /* as they stood; empty: where its run's webhook goes */
    struct hl_buf sealed_url, sealed_secret;
};

static const struct hl_column moved_delivery_columns[] = {
    HL_COLUMN(struct delivery, delivery_id, ID),
    HL_COLUMN(struct delivery, run_id, ID),
    HL_COLUMN(struct delivery, project, TEXT),
    HL_COLUMN(struct delivery, app, TEXT),
    HL_COLUMN(struct delivery, run_state, INT),
    HL_COLUMN(struct delivery, state, INT),
    HL_COLUMN(struct delivery, round, INT),
    HL_COLUMN(struct delivery, n, INT),
    HL_COLUMN(struct delivery, max_attempts, INT),
    HL_COLUMN(struct delivery, created_ms, INT),
    HL_COLUMN(struct delivery, done_ms, INT),
    HL_COLUMN(struct delivery, due_ms, INT),
    HL_COLUMN(struct delivery, failing_ms, INT),
};
static const struct hl_columns moved = HL_COLUMNS(moved_delivery_columns);

static void read_delivery(struct hl_sql_row *row, int64_t lead_ms, struct delivery *d)
{
    hl_sql_columns(row, &moved, d);
    d->is_leased = hl_sql_int(row);
    d->url = hl_sql_str(row);
    d->secret = hl_sql_str(row);
    if (d->due_ms > 0)
        d->due_ms -= lead_ms;
}

static void give_up(const struct hl_passage *p, struct delivery *d)
{
    if (d->state != HL_DELIVERY_PENDING)
        return;
    d->state = HL_DELIVERY_DEAD;
    d->done_ms = p->now_ms;
}

/* One that does not open goes over as it is, and is counted: it opens nowhere, and its delivery, a dead letter, does not go
 * where the run's goes. */
static enum hl_err reseal(struct hl_passage *p, struct delivery *d, const char *from,
    const char *to, struct hl_str sealed, struct hl_buf *out)
{
    struct hl_buf plain = {0};
    out->n = 0;
    if (sealed.n == 0)
        return HL_OK;
    enum hl_err err = hl_unseal_append(&p->db->sealer, from, &d->run_id, sealed, &plain);
    if (!err)
        err = hl_seal(&p->sealer, to, &d->run_id, hl_buf_str(&plain), out);
    if (!err && out == &d->sealed_url) {
        d->lane = (int64_t)hl_key_lane(p->sealer.key, hl_buf_str(&plain));
        d->has_lane = true;
    }
    if (plain.n > 0)
        explicit_bzero(plain.p, plain.n);
    hl_buf_fini(&plain);
    if (err != HL_ERR_CORRUPT)
        return err;
    p->done->unreadable++;
    give_up(p, d);
    return hl_buf_append_str(out, sealed);
}

static enum hl_err reseal_both(struct hl_passage *p, struct delivery *d)
{
    d->has_lane = false;
    enum hl_err err = reseal(p, d, "webhook.url", "run.url", d->url, &d->sealed_url);
    return err ? err : reseal(p, d, "webhook.secret", "run.secret", d->secret, &d->sealed_secret);
}

static void add_elsewhere(struct hl_pg_columns *rows, const struct delivery *d)
{
    hl_pg_columns_bytes_if(rows, HL_WRITE_P_URL, d->sealed_url.n > 0, hl_buf_str(&d->sealed_url));
    hl_pg_columns_bytes_if(
        rows, HL_WRITE_P_SECRET, d->sealed_secret.n > 0, hl_buf_str(&d->sealed_secret));
    hl_pg_columns_int_if(rows, HL_WRITE_P_LANE, d->has_lane, d->lane);
}

static void settle(const struct hl_passage *p, struct delivery *d)
{
    if (d->is_leased && d->n >= d->max_attempts)
        give_up(p, d);
}

/* NULL: the attempt has none. */
static void add_report(struct hl_pg_columns *more, const struct hl_attempt_report *report)
{
    static const struct hl_attempt_report none;
    const struct hl_attempt_report *r = report ? report : &none;
    hl_pg_columns_int_if(more, HL_WRITE_P_NAME_US, report, r->name_us);
    hl_pg_columns_int_if(more, HL_WRITE_P_CONNECT_US, report, r->connect_us);
    hl_pg_columns_int_if(more, HL_WRITE_P_TLS_US, report, r->tls_us);
    hl_pg_columns_int_if(more, HL_WRITE_P_FIRST_BYTE_US, report, r->first_byte_us);
    hl_pg_columns_bytes_if(more, HL_WRITE_P_ADDRESS, report, hl_str_from(r->address));
    hl_pg_columns_bytes_if(more, HL_WRITE_P_CONTENT_TYPE, report, hl_str_from(r->content_type));
    hl_pg_columns_bytes_if(more, HL_WRITE_P_BODY, report, (struct hl_str){r->body, r->body_n});
    hl_pg_columns_int_if(more, HL_WRITE_P_SENT_SIZE, report, (int64_t)r->sent_size);
    hl_pg_columns_int_if(more, HL_WRITE_P_RETRY_AFTER_S, report, r->retry_after_s);
}

static void add_attempt(
    struct hl_passage *p, const struct hl_id *delivery_id, struct hl_sql_row *row)
{
    struct hl_pg_columns *more = &p->more;
    hl_pg_columns_id(more, HL_WRITE_P_TRY_DELIVERY_ID, delivery_id);
    hl_pg_columns_int(more, HL_WRITE_P_TRY_ROUND, hl_sql_int(row));
    hl_pg_columns_int(more, HL_WRITE_P_TRY_N, hl_sql_int(row));
    hl_pg_columns_int(more, HL_WRITE_P_STARTED_MS, hl_sql_int(row));
    int64_t ended_ms = hl_sql_int(row);
    bool has_ended = sqlite3_column_type(row->st, row->at) != SQLITE_NULL;
    int64_t verdict = hl_sql_int(row);
    hl_pg_columns_int(more, HL_WRITE_P_ENDED_MS, has_ended ? ended_ms : p->now_ms);
    hl_pg_columns_int(more, HL_WRITE_P_VERDICT, has_ended ? verdict : HL_ATTEMPT_UNKNOWN);
    hl_pg_columns_int(more, HL_WRITE_P_HTTP_STATUS, hl_sql_int(row));
    hl_pg_columns_bytes(more, HL_WRITE_P_ERROR, hl_sql_str(row));
    struct hl_attempt_report *report = hl_attempt_report_unpack(hl_sql_str(row));
    add_report(more, report);
    free(report);
    hl_pg_columns_end_row(more);
}

static enum hl_err take_attempts(
    struct hl_passage *p, struct hl_sql_args *attempts, const struct hl_id *delivery_id)
{
    struct hl_sql_row row;
    enum hl_err err;
    hl_sql_bind_id(attempts, HL_READ_P_DELIVERY_ID, delivery_id);
    while (!(err = hl_import_source_step(p->db, attempts->st, &row, p->why, p->why_len)))
        add_attempt(p, delivery_id, &row);
    sqlite3_reset(attempts->st);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err send_batch(struct hl_passage *p, const struct hl_id *last)
{
    static const struct hl_pg_column of_attempts[] = {{HL_WRITE_P_TRY_DELIVERY_ID, HL_PG_ID},
        {HL_WRITE_P_TRY_ROUND, HL_PG_INT}, {HL_WRITE_P_TRY_N, HL_PG_INT},
        {HL_WRITE_P_STARTED_MS, HL_PG_INT}, {HL_WRITE_P_ENDED_MS, HL_PG_INT},
        {HL_WRITE_P_VERDICT, HL_PG_INT}, {HL_WRITE_P_HTTP_STATUS, HL_PG_INT},
        {HL_WRITE_P_ERROR, HL_PG_BYTES}, {HL_WRITE_P_NAME_US, HL_PG_INT},
        {HL_WRITE_P_CONNECT_US, HL_PG_INT}, {HL_WRITE_P_TLS_US, HL_PG_INT},
        {HL_WRITE_P_FIRST_BYTE_US, HL_PG_INT}, {HL_WRITE_P_ADDRESS, HL_PG_BYTES},
        {HL_WRITE_P_CONTENT_TYPE, HL_PG_BYTES}, {HL_WRITE_P_BODY, HL_PG_BYTES},
        {HL_WRITE_P_SENT_SIZE, HL_PG_INT}, {HL_WRITE_P_RETRY_AFTER_S, HL_PG_INT}};
    PGresult *result;
    if (p->rows.rows == 0)
        return HL_OK;
    if (p->more.rows == 0)
        hl_pg_columns_shape(&p->more, of_attempts, HL_ARRAY_LEN(of_attempts));
    enum hl_err err = hl_passage_begin(p);
    if (!err)
        err = hl_passage_send(p, HL_WRITE_DELIVERIES, &result);
    if (err)
        return err;
    struct hl_pg_row row = {.result = result};
    uint64_t deliveries = (uint64_t)hl_pg_int(&row), pending = (uint64_t)hl_pg_int(&row);
    uint64_t dead = (uint64_t)hl_pg_int(&row);
    PQclear(result);
    err = hl_passage_commit(p, HL_IMPORT_DELIVERIES, last);
    if (err)
        return err;
    p->done->deliveries += deliveries;
    p->done->pending += pending;
    p->done->dead += dead;
    return HL_OK;
}

static enum hl_err take_all(
    struct hl_passage *p, sqlite3_stmt *st, struct hl_sql_args *attempts, struct delivery *d)
{
    struct hl_sql_row row;
    enum hl_err err;
    while (!(err = hl_import_source_step(p->db, st, &row, p->why, p->why_len))) {
        read_delivery(&row, p->db->base.noted.lead_ms, d);
        settle(p, d);
        err = reseal_both(p, d);
        if (err)
            return err;
        hl_pg_columns_record(&p->rows, &hl_import_write_statements[HL_WRITE_DELIVERIES],
            HL_WRITE_P_DELIVERY_ID, &moved, d);
        add_elsewhere(&p->rows, d);
        hl_pg_columns_end_row(&p->rows);
        err = take_attempts(p, attempts, &d->delivery_id);
        if (!err && hl_passage_is_full(p))
            err = send_batch(p, &d->delivery_id);
        if (err)
            return err;
    }
    return err == HL_ERR_NOT_FOUND ? send_batch(p, &d->delivery_id) : err;
}

enum hl_err hl_import_deliveries(struct hl_passage *p)
{
    struct hl_sql_args args, attempts;
    sqlite3_stmt *st =
        hl_import_source_prepare(p->db, HL_READ_DELIVERIES, &args, p->why, p->why_len);
    sqlite3_stmt *of_one =
        hl_import_source_prepare(p->db, HL_READ_ATTEMPTS, &attempts, p->why, p->why_len);
    struct hl_id after = p->after;
    static const struct hl_id none;
    enum hl_err err = st && of_one ? HL_OK : HL_ERR_IO;
    if (!err) {
        hl_sql_bind_id(&args, HL_READ_P_AFTER, &after);
        struct delivery d = {.delivery_id = p->after};
        err = take_all(p, st, &attempts, &d);
        hl_buf_fini(&d.sealed_url);
        hl_buf_fini(&d.sealed_secret);
    }
    sqlite3_finalize(st);
    sqlite3_finalize(of_one);
    if (!err)
        err = hl_passage_begin(p);
    return err ? err : hl_passage_commit(p, HL_IMPORT_MINUTES, &none);
}
