/* run.c - runs go over: with their requests, as long as they wait, and with their ends. One that had begun
 * was inside the app when the last process ended: it ends as interrupted, with its webhook.
 *
 * Values are opened with the directory's key and sealed with the schema's.
 * Not here: bodies in files (files.c). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/accept.h"
#include "store/body_file.h"
#include "store/data_dir.h"
#include "store/digest.h"
#include "store/import/files.h"
#include "store/import/import.h"
#include "store/import/passage.h"
#include "store/import/source.h"
#include "store/key.h"
#include "store/postgres/row.h"
#include "store/postgres/schema.h"
#include "store/sqlite/database.h"

/* --- one run ------------------------------------------------------------------------------------- */

enum { HEAD, URL, SECRET, VALUES };

static const struct {
    const char *from, *to;
} places[VALUES] = {
    {"ticket.head", "run.head"}, {"webhook.url", "run.url"}, {"webhook.secret", "run.secret"}};

struct run {
    struct hl_id run_id, delivery_id, rerun_of;
    struct hl_str project, app, method, path, traceparent, identity, tags, attempt_log, log;
    struct hl_run_terms terms;
    bool has_begun, is_async, is_cancel_wished, has_ticket, is_interrupted, has_lane;
    int64_t created_ms, started_ms, request_size, lane, start_by_ms, turn_subject, turn;
    uint32_t attempt, epoch;
    struct hl_str values[VALUES]; /* as they stood */
    struct hl_buf sealed[VALUES]; /* as they will stand; empty: null */
    struct hl_body request;
    struct hl_outcome outcome;
    struct hl_str request_bytes, body_bytes;
};

/* What goes over as it stands. */
static const struct hl_column moved_run_columns[] = {
    HL_COLUMN(struct run, run_id, ID),
    HL_COLUMN(struct run, project, TEXT),
    HL_COLUMN(struct run, app, TEXT),
    HL_COLUMN(struct run, is_async, INT),
    HL_COLUMN(struct run, started_ms, INT),
    HL_COLUMN(struct run, attempt, INT),
    HL_COLUMN(struct run, epoch, INT),
    HL_COLUMN(struct run, terms.timeout_ms, INT),
    HL_COLUMN(struct run, start_by_ms, INT),
    HL_COLUMN(struct run, turn_subject, INT),
    HL_COLUMN(struct run, turn, INT),
    HL_COLUMN(struct run, terms.max_attempts, INT),
    HL_COLUMN(struct run, attempt_log, TEXT),
    HL_COLUMN(struct run, traceparent, RAW),
    HL_RUN_COLUMNS(struct run),
};
static const struct hl_columns moved = HL_COLUMNS(moved_run_columns);

static void read_run(struct hl_sql_row *row, struct run *run)
{
    hl_sql_columns(row, &moved, run);
    run->terms.priority = hl_priority_of((int)run->terms.priority);
    run->has_begun = hl_sql_int(row);
    run->is_cancel_wished = hl_sql_int(row);
    run->request_size = hl_sql_int(row);
    run->has_ticket = hl_sql_int(row);
    for (int i = 0; i < VALUES; i++)
        run->values[i] = hl_sql_str(row);
    hl_sql_body(row, &run->request, &run->request_bytes);
    run->log = hl_sql_str(row);
    run->outcome.state = (enum hl_run_state)hl_sql_int(row);
    hl_sql_outcome(row, &run->outcome, &run->body_bytes);
}

/* One that does not open stays empty, and is counted. */
static enum hl_err reseal(struct hl_passage *p, struct run *run, int which)
{
    struct hl_str sealed = run->values[which];
    size_t n;
    char *plain = sealed.n > 0 ? malloc(sealed.n) : NULL;
    if (sealed.n == 0)
        return HL_OK;
    if (!plain)
        return HL_ERR_NOMEM;
    enum hl_err err =
        hl_unseal(&p->db->sealer, places[which].from, &run->run_id, sealed, plain, &n);
    struct hl_str value = {plain, n};
    if (!err)
        err = hl_seal(&p->sealer, places[which].to, &run->run_id, value, &run->sealed[which]);
    if (!err && which == URL) {
        run->lane = (int64_t)hl_key_lane(p->sealer.key, value);
        run->has_lane = true;
    }
    explicit_bzero(plain, sealed.n);
    free(plain);
    p->done->unreadable += err == HL_ERR_CORRUPT;
    return err == HL_ERR_CORRUPT ? HL_OK : err;
}

static bool has_file(struct hl_passage *p, const struct hl_body *body)
{
    int fd;
    if (body->where != HL_BODY_FILE)
        return true;
    bool is_there = hl_body_file_open(p->db->dir.path, &body->file, &fd) == HL_OK;
    if (is_there)
        close(fd);
    else
        p->done->unreadable++;
    return is_there;
}

