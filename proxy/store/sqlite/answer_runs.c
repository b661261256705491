/* answer_runs.c - lists of runs, and how many they have. The reader's thread, inside a transaction.
 *
 * Where a list's ids come from depends on what is asked: final states and all states from an index
 * (merge.h), queued runs from their tickets, running ones from the store's thread, which knows them
 * (engine.c): no index moves with a run's way through the states.
 * Not here: what is read of a run (answer_run.c). */
#include <stdlib.h>
#include <string.h>

#include "store/operation.h"
#include "store/question.h"
#include "store/sqlite/merge.h"
#include "store/sqlite/reading.h"

/* How many records that do not fit one request may pass over where no index leads. */
#define LOOKS 1000
/* Of how many ids a search reads a part at a time. */
#define SEARCH_PIECE 2000

static enum hl_err add_row(
    struct hl_reading *r, struct hl_list_runs *l, const struct hl_id *id, struct hl_run_row **row)
{
    struct hl_outcome outcome;
    *row = &l->rows[l->count];
    enum hl_err err = hl_reading_run(r, id, false, *row, &outcome);
    l->count += !err;
    return err;
}

static enum hl_err add_parts(struct hl_merge *m, int64_t app_id, const void *arg)
{
    const struct hl_list_runs *l = arg;
    enum hl_err err = HL_OK;
    for (int is_async = 0; is_async < 2 && !err; is_async++)
        if (l->is_async < 0 || l->is_async == is_async)
            err = hl_merge_add(m, app_id, is_async, hl_list_runs_state(l));
    return err;
}

/* Of an index by tags, which knows neither modes nor states. */
static enum hl_err add_app(struct hl_merge *m, int64_t app_id, const void *arg)
{
    (void)arg;
    return hl_merge_add(m, app_id, false, -1);
}

/* Whether one that is looked at is wanted, and its state: little is read of it. */
static enum hl_err look_at(struct hl_reading *r, const struct hl_list_runs *l,
    const struct hl_id *id, bool *fits, enum hl_run_state *state)
{
    struct hl_sql_row row;
    struct hl_searched_run run = {.has_webhook = false};
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_RUN_SEARCHED);
    hl_sql_bind_id(args, HL_ASK_P_RUN_ID, id);
    enum hl_err err = hl_reading_row(r, HL_ASK_RUN_SEARCHED, &row);
    *fits = false;
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err; /* a tag that was left behind */
    int is_async = (int)hl_sql_int(&row);
    *state = (enum hl_run_state)hl_sql_int(&row);
    bool is_listed =
        (l->is_async < 0 || l->is_async == is_async) && (l->state < 0 || l->state == (int)*state);
    run.reason = (enum hl_run_reason)hl_sql_int(&row);
    run.http_status = (uint16_t)hl_sql_int(&row);
    run.has_webhook = hl_sql_int(&row);
    int64_t packed = hl_sql_int(&row);
    run.pending = hl_deliveries_in(packed, HL_DELIVERY_PENDING);
    run.ok = hl_deliveries_in(packed, HL_DELIVERY_OK);
    run.dead = hl_deliveries_in(packed, HL_DELIVERY_DEAD);
    run.path = hl_sql_str(&row);
    run.error = hl_sql_str(&row);
    run.tags = hl_sql_str(&row);
    *fits = is_listed && hl_run_search_fits(&l->search, &run);
    hl_reading_done(r, HL_ASK_RUN_SEARCHED);
    return HL_OK;
}

static enum hl_err is_searched(
    struct hl_reading *r, const void *list, const struct hl_id *id, bool *fits)
{
    const struct hl_list_runs *l = list;
    enum hl_run_state state;
    *fits = hl_run_search_fits_id(&l->search, id);
    return *fits && hl_run_search_reads(&l->search) ? look_at(r, l, id, fits, &state) : HL_OK;
}

