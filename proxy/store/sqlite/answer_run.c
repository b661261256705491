/* answer_run.c - one run. The reader's thread, inside a transaction.
 * Not here: lists of runs (answer_runs.c). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/priority.h"
#include "store/body_file.h"
#include "store/question.h"
#include "store/sqlite/reading.h"

/* --- rows ----------------------------------------------------------------------------------- */

/* `*bytes` are the statement's, as are the row's strings until they are kept. */
static void read_columns(
    struct hl_sql_row *from, struct hl_run_row *row, struct hl_outcome *o, struct hl_str *bytes)
{
    *row = (struct hl_run_row){.response_size = -1, .encoding = HL_ENCODING_NONE};
    *o = (struct hl_outcome){0};
    hl_sql_columns(from, &hl_run_row_columns, row);
    int64_t packed = hl_sql_int(from);
    row->deliveries_pending = hl_deliveries_in(packed, HL_DELIVERY_PENDING);
    row->deliveries_ok = hl_deliveries_in(packed, HL_DELIVERY_OK);
    row->deliveries_dead = hl_deliveries_in(packed, HL_DELIVERY_DEAD);
    o->state = row->state;
    *bytes = (struct hl_str){0};
    if (!hl_sql_int(from))
        return;
    hl_sql_outcome(from, o, bytes);
    hl_run_row_end(row, o);
}

enum hl_err hl_reading_run(struct hl_reading *r, const struct hl_id *run_id, bool with_body,
    struct hl_run_row *row, struct hl_outcome *o)
{
    struct hl_sql_row from;
    struct hl_str bytes;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_RUN);
    hl_sql_bind_id(args, HL_ASK_P_RUN_ID, run_id);
    hl_sql_bind_int(args, HL_ASK_P_WITH_BODY, with_body);
    enum hl_err err = hl_reading_row(r, HL_ASK_RUN, &from);
    if (err)
        return err;
    read_columns(&from, row, o, &bytes);
    err = hl_run_row_keep(row, o);
    if (!err && with_body)
        err = hl_body_copy(&o->body, bytes);
    hl_reading_done(r, HL_ASK_RUN);
    if (err)
        hl_run_row_fini(row);
    return err;
}

/* --- one run -------------------------------------------------------------------------------- */

static enum hl_err ask_log(struct hl_reading *r, struct hl_get_run *g)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_RUN_LOG);
    hl_sql_bind_id(args, HL_ASK_P_RUN_ID, &g->run_id);
    enum hl_err err = hl_reading_row(r, HL_ASK_RUN_LOG, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    err = hl_buf_append_str(&g->log, hl_sql_str(&row));
    hl_reading_done(r, HL_ASK_RUN_LOG);
    return err;
}

/* What stands in the row. A statement would read all of it, and in memory that may be long. */
static enum hl_err ask_inline_range(struct hl_reading *r, struct hl_get_run *g)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_RUN_NUMBER);
    hl_sql_bind_id(args, HL_ASK_P_RUN_ID, &g->run_id);
    enum hl_err err = hl_reading_row(r, HL_ASK_RUN_NUMBER, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    int64_t number = hl_sql_int(&row);
    hl_reading_done(r, HL_ASK_RUN_NUMBER);
    uint64_t left = g->outcome.body.size - g->range_from;
    size_t n = left < g->range_max ? (size_t)left : g->range_max;
    err = hl_buf_reserve(&g->range, n);
    if (err)
        return err;
    sqlite3_blob *blob = NULL;
    int rc = sqlite3_blob_open(r->db, "main", "result", "body_bytes", number, 0, &blob);
    if (rc == SQLITE_OK)
        rc = sqlite3_blob_read(blob, g->range.p, (int)n, (int)g->range_from);
    sqlite3_blob_close(blob);
    g->range.n = rc == SQLITE_OK ? n : 0;
    return rc == SQLITE_ERROR ? HL_ERR_CORRUPT
                              : hl_sql_err(r->db, rc); /* there is less than it says */
}

static enum hl_err read_file_range(struct hl_reading *r, struct hl_get_run *g)
{
    int fd;
    enum hl_err err = hl_buf_reserve(&g->range, g->range_max);
    if (!err)
        err = hl_body_file_open(r->data_dir, &g->outcome.body.file, &fd);
    if (err)
        return err;
    ssize_t n = pread(fd, g->range.p, g->range_max, (off_t)g->range_from);
    close(fd);
    g->range.n = n > 0 ? (size_t)n : 0;
    return n > 0 ? HL_OK : HL_ERR_CORRUPT;
}

static enum hl_err ask_range(struct hl_reading *r, struct hl_get_run *g)
{
    const struct hl_body *body = &g->outcome.body;
    if (g->range_from >= body->size)
        return HL_OK;
    if (body->where == HL_BODY_INLINE)
        return ask_inline_range(r, g);
    return body->where == HL_BODY_FILE ? read_file_range(r, g) : HL_OK;
}