static bool may_wait(struct hl_passage *p, const struct run *run)
{
    return run->is_async && !run->has_begun && run->has_ticket && run->sealed[HEAD].n > 0 &&
           run->request.where <= HL_BODY_FILE && has_file(p, &run->request);
}

/* What the end of the last process, or damage, has left without an end. */
static void interrupt(struct hl_passage *p, struct run *run)
{
    run->outcome = (struct hl_outcome){.state = HL_RUN_FAILURE,
        .reason = HL_REASON_INTERRUPTED,
        .finished_ms = p->now_ms,
        .encoding = HL_ENCODING_NONE};
    if (run->is_cancel_wished)
        hl_outcome_cancel(&run->outcome);
    run->is_interrupted = true;
    if (run->sealed[URL].n > 0)
        run->delivery_id = hl_id_next(&p->ids, p->now_ms);
}

static bool keeps_request(struct hl_passage *p, const struct run *run)
{
    return run->is_async && run->sealed[HEAD].n > 0 && run->request.where <= HL_BODY_FILE &&
           hl_keeps_request(p->db->keep_requests, run->outcome.state) && has_file(p, &run->request);
}

/* How it stands over there. */
static enum hl_err settle(struct hl_passage *p, struct run *run)
{
    enum hl_err err = HL_OK;
    bool has_ended = hl_run_state_is_final(run->outcome.state);
    for (int i = 0; i < VALUES && !err; i++)
        err = reseal(p, run, i);
    if (run->identity.n > 0) /* its name in the queue depends on the key */
        run->turn_subject = (int64_t)hl_key_subject(p->sealer.key, run->identity);
    bool waits = !err && !has_ended && may_wait(p, run);
    if (waits)
        run->outcome.encoding = HL_ENCODING_NONE;
    else if (!has_ended)
        interrupt(p, run);
    if (!waits && !keeps_request(p, run)) {
        run->request = (struct hl_body){.size = (uint64_t)run->request_size};
        run->sealed[HEAD].n = 0;
    }
    if (!has_file(p, &run->outcome.body))
        run->outcome.body.where = HL_BODY_DROPPED;
    return err;
}

/* --- its row ------------------------------------------------------------------------------------- */

/* The columns of a body. */
struct body_params {
    unsigned where, size, sha256, file, bytes;
};
static const struct body_params of_request = {HL_WRITE_P_REQUEST_WHERE, HL_WRITE_P_REQUEST_SIZE,
    HL_WRITE_P_REQUEST_SHA256, HL_WRITE_P_REQUEST_FILE, HL_WRITE_P_REQUEST_BYTES};
static const struct body_params of_response = {HL_WRITE_P_BODY_WHERE, HL_WRITE_P_BODY_SIZE,
    HL_WRITE_P_BODY_SHA256, HL_WRITE_P_BODY_FILE, HL_WRITE_P_BODY_BYTES};

/* A replica of the version before knows SHA-256 alone. What does not fit goes over as it stands: damage stays visible. */
static void add_digest(
    struct hl_pg_columns *rows, unsigned param, const struct hl_body *body, struct hl_str bytes)
{
    uint8_t digest[HL_DIGEST_SIZE];
    memcpy(digest, body->digest, sizeof(digest));
    if (body->where == HL_BODY_INLINE && hl_digest_fits(digest, bytes))
        hl_digest_sha256(bytes, digest);
    bool is_kept = body->where == HL_BODY_INLINE || body->where == HL_BODY_FILE;
    hl_pg_columns_bytes_if(
        rows, param, is_kept, (struct hl_str){(const char *)digest, sizeof(digest)});
}

static void add_body(struct hl_pg_columns *rows, const struct body_params *params,
    const struct hl_body *body, struct hl_str bytes)
{
    static const struct hl_id none;
    hl_pg_columns_int(rows, params->where, body->where);
    hl_pg_columns_int(rows, params->size, (int64_t)body->size);
    add_digest(rows, params->sha256, body, bytes);
    hl_pg_columns_id(rows, params->file, body->where == HL_BODY_FILE ? &body->file : &none);
    hl_pg_columns_bytes_if(rows, params->bytes, body->where == HL_BODY_INLINE, bytes);
}

static const unsigned sealed_params[VALUES] = {HL_WRITE_P_HEAD, HL_WRITE_P_URL, HL_WRITE_P_SECRET};

