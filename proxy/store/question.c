/* question.c - what all answers to questions have in common, and their end. Any thread. */
#include "store/question.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/account.h"
#include "store/message.h"

enum hl_err hl_run_row_keep(struct hl_run_row *row, const struct hl_outcome *outcome)
{
    row->content_type = hl_str_from(outcome->content_type);
    row->content_encoding = hl_str_from(outcome->content_encoding);
    struct hl_str *each[] = {&row->project, &row->app, &row->method, &row->path, &row->content_type,
        &row->content_encoding, &row->replica, &row->attempt_log, &row->identity};
    row->strings = hl_store_message_keep(each, HL_ARRAY_LEN(each));
    return row->strings ? HL_OK : HL_ERR_NOMEM;
}

enum hl_err hl_delivery_row_keep(struct hl_delivery_row *row)
{
    struct hl_str *each[] = {&row->project, &row->app, &row->destination};
    row->strings = hl_store_message_keep(each, HL_ARRAY_LEN(each));
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
    hl_buf_fini(&g->progress);
    hl_buf_fini(&g->home);
    hl_kept_request_fini(&g->request);
}

void hl_list_runs_fini(struct hl_list_runs *l)
{
    for (size_t i = 0; i < l->count; i++)
        hl_run_row_fini(&l->rows[i]);
    free(l->rows);
    free(l->picked);
    l->rows = NULL;
    l->picked = NULL;
    l->count = l->n_picked = 0;
}

void hl_get_delivery_fini(struct hl_get_delivery *g)
{
    hl_delivery_row_fini(&g->delivery);
    wipe(&g->webhook_url);
}

void hl_list_deliveries_fini(struct hl_list_deliveries *l)
{
    for (size_t i = 0; l->rows && i < l->count; i++)
        hl_delivery_row_fini(&l->rows[i]);
    free(l->rows);
    l->rows = NULL;
    l->count = 0;
}

void hl_list_destinations_fini(struct hl_list_destinations *l)
{
    free(l->rows);
    l->rows = NULL;
    l->count = 0;
}

void hl_list_apps_fini(struct hl_list_apps *l)
{
    free(l->names);
    l->names = NULL;
    l->count = 0;
}

void hl_list_replicas_fini(struct hl_list_replicas *l)
{
    free(l->rows);
    l->rows = NULL;
    l->count = 0;
}

void hl_list_accounts_fini(struct hl_list_accounts *l)
{
    free(l->rows);
    l->rows = NULL;
    l->count = 0;
}
