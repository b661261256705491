/* job_listing.c - what a job's filter matches: the lists of runs and deliveries are asked as anybody asks them.
 * Thread: control.
 * Promise: each that is there throughout is on one page; where an error came the same page is asked for again. */
#include "api/job_listing.h"

#include "api/json.h"

static void on_end(struct hl_inner_call *inner);

static bool has_until(const struct hl_job_listing *l)
{
    return json_object_get(l->plan->filter, "until") || json_object_get(l->plan->filter, "period");
}

static enum hl_err write_query(const struct hl_job_listing *l, struct hl_buf *out)
{
    const char *state = hl_job_plan_state(l->plan, l->pass);
    char cursor[HL_ID_TEXT];
    enum hl_err err = hl_job_plan_query(l->plan, out);
    if (!err)
        err = hl_buf_printf(out, "%slimit=%d", out->n > 0 ? "&" : "", HL_JOB_PIECE_ITEMS);
    if (!err && state)
        err = hl_buf_printf(out, "&state=%s", state);
    if (!err && l->until_ms > 0 && !has_until(l))
        err = hl_buf_printf(out, "&until=%lld", (long long)l->until_ms);
    hl_id_format(&l->cursor, cursor);
    if (!err && !hl_id_is_nil(&l->cursor))
        err = hl_buf_printf(out, "&cursor=%.*s", HL_ID_TEXT, cursor);
    return err;
}

void hl_job_listing_ask(struct hl_rest_calls *calls, struct hl_job_listing *l)
{
    struct hl_inner_call *inner = &l->inner;
    bool is_of_deliveries = l->plan->what == HL_JOB_REDELIVER;
    l->n = inner->path.n = inner->query.n = 0;
    l->err = hl_buf_printf(
        &inner->path, "/v2/projects/%s/%s", l->project, is_of_deliveries ? "deliveries" : "runs");
    if (!l->err)
        l->err = write_query(l, &inner->query);
    inner->on_end = on_end;
    if (!l->err) {
        hl_inner_call_begin(calls, inner, HL_METHOD_GET);
        return;
    }
    l->err = HL_ERR_UNAVAILABLE;
    l->on_page(l);
}

static enum hl_err read_item(
    const struct hl_job_listing *l, const json_t *row, struct hl_job_item *item)
{
    bool is_delivery = l->plan->what == HL_JOB_REDELIVER;
    const char *id =
        json_string_value(json_object_get(row, is_delivery ? "delivery_id" : "run_id"));
    *item =
        (struct hl_job_item){.round = (uint32_t)json_integer_value(json_object_get(row, "round"))};
    return id && hl_id_parse(hl_str_from(id), &item->id) ? HL_OK : HL_ERR_UNAVAILABLE;
}

/* The cursor goes on to the next page, or the next state. */
static void go_on(struct hl_job_listing *l, const char *cursor)
{
    if (cursor && hl_id_parse(hl_str_from(cursor), &l->cursor))
        return;
    l->cursor = (struct hl_id){0};
    l->pass++;
    l->is_over = !hl_job_plan_has_pass(l->plan, l->pass);
}

static enum hl_err read_page(struct hl_job_listing *l)
{
    json_t *json = hl_inner_call_json(&l->inner), *row;
    const json_t *rows =
        json_object_get(json, l->plan->what == HL_JOB_REDELIVER ? "deliveries" : "runs");
    enum hl_err err = json_is_array(rows) ? HL_OK : HL_ERR_UNAVAILABLE;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        if (!err && l->n < HL_JOB_PIECE_ITEMS)
            err = read_item(l, row, &l->items[l->n++]);
    }
    if (!err)
        go_on(l, json_string_value(json_object_get(json, "next_cursor")));
    json_decref(json);
    return err;
}

static void on_end(struct hl_inner_call *inner)
{
    struct hl_job_listing *l = HL_CONTAINER_OF(inner, struct hl_job_listing, inner);
    bool is_ok = inner->call.reply.status == 200;
    if (is_ok)
        l->err = read_page(l);
    else
        l->err = hl_inner_call_may_work(inner) ? HL_ERR_UNAVAILABLE : HL_ERR_INVALID;
    l->on_page(l);
}

void hl_job_listing_fini(struct hl_job_listing *l)
{
    hl_inner_call_fini(&l->inner);
}