static enum hl_err ask_webhook(struct hl_reading *r, struct hl_get_run *g)
{
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_WEBHOOK);
    hl_sql_bind_id(args, HL_ASK_P_RUN_ID, &g->run_id);
    enum hl_err err = hl_reading_row(r, HL_ASK_WEBHOOK, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    struct hl_str url = hl_sql_str(&row), secret = hl_sql_str(&row);
    err = hl_unseal_append(&r->sealer, "webhook.url", &g->run_id, url, &g->request.webhook_url);
    if (!err && secret.n > 0)
        err = hl_unseal_append(
            &r->sealer, "webhook.secret", &g->run_id, secret, &g->request.webhook_secret);
    hl_reading_done(r, HL_ASK_WEBHOOK);
    return err;
}

/* What cannot be opened is as if it were not kept. */
static enum hl_err ask_request(struct hl_reading *r, struct hl_get_run *g)
{
    struct hl_kept_request *request = &g->request;
    bool is_whole = g->with_request == HL_ASKED_REQUEST;
    struct hl_sql_row row;
    struct hl_str bytes;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_REQUEST);
    hl_sql_bind_id(args, HL_ASK_P_RUN_ID, &g->run_id);
    hl_sql_bind_int(args, HL_ASK_P_WITH_BODY, is_whole);
    enum hl_err err = hl_reading_row(r, HL_ASK_REQUEST, &row);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    err = hl_unseal_append(&r->sealer, "ticket.head", &g->run_id, hl_sql_str(&row), &request->head);
    hl_sql_body(&row, &request->body, &bytes);
    if (err || !is_whole)
        request->body = (struct hl_body){.where = HL_BODY_NONE};
    else
        err = hl_body_copy(&request->body, bytes);
    hl_reading_done(r, HL_ASK_REQUEST);
    if (!err && is_whole)
        err = ask_webhook(r, g);
    if (err == HL_ERR_CORRUPT)
        HL_LOG(ERROR, "store: a kept request cannot be opened", HL_LOG_ID("run_id", &g->run_id));
    request->is_there = !err;
    return err == HL_ERR_CORRUPT ? HL_OK : err;
}

/* How many wait, but of the run's own class how many before it. One transaction: they fit together. */
static enum hl_err ask_place(struct hl_reading *r, struct hl_get_run *g)
{
    uint64_t waiting[HL_PRIORITIES];
    enum hl_err err = HL_OK;
    for (int class = 0; class < HL_PRIORITIES && !err; class ++) {
        bool is_own = class == (int)g->run.terms.priority;
        enum hl_ask which = is_own ? HL_ASK_BEFORE : HL_ASK_WAITING;
        struct hl_sql_args *args = hl_reading_bind(r, which);
        if (is_own)
            hl_sql_bind_id(args, HL_ASK_P_RUN_ID, &g->run_id);
        else
            hl_sql_bind_int(args, HL_ASK_P_CLASS, class);
        hl_sql_bind_int(args, HL_ASK_P_MAX, HL_PLACE_LOOKS);
        err = hl_reading_count(r, which, &waiting[class]);
    }
    if (err)
        return err;
    waiting[g->run.terms.priority]++;
    g->place = hl_priority_place(waiting, g->run.terms.priority);
    return HL_OK;
}

static enum hl_err ask_reruns(struct hl_reading *r, struct hl_get_run *g)
{
    struct hl_sql_row from;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_RERUNS);
    hl_sql_bind_id(args, HL_ASK_P_RUN_ID, &g->run_id);
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_RERUNS_SHOWN);
    enum hl_err err;
    while (!(err = hl_reading_row(r, HL_ASK_RERUNS, &from))) {
        struct hl_rerun *rerun = &g->reruns[g->n_reruns++];
        hl_sql_id(&from, &rerun->run_id);
        rerun->state = (enum hl_run_state)hl_sql_int(&from);
        rerun->created_ms = hl_sql_int(&from);
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_sqlite_answer_get_run(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_get_run *g = (struct hl_get_run *)m;
    enum hl_err err = hl_reading_run(r, &g->run_id, g->with_body, &g->run, &g->outcome);
    if (err)
        return err;
    if (!hl_store_name_fits(g->run.project, g->project) ||
        !hl_store_name_fits(g->run.app, g->app)) {
        hl_get_run_fini(g);
        return HL_ERR_NOT_FOUND;
    }
    err = g->with_log ? ask_log(r, g) : HL_OK;
    if (!err && g->range_max > 0)
        err = ask_range(r, g);
    if (!err && g->with_request != HL_ASKED_NO_REQUEST)
        err = ask_request(r, g);
    if (!err && g->with_place && g->run.state == HL_RUN_QUEUED)
        err = ask_place(r, g);
    if (!err && g->with_reruns)
        err = ask_reruns(r, g);
    if (err) {
        hl_get_run_fini(g);
        return err;
    }
    return hl_get_run_check(g);
}
