/* job_listing.c - what a job's filter matches: the lists of runs and deliveries are asked as anybody asks them.
 * Thread: control.
 * Promise: each that is there throughout is on one page, whatever state it comes to meanwhile; where an error came the
 * same page is asked for again. */
#include "api/job_listing.h"

#include <stdlib.h>

#include "api/json.h"

#define SIEVED_AT_ONCE 32 /* pieces */

static void on_end(struct hl_inner_call *inner);

static enum hl_err write_query(const struct hl_job_listing *l, struct hl_buf *out)
{
    const char *state = hl_job_plan_state(l->plan, l->pass);
    char cursor[HL_ID_TEXT];
    enum hl_err err = hl_job_plan_query(l->plan, out);
    if (!err)
        err = hl_buf_printf(out, "%slimit=%d", out->n > 0 ? "&" : "", HL_JOB_PIECE_ITEMS);
    if (!err && state)
        err = hl_buf_printf(out, "&state=%s", state);
    hl_id_format(&l->cursor, cursor);
    if (!err && !hl_id_is_nil(&l->cursor))
        err = hl_buf_printf(out, "&cursor=%.*s", HL_ID_TEXT, cursor);
    return err;
}

void hl_job_listing_ask(struct hl_rest_calls *calls, struct hl_job_listing *l)
{
    struct hl_inner_call *inner = &l->inner;
    bool is_of_deliveries = l->plan->what == HL_JOB_REDELIVER;
    l->calls = calls;
    l->asked.pass = l->pass;
    l->asked.cursor = l->cursor;
    l->n = inner->path.n = inner->query.n = 0;
    l->err = hl_buf_printf(
        &inner->path, "/v2/projects/%s/%s", l->project, is_of_deliveries ? "deliveries" : "runs");
    if (!l->err)
        l->err = write_query(l, &inner->query);
    inner->on_end = on_end;
    inner->call.before_ms = l->until_ms;
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

/* ---- what was on a page before ---- */

static void ask_pieces(struct hl_job_listing *l, int64_t from);

static void end_sieve(struct hl_job_listing *l, enum hl_err err)
{
    hl_rest_abandon(&l->sieve);
    l->is_sieving = false;
    l->err = err;
    if (err) {
        l->pass = l->asked.pass;
        l->cursor = l->asked.cursor;
        l->is_over = false;
    }
    l->on_page(l);
}

static void drop_known(struct hl_job_listing *l, const struct hl_job_piece *piece)
{
    struct hl_job_item known[HL_JOB_PIECE_ITEMS];
    size_t n, kept = 0;
    if (hl_job_items_read(hl_buf_str(&piece->items), known, &n) != HL_OK)
        return; /* it is passed over later, too */
    for (size_t i = 0; i < l->n; i++) {
        bool is_known = false;
        for (size_t k = 0; k < n && !is_known; k++)
            is_known = hl_id_eq(&known[k].id, &l->items[i].id);
        if (!is_known)
            l->items[kept++] = l->items[i];
    }
    l->n = kept;
}

static void on_pieces(struct hl_rest_call *call)
{
    struct hl_job_listing *l = HL_CONTAINER_OF(call, struct hl_job_listing, sieve);
    const struct hl_list_job_pieces *pieces = (const struct hl_list_job_pieces *)call->answers[0];
    enum hl_err err = pieces->m.rc ? HL_ERR_UNAVAILABLE : HL_OK;
    bool has_more = !err && pieces->has_more && pieces->count > 0;
    int64_t from = has_more ? pieces->rows[pieces->count - 1].n + 1 : 0;
    for (size_t i = 0; !err && i < pieces->count; i++)
        drop_known(l, &pieces->rows[i]);
    hl_rest_drop_answers(call);
    if (has_more && l->n > 0)
        ask_pieces(l, from);
    else
        end_sieve(l, err);
}

static void ask_pieces(struct hl_job_listing *l, int64_t from)
{
    struct hl_list_job_pieces *pieces = calloc(1, sizeof(*pieces));
    if (!pieces) {
        end_sieve(l, HL_ERR_UNAVAILABLE);
        return;
    }
    pieces->job_id = l->job_id;
    pieces->from = from;
    pieces->fates = (1u << HL_JOB_FATES) - 1;
    pieces->limit = SIEVED_AT_ONCE;
    hl_rest_ask_store(&l->sieve, HL_STORE_LIST_JOB_PIECES, &pieces->m);
    hl_rest_then(&l->sieve, on_pieces);
}

/* What was listed in one state may be in the next one by now. */
static void sieve(struct hl_job_listing *l)
{
    l->is_sieving = true;
    if (hl_rest_call_add(l->calls, &l->sieve))
        ask_pieces(l, 0);
    else
        end_sieve(l, HL_ERR_UNAVAILABLE);
}

static void on_end(struct hl_inner_call *inner)
{
    struct hl_job_listing *l = HL_CONTAINER_OF(inner, struct hl_job_listing, inner);
    bool is_ok = inner->call.reply.status == 200;
    bool may_repeat = l->pass > 0 && l->pieces > 0;
    if (is_ok)
        l->err = read_page(l);
    else
        l->err = hl_inner_call_may_work(inner) ? HL_ERR_UNAVAILABLE : HL_ERR_INVALID;
    if (!l->err && may_repeat && l->n > 0)
        sieve(l);
    else
        l->on_page(l);
}

void hl_job_listing_fini(struct hl_job_listing *l)
{
    hl_inner_call_fini(&l->inner);
    if (l->is_sieving)
        hl_rest_abandon(&l->sieve);
    l->is_sieving = false;
}