/* Of those that are asked for the one that the fewest runs have: the others are looked for in these. */
static enum hl_err choose_tag(struct hl_reading *r, const struct hl_list_runs *l,
    const struct hl_id *before, const struct hl_id *from, struct hl_str *chosen)
{
    struct hl_str left = hl_str_from(l->search.tags);
    struct hl_tag tag;
    uint64_t fewest = UINT64_MAX, n = 0;
    enum hl_err err = HL_OK;
    bool is_one = !memchr(left.p, ',', left.n);
    *chosen = left;
    while (!is_one && !err && hl_tag_next(&left, &tag)) {
        struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_TAG_COUNT);
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
        hl_sql_bind_text(args, HL_ASK_P_APP, hl_str_from(l->app));
        hl_sql_bind_text(args, HL_ASK_P_TAG, tag.whole);
        hl_sql_bind_id(args, HL_ASK_P_BEFORE, before);
        hl_sql_bind_id(args, HL_ASK_P_FROM, from);
        hl_sql_bind_int(args, HL_ASK_P_MAX, HL_SEARCH_TAG_COUNT);
        err = hl_reading_count(r, HL_ASK_TAG_COUNT, &n);
        if (!err && n < fewest) {
            fewest = n;
            *chosen = tag.whole;
        }
    }
    return err;
}

/* Opens the index that a list is read by. */
static enum hl_err open_index(struct hl_merge *merge, struct hl_reading *r,
    const struct hl_list_runs *l, const struct hl_id *before, const struct hl_id *from,
    uint32_t piece)
{
    struct hl_str tag = {0};
    enum hl_err err = choose_tag(r, l, before, from, &tag);
    enum hl_ask which = tag.n > 0                   ? HL_ASK_RUN_IDS_TAGGED
                        : hl_list_runs_state(l) < 0 ? HL_ASK_RUN_IDS
                                                    : HL_ASK_RUN_IDS_IN_STATE;
    hl_merge_init(merge, r, which, before, from, piece);
    merge->tag = tag;
    return err ? err
               : hl_merge_each_app(merge, l->project, l->app, tag.n > 0 ? add_app : add_parts, l);
}