static void add_run(struct hl_pg_columns *rows, const struct run *run, enum hl_keep_requests keep)
{
    const struct hl_statement *statement = &hl_import_write_statements[HL_WRITE_RUNS];
    hl_pg_columns_record(rows, statement, HL_WRITE_P_RUN_ID, &moved, run);
    hl_pg_columns_int(rows, HL_WRITE_P_STATE, run->outcome.state);
    for (int i = 0; i < VALUES; i++)
        hl_pg_columns_bytes_if(
            rows, sealed_params[i], run->sealed[i].n > 0, hl_buf_str(&run->sealed[i]));
    hl_pg_columns_int_if(rows, HL_WRITE_P_LANE, run->has_lane, run->lane);
    add_body(rows, &of_request, &run->request, run->request_bytes);
    hl_pg_columns_record(
        rows, statement, HL_WRITE_P_FINISHED_MS, &hl_outcome_columns, &run->outcome);
    add_body(rows, &of_response, &run->outcome.body, run->body_bytes);
    hl_pg_columns_id(rows, HL_WRITE_P_DELIVERY_ID, &run->delivery_id);
    hl_pg_columns_int(rows, HL_WRITE_P_IS_INTERRUPTED, run->is_interrupted);
    hl_pg_columns_bytes_if(rows, HL_WRITE_P_LOG, run->log.n > 0, run->log);
    hl_pg_columns_int(rows, HL_WRITE_P_KEEPS, hl_pg_keeps(keep));
    hl_pg_columns_end_row(rows);
}

/* --- all of them ----------------------------------------------------------------------------------- */

static enum hl_err send_batch(
    struct hl_passage *p, struct hl_import_files *files, const struct hl_id *last)
{
    PGresult *result;
    if (p->rows.rows == 0)
        return HL_OK;
    enum hl_err err = hl_passage_begin(p);
    if (!err)
        err = hl_import_files_put(p, files);
    if (!err)
        err = hl_passage_send(p, HL_WRITE_RUNS, &result);
    if (err)
        return err;
    struct hl_pg_row row = {.result = result};
    uint64_t runs = (uint64_t)hl_pg_int(&row), queued = (uint64_t)hl_pg_int(&row);
    uint64_t interrupted = (uint64_t)hl_pg_int(&row), forwarded = (uint64_t)hl_pg_int(&row);
    PQclear(result);
    err = hl_passage_commit(p, HL_IMPORT_RUNS, last);
    if (err)
        return err;
    p->done->runs += runs;
    p->done->queued += queued;
    p->done->interrupted += interrupted;
    p->done->deliveries += forwarded;
    p->done->pending += forwarded;
    return HL_OK;
}

/* Rows without an app are damage: nobody could ask for them. */
static enum hl_err take(
    struct hl_passage *p, struct hl_import_files *files, struct hl_sql_row *row, struct hl_id *last)
{
    struct run run = {.has_begun = false};
    read_run(row, &run);
    if (run.start_by_ms > 0) /* by the steady clock of the directory */
        run.start_by_ms -= p->db->base.noted.lead_ms;
    enum hl_err err = run.project.p ? settle(p, &run) : HL_OK;
    if (!err && run.project.p) {
        add_run(&p->rows, &run, p->db->keep_requests);
        hl_import_files_note(files, &run.run_id, &run.request);
        hl_import_files_note(files, &run.run_id, &run.outcome.body);
    }
    p->done->unreadable += !run.project.p;
    *last = run.run_id;
    for (int i = 0; i < VALUES; i++)
        hl_buf_fini(&run.sealed[i]);
    return err;
}

static enum hl_err take_all(struct hl_passage *p, struct hl_import_files *files, sqlite3_stmt *st)
{
    struct hl_sql_row row;
    struct hl_id last = p->after;
    enum hl_err err;
    while (!(err = hl_import_source_step(p->db, st, &row, p->why, p->why_len))) {
        err = take(p, files, &row, &last);
        if (!err && (hl_passage_is_full(p) || hl_import_files_are_full(files)))
            err = send_batch(p, files, &last);
        if (err)
            return err;
    }
    return err == HL_ERR_NOT_FOUND ? send_batch(p, files, &last) : err;
}

enum hl_err hl_import_runs(struct hl_passage *p)
{
    static const struct hl_id none;
    struct hl_import_files files;
    struct hl_sql_args args;
    sqlite3_stmt *st = hl_import_source_prepare(p->db, HL_READ_RUNS, &args, p->why, p->why_len);
    struct hl_id after = p->after;
    enum hl_err err = hl_import_files_init(&files);
    if (!err && !st)
        err = HL_ERR_IO;
    if (!err) {
        hl_sql_bind_id(&args, HL_READ_P_AFTER, &after);
        err = take_all(p, &files, st);
    }
    sqlite3_finalize(st);
    hl_import_files_fini(&files);
    if (!err)
        err = hl_passage_begin(p);
    return err ? err : hl_passage_commit(p, HL_IMPORT_DELIVERIES, &none);
}
