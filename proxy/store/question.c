/* question.c - what all answers to questions have in common, and their end. Any thread. */
#include "store/question.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/account.h"
#include "store/message.h"

static const struct hl_column run_row_columns[] = {
    HL_COLUMN(struct hl_run_row, run_id, ID),
    HL_COLUMN(struct hl_run_row, state, INT),
    HL_COLUMN(struct hl_run_row, is_async, INT),
    HL_COLUMN(struct hl_run_row, has_webhook, INT),
    HL_COLUMN(struct hl_run_row, attempt, INT),
    HL_COLUMN(struct hl_run_row, started_ms, INT),
    HL_COLUMN(struct hl_run_row, request_size, INT),
    HL_COLUMN(struct hl_run_row, attempt_log, TEXT),
    HL_COLUMN(struct hl_run_row, next_attempt_ms, INT),
    HL_COLUMN(struct hl_run_row, project, TEXT),
    HL_COLUMN(struct hl_run_row, app, TEXT),
    HL_RUN_COLUMNS(struct hl_run_row),
};
const struct hl_columns hl_run_row_columns = HL_COLUMNS(run_row_columns);

static const struct hl_column delivery_row_columns[] = {
    HL_COLUMN(struct hl_delivery_row, delivery_id, ID),
    HL_COLUMN(struct hl_delivery_row, run_id, ID),
    HL_COLUMN(struct hl_delivery_row, state, INT),
    HL_COLUMN(struct hl_delivery_row, run_state, INT),
    HL_COLUMN(struct hl_delivery_row, round, INT),
    HL_COLUMN(struct hl_delivery_row, n, INT),
    HL_COLUMN(struct hl_delivery_row, max_attempts, INT),
    HL_COLUMN(struct hl_delivery_row, created_ms, INT),
    HL_COLUMN(struct hl_delivery_row, done_ms, INT),
    HL_COLUMN(struct hl_delivery_row, next_ms, INT),
    HL_COLUMN(struct hl_delivery_row, project, TEXT),
    HL_COLUMN(struct hl_delivery_row, app, TEXT),
};
const struct hl_columns hl_delivery_row_columns = HL_COLUMNS(delivery_row_columns);

static const struct hl_column attempt_row_columns[] = {
    HL_COLUMN(struct hl_attempt_row, round, INT),
    HL_COLUMN(struct hl_attempt_row, n, INT),
    HL_COLUMN(struct hl_attempt_row, started_ms, INT),
    HL_COLUMN(struct hl_attempt_row, ended_ms, INT),
    HL_COLUMN(struct hl_attempt_row, verdict, INT),
    HL_COLUMN(struct hl_attempt_row, http_status, INT),
    HL_COLUMN(struct hl_attempt_row, error, RAW),
};
const struct hl_columns hl_attempt_row_columns = HL_COLUMNS(attempt_row_columns);

/* The strings that are not in those tables. */
static const struct hl_column run_row_strings[] = {
    HL_COLUMN(struct hl_run_row, content_type, RAW),
    HL_COLUMN(struct hl_run_row, content_encoding, RAW),
    HL_COLUMN(struct hl_run_row, replica, TEXT),
    HL_COLUMN(struct hl_run_row, error, RAW),
};
static const struct hl_column delivery_row_strings[] = {
    HL_COLUMN(struct hl_delivery_row, destination, RAW),
    HL_COLUMN(struct hl_delivery_row, path, RAW),
};

/* The strings of both, behind each other in one allocation. NULL: out of memory. */
static char *keep(void *row, const struct hl_columns *columns, struct hl_columns more)
{
    size_t n = hl_columns_weigh(columns, row) + hl_columns_weigh(&more, row);
    char *kept = malloc(n + 1), *room = kept; /* never NULL for want of bytes */
    if (kept) {
        hl_columns_copy(columns, row, &room);
        hl_columns_copy(&more, row, &room);
    }
    return kept;
}

enum hl_err hl_run_row_keep(struct hl_run_row *row, const struct hl_outcome *outcome)
{
    row->terms.priority = hl_priority_of((int)row->terms.priority);
    row->content_type = hl_str_from(outcome->content_type);
    row->content_encoding = hl_str_from(outcome->content_encoding);
    row->error = hl_str_from(outcome->error);
    row->strings = keep(row, &hl_run_row_columns, (struct hl_columns)HL_COLUMNS(run_row_strings));
    return row->strings ? HL_OK : HL_ERR_NOMEM;
}

enum hl_err hl_delivery_row_keep(struct hl_delivery_row *row, const struct hl_receiver *receiver)
{
    row->destination = (struct hl_str){receiver->destination, receiver->destination_n};
    row->path = (struct hl_str){receiver->path, receiver->path_n};
    memcpy(row->receiver, receiver->label, sizeof(row->receiver));
    row->strings =
        keep(row, &hl_delivery_row_columns, (struct hl_columns)HL_COLUMNS(delivery_row_strings));
    return row->strings ? HL_OK : HL_ERR_NOMEM;
}

static void wipe(struct hl_buf *buf)
{
    if (buf->n > 0)
        explicit_bzero(buf->p, buf->n);
    hl_buf_fini(buf);
}

void hl_kept_request_fini(struct hl_kept_request *r)
{
    wipe(&r->head);
    wipe(&r->webhook_url);
    wipe(&r->webhook_secret);
    hl_body_fini(&r->body);
    *r = (struct hl_kept_request){0};
}

static void check_request(struct hl_get_run *g)
{
    struct hl_body *body = &g->request.body;
    if (body->where != HL_BODY_INLINE || hl_body_is_intact(body))
        return;
    HL_LOG(ERROR, "store: a kept request is damaged", HL_LOG_ID("run_id", &g->run_id));
    uint64_t size = body->size;
    hl_body_fini(body);
    *body = (struct hl_body){.where = HL_BODY_DROPPED, .size = size};
}

enum hl_err hl_get_run_check(struct hl_get_run *g)
{
    struct hl_body *body = &g->outcome.body;
    check_request(g);
    if (!g->with_body || body->where != HL_BODY_INLINE || hl_body_is_intact(body))
        return HL_OK;
    HL_LOG(ERROR, "store: a kept response is damaged", HL_LOG_ID("run_id", &g->run_id));
    uint64_t size = body->size;
    hl_body_fini(body);
    *body = (struct hl_body){.where = HL_BODY_DROPPED, .size = size};
    g->run.body_where = HL_BODY_DROPPED;
    return HL_ERR_CORRUPT;
}

void hl_get_run_fini(struct hl_get_run *g)
{
    hl_run_row_fini(&g->run);
    hl_body_fini(&g->outcome.body);
    hl_buf_fini(&g->log);
    hl_buf_fini(&g->range);
    hl_buf_fini(&g->answer_head);
    hl_buf_fini(&g->progress);
    hl_buf_fini(&g->home);
    hl_kept_request_fini(&g->request);
}

int hl_list_runs_state(const struct hl_list_runs *l)
{
    return l->state < 0 && l->search.error[0] ? HL_RUN_FAILURE : l->state;
}

void hl_get_delivery_fini(struct hl_get_delivery *g)
{
    hl_delivery_row_fini(&g->delivery);
    wipe(&g->webhook_url);
    wipe(&g->webhook_secret);
    hl_buf_fini(&g->traceparent);
}