static enum hl_err list_indexed(struct hl_reading *r, struct hl_list_runs *l,
    const struct hl_id *before, const struct hl_id *from)
{
    struct hl_merge merge;
    struct hl_id id;
    struct hl_run_row *row;
    bool walks = hl_run_search_walks(&l->search);
    struct hl_merge_search search = {.list = l, .listing = &l->listing};
    search.fits = walks ? is_searched : NULL;
    search.looks =
        hl_run_search_reads(&l->search) && !l->search.has_tail ? HL_SEARCH_RECORDS : HL_SEARCH_IDS;
    enum hl_err err = open_index(&merge, r, l, before, from, walks ? SEARCH_PIECE : l->limit + 1);
    while (!err && !(err = hl_merge_next_fitting(&merge, &search, &id))) {
        if (l->count == l->limit) {
            l->has_more = true;
            break;
        }
        err = add_row(r, l, &id, &row);
        l->next = id;
    }
    hl_merge_fini(&merge);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err count_indexed(struct hl_reading *r, struct hl_list_runs *l,
    const struct hl_id *before, const struct hl_id *from)
{
    struct hl_merge merge;
    struct hl_id id;
    uint32_t looks = 0;
    enum hl_err err = open_index(
        &merge, r, l, before, from, l->looks < SEARCH_PIECE ? l->looks + 1 : SEARCH_PIECE);
    while (!err && !(err = hl_merge_next(&merge, &id))) {
        enum hl_run_state state;
        bool fits = hl_run_search_fits_id(&l->search, &id);
        l->has_more = looks++ == l->looks;
        if (l->has_more)
            break;
        l->next = id;
        err = fits ? look_at(r, l, &id, &fits, &state) : HL_OK;
        if (!err && fits)
            hl_run_curve_add(&l->curve, hl_id_time_ms(&id), state, 1);
    }
    hl_merge_fini(&merge);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

/* The last row that was added stays if it fits, or is counted instead. */
static void keep_or_count(struct hl_list_runs *l, bool fits)
{
    struct hl_run_row *row = &l->rows[l->count - 1];
    if (fits && l->only_counts)
        hl_run_curve_add(&l->curve, row->created_ms, row->state, 1);
    if (fits && !l->only_counts)
        return;
    hl_run_row_fini(row);
    l->count--;
}

static size_t looks_of(const struct hl_list_runs *l)
{
    return l->only_counts ? l->looks : LOOKS;
}

static int compare_down(const void *a, const void *b)
{
    return memcmp(b, a, sizeof(struct hl_id));
}

/* Those that have ended since they were picked are passed over. */
static enum hl_err list_picked(struct hl_reading *r, struct hl_list_runs *l,
    const struct hl_id *before, const struct hl_id *from)
{
    enum hl_err err = HL_OK;
    qsort(l->picked, l->n_picked, sizeof(*l->picked), compare_down);
    for (size_t i = 0, looks = 0; i < l->n_picked; i++) {
        const struct hl_id *id = &l->picked[i];
        struct hl_run_row *row;
        if (memcmp(id, before, sizeof(*id)) >= 0)
            continue;
        if (memcmp(id, from, sizeof(*id)) < 0)
            break;
        if (l->count == l->limit || looks++ == looks_of(l)) {
            l->has_more = true;
            break;
        }
        err = add_row(r, l, id, &row);
        l->next = *id;
        if (err && err != HL_ERR_NOT_FOUND)
            return err;
        if (!err)
            keep_or_count(l, row->state == HL_RUN_RUNNING &&
                                 hl_store_name_fits(row->project, l->project) &&
                                 hl_store_name_fits(row->app, l->app) &&
                                 (l->is_async < 0 || row->is_async == l->is_async) &&
                                 hl_run_search_fits_row(&l->search, row));
    }
    return HL_OK;
}

/* A cursor of this list is a ticket's number, behind eight zero bytes that no run's id has. */
static bool ticket_before(const struct hl_id *before, int64_t *ticket)
{
    uint64_t v = 0;
    *ticket = INT64_MAX;
    if (hl_id_is_nil(before))
        return true;
    for (size_t i = 0; i < sizeof(before->b); i++)
        v = v << 8 | before->b[i];
    *ticket = (int64_t)v;
    return hl_id_time_ms(before) == 0 && *ticket > 0;
}

static struct hl_id cursor_of(int64_t ticket)
{
    struct hl_id id = {{0}};
    for (int i = 0; i < 8; i++)
        id.b[15 - i] = (uint8_t)(ticket >> (8 * i));
    return id;
}

static enum hl_err list_queued(struct hl_reading *r, struct hl_list_runs *l,
    const struct hl_id *until, const struct hl_id *from)
{
    int64_t ticket;
    struct hl_sql_row row;
    struct hl_run_row *run;
    if (!ticket_before(&l->before, &ticket))
        return HL_ERR_INVALID;
    if (l->is_async == 0)
        return HL_OK;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_QUEUE);
    hl_sql_bind_int(args, HL_ASK_P_BEFORE, ticket);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    hl_sql_bind_text(args, HL_ASK_P_APP, hl_str_from(l->app));
    enum hl_err err = HL_OK;
    for (size_t looks = 0; !err; looks++) {
        struct hl_id id;
        err = hl_reading_row(r, HL_ASK_QUEUE, &row);
        if (err)
            break;
        if (l->count == l->limit || looks == looks_of(l)) {
            l->has_more = true;
            break;
        }
        l->next = cursor_of(hl_sql_int(&row));
        hl_sql_id(&row, &id);
        if (l->only_counts)
            l->next = id;
        if (hl_sql_int(&row) && memcmp(&id, until, sizeof(id)) < 0 &&
            memcmp(&id, from, sizeof(id)) >= 0)
            err = add_row(r, l, &id, &run);
        else
            run = NULL;
        if (!err && run)
            keep_or_count(l, hl_run_search_fits_row(&l->search, run));
    }
    hl_reading_done(r, HL_ASK_QUEUE);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_sqlite_answer_list_runs(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_runs *l = (struct hl_list_runs *)m;
    static const struct hl_id newest;
    struct hl_id until, before, from;
    hl_list_bounds(&newest, l->since_ms, l->until_ms, &until, &from);
    hl_list_bounds(&l->before, l->since_ms, l->until_ms, &before, &from);
    hl_run_search_narrow(&l->search, &before, &from);
    if (hl_operation_open_listing(&l->m) != HL_OK)
        return HL_ERR_NOMEM;
    if (l->state == HL_RUN_QUEUED)
        return list_queued(r, l, &until, &from);
    if (l->state == HL_RUN_RUNNING)
        return list_picked(r, l, &before, &from);
    return l->only_counts ? count_indexed(r, l, &before, &from)
                          : list_indexed(r, l, &before, &from);
}
