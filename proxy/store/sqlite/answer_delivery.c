/* answer_delivery.c - one delivery, a list of them, and a list of their destinations. The reader's thread, inside a
 * transaction. Of sealed webhook URLs a list has what destination.h says. A project's destinations are found by
 * leaps over an index, and of each only the newest deliveries are looked at: what waits for one may be a million. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/str.h"
#include "store/attempt.h"
#include "store/destination.h"
#include "store/key.h"
#include "store/operation.h"
#include "store/question.h"
#include "store/sqlite/merge.h"
#include "store/sqlite/reading.h"

/* Of how many ids a search reads a part at a time. */
#define SEARCH_PIECE 2000

/* Where it goes, and what it is signed with, if that can be opened. */
static enum hl_err open_webhook(struct hl_reading *r, const struct hl_id *run_id, struct hl_str url,
    struct hl_str secret, struct hl_str traceparent, struct hl_get_delivery *g)
{
    enum hl_err err = hl_unseal_append(&r->sealer, "webhook.url", run_id, url, &g->webhook_url);
    if (!err && secret.n > 0)
        err = hl_unseal_append(&r->sealer, "webhook.secret", run_id, secret, &g->webhook_secret);
    return err ? err : hl_buf_append_str(&g->traceparent, traceparent);
}

/* `one`: NULL, or who is told where it goes, too. */
static enum hl_err ask_delivery(struct hl_reading *r, const struct hl_id *id,
    struct hl_delivery_row *row, struct hl_get_delivery *one)
{
    struct hl_receiver receiver;
    struct hl_sql_row from;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_DELIVERY);
    hl_sql_bind_id(args, HL_ASK_P_DELIVERY_ID, id);
    enum hl_err err = hl_reading_row(r, HL_ASK_DELIVERY, &from);
    if (err)
        return err;
    *row = (struct hl_delivery_row){0};
    hl_sql_columns(&from, &hl_delivery_row_columns, row);
    struct hl_str url = hl_sql_str(&from), secret = hl_sql_str(&from);
    row->failing_since_ms = hl_sql_int(&from);
    row->is_resent = hl_sql_int(&from);
    hl_receiver_unseal(&r->sealer, "webhook.url", &row->run_id, url, &receiver);
    if (one && receiver.destination_n > 0)
        err = open_webhook(r, &row->run_id, url, secret, hl_sql_str(&from), one);
    if (!err)
        err = hl_delivery_row_keep(row, &receiver);
    hl_reading_done(r, HL_ASK_DELIVERY);
    return err;
}

static void read_attempt(struct hl_sql_row *from, struct hl_attempt_row *row)
{
    hl_sql_columns(from, &hl_attempt_row_columns, row);
    row->report = hl_attempt_report_unpack(hl_sql_str(from));
}

/* Those that are not shown count too. */
static enum hl_err count_attempts(struct hl_reading *r, struct hl_delivery_row *row)
{
    struct hl_sql_row from;
    row->attempt_count = row->n_attempts;
    if (row->n_attempts < HL_ATTEMPTS_SHOWN)
        return HL_OK;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_ATTEMPT_COUNT);
    hl_sql_bind_id(args, HL_ASK_P_DELIVERY_ID, &row->delivery_id);
    enum hl_err err = hl_reading_row(r, HL_ASK_ATTEMPT_COUNT, &from);
    if (err)
        return err;
    row->attempt_count = (uint64_t)hl_sql_int(&from);
    hl_reading_done(r, HL_ASK_ATTEMPT_COUNT);
    return HL_OK;
}

/* They come newest first, so that those beyond the bound are the oldest, and are turned round. */
static enum hl_err ask_attempts(
    struct hl_reading *r, struct hl_delivery_row *row, bool with_reports)
{
    struct hl_sql_row from;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_ATTEMPTS);
    size_t cap = 0;
    enum hl_err err;
    hl_sql_bind_id(args, HL_ASK_P_DELIVERY_ID, &row->delivery_id);
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_ATTEMPTS_SHOWN);
    hl_sql_bind_int(args, HL_ASK_P_WITH_REPORTS, with_reports);
    while (!(err = hl_reading_row(r, HL_ASK_ATTEMPTS, &from))) {
        if (row->n_attempts == cap) {
            cap = cap ? 2 * cap : 4;
            struct hl_attempt_row *grown = realloc(row->attempts, cap * sizeof(*grown));
            if (!grown) {
                hl_reading_done(r, HL_ASK_ATTEMPTS);
                return HL_ERR_NOMEM;
            }
            row->attempts = grown;
        }
        read_attempt(&from, &row->attempts[row->n_attempts++]);
    }
    for (size_t i = 0, j = row->n_attempts; i + 1 < j; i++) {
        struct hl_attempt_row newer = row->attempts[i];
        row->attempts[i] = row->attempts[--j];
        row->attempts[j] = newer;
    }
    return err == HL_ERR_NOT_FOUND ? count_attempts(r, row) : err;
}

enum hl_err hl_sqlite_answer_get_delivery(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_get_delivery *g = (struct hl_get_delivery *)m;
    enum hl_err err = ask_delivery(r, &g->delivery_id, &g->delivery, g);
    if (!err && !hl_store_name_fits(g->delivery.project, g->project))
        err = HL_ERR_NOT_FOUND;
    if (!err)
        err = ask_attempts(r, &g->delivery, true);
    if (err)
        hl_delivery_row_fini(&g->delivery);
    return err;
}

/* --- a list --------------------------------------------------------------------------------- */

static enum hl_err add_parts(struct hl_merge *m, int64_t app_id, const void *arg)
{
    const struct hl_list_deliveries *l = arg;
    enum hl_err err = HL_OK;
    for (int state = HL_DELIVERY_PENDING; state <= HL_DELIVERY_DEAD && !err; state++)
        if (l->state < 0 || l->state == state)
            err = hl_merge_add(m, app_id, false, state);
    return err;
}

/* A run has few: what does not fit is passed over. (Of a destination's own all fit: they were found by it.) */
static bool is_wanted(const struct hl_list_deliveries *l, const struct hl_delivery_row *row)
{
    return (l->state < 0 || row->state == (enum hl_delivery_state)l->state) &&
           hl_store_name_fits(row->project, l->project) && hl_store_name_fits(row->app, l->app) &&
           (!l->destination[0] || hl_str_eq_nocase(row->destination, hl_str_from(l->destination)));
}

/* The last attempt that has ended has such a status. */
static enum hl_err is_searched(
    struct hl_reading *r, const void *list, const struct hl_id *id, bool *fits)
{
    const struct hl_list_deliveries *l = list;
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_LAST_STATUS);
    hl_sql_bind_id(args, HL_ASK_P_DELIVERY_ID, id);
    enum hl_err err = hl_reading_row(r, HL_ASK_LAST_STATUS, &row);
    *fits = !err && hl_status_range_fits(&l->status, (uint16_t)hl_sql_int(&row));
    if (!err)
        hl_reading_done(r, HL_ASK_LAST_STATUS);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

static enum hl_err add_row(
    struct hl_reading *r, struct hl_list_deliveries *l, const struct hl_id *id)
{
    struct hl_delivery_row *row = &l->rows[l->count];
    enum hl_err err = ask_delivery(r, id, row, NULL);
    if (!err && !is_wanted(l, row)) {
        hl_delivery_row_fini(row);
        return HL_OK;
    }
    if (!err && l->with_attempts)
        err = ask_attempts(r, row, false);
    if (err)
        hl_delivery_row_fini(row);
    l->count += !err;
    return err;
}

static enum hl_err fill(struct hl_reading *r, struct hl_list_deliveries *l, struct hl_merge *merge)
{
    struct hl_merge_search search = {.list = l,
        .listing = &l->listing,
        .fits = l->status.is_set ? is_searched : NULL,
        .looks = HL_SEARCH_RECORDS};
    uint32_t limit = l->only_counts ? HL_SEARCH_RECORDS : l->limit;
    struct hl_id id;
    enum hl_err err = HL_OK;
    while (!err && !(err = hl_merge_next_fitting(merge, &search, &id))) {
        if (l->count == limit) {
            l->has_more = true;
            break;
        }
        if (l->only_counts)
            l->count++;
        else
            err = add_row(r, l, &id);
        l->next = id;
    }
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_sqlite_answer_list_deliveries(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_deliveries *l = (struct hl_list_deliveries *)m;
    struct hl_id before, from;
    struct hl_merge merge;
    bool of_run = !hl_id_is_nil(&l->run_id), of_lane = !of_run && l->destination[0];
    bool walks = l->only_counts || l->status.is_set;
    uint64_t lane = of_lane ? hl_key_lane(r->sealer.key, hl_str_from(l->destination)) : 0;
    hl_list_bounds(&l->before, l->since_ms, l->until_ms, &before, &from);
    if (!l->only_counts && hl_operation_open_listing(&l->m) != HL_OK)
        return HL_ERR_NOMEM;
    hl_merge_init(&merge, r,
        of_run    ? HL_ASK_DELIVERY_IDS_OF_RUN
        : of_lane ? HL_ASK_DELIVERY_IDS_OF_LANE
                  : HL_ASK_DELIVERY_IDS,
        &before, &from, walks ? SEARCH_PIECE : l->limit + 1);
    merge.run_id = l->run_id;
    merge.lane = lane;
    enum hl_err err = of_run ? hl_merge_add(&merge, 0, false, 0)
                             : hl_merge_each_app(&merge, l->project, l->app, add_parts, l);
    err = err ? err : fill(r, l, &merge);
    hl_merge_fini(&merge);
    return err;
}

/* --- destinations ----------------------------------------------------------------------------- */

/* The next lane of the project behind `after`, if that is one. */
static enum hl_err next_lane(
    struct hl_reading *r, const char *project, bool has_after, int64_t after, int64_t *lane)
{
    struct hl_sql_row from;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_LANE_NEXT);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(project));
    if (has_after)
        hl_sql_bind_int(args, HL_ASK_P_AFTER, after);
    else
        hl_sql_bind_null(args, HL_ASK_P_AFTER);
    enum hl_err err = hl_reading_row(r, HL_ASK_LANE_NEXT, &from);
    if (err)
        return err;
    *lane = hl_sql_int(&from);
    hl_reading_done(r, HL_ASK_LANE_NEXT);
    return HL_OK;
}

static enum hl_err ask_lane_url(
    struct hl_reading *r, const char *project, int64_t lane, struct hl_destination_row *row)
{
    struct hl_sql_row from;
    struct hl_id run_id;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_LANE_URL);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(project));
    hl_sql_bind_int(args, HL_ASK_P_LANE, lane);
    enum hl_err err = hl_reading_row(r, HL_ASK_LANE_URL, &from);
    if (err)
        return err == HL_ERR_NOT_FOUND ? HL_OK : err;
    hl_sql_id(&from, &run_id);
    struct hl_str written = hl_destination_unseal(
        &r->sealer, "webhook.url", &run_id, hl_sql_str(&from), row->destination);
    row->destination[written.n] = '\0';
    hl_reading_done(r, HL_ASK_LANE_URL);
    return HL_OK;
}

static enum hl_err ask_lane_counts(
    struct hl_reading *r, const char *project, int64_t lane, struct hl_destination_row *row)
{
    struct hl_sql_row from;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_LANE_COUNTS);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(project));
    hl_sql_bind_int(args, HL_ASK_P_LANE, lane);
    enum hl_err err = hl_reading_row(r, HL_ASK_LANE_COUNTS, &from);
    if (err)
        return err;
    row->pending = (uint64_t)hl_sql_int(&from);
    row->dead = (uint64_t)hl_sql_int(&from);
    row->oldest_ms = hl_sql_int(&from);
    row->failing_since_ms = hl_sql_int(&from);
    hl_reading_done(r, HL_ASK_LANE_COUNTS);
    return HL_OK;
}

static void read_lane_attempt(struct hl_sql_row *from, struct hl_attempt_row *attempt)
{
    attempt->started_ms = hl_sql_int(from);
    attempt->ended_ms = hl_sql_int(from);
    attempt->verdict = (enum hl_attempt_verdict)hl_sql_int(from);
    attempt->http_status = (uint16_t)hl_sql_int(from);
    hl_str_put_cut(attempt->error, sizeof(attempt->error), hl_sql_str(from));
}

static enum hl_err ask_lane_attempts(struct hl_reading *r, const char *project, int64_t lane,
    struct hl_destination_tally *tally, struct hl_destination_row *row)
{
    struct hl_sql_row from;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_LANE_ATTEMPTS);
    hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(project));
    hl_sql_bind_int(args, HL_ASK_P_LANE, lane);
    hl_sql_bind_int(args, HL_ASK_P_MAX, HL_DESTINATION_LOOKS);
    hl_destination_tally_begin(tally, row);
    enum hl_err err;
    while (!(err = hl_reading_row(r, HL_ASK_LANE_ATTEMPTS, &from))) {
        struct hl_attempt_row attempt = {0};
        read_lane_attempt(&from, &attempt);
        hl_destination_tally_add(tally, row, &attempt);
    }
    hl_destination_tally_end(tally, row);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_sqlite_answer_lane(struct hl_reading *r, const char *project, int64_t lane,
    struct hl_destination_tally *tally, struct hl_destination_row *row)
{
    row->lane = (uint64_t)lane;
    enum hl_err err = ask_lane_url(r, project, lane, row);
    if (!err)
        err = ask_lane_counts(r, project, lane, row);
    if (!err)
        err = ask_lane_attempts(r, project, lane, tally, row);
    return err;
}

enum hl_err hl_sqlite_answer_list_destinations(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_destinations *l = (struct hl_list_destinations *)m;
    struct hl_destination_tally *tally = malloc(sizeof(*tally));
    int64_t lane = (int64_t)l->after;
    bool has_after = l->has_after;
    enum hl_err err = tally ? hl_operation_open_listing(&l->m) : HL_ERR_NOMEM;
    while (!err && !(err = next_lane(r, l->project, has_after, lane, &lane))) {
        has_after = true;
        struct hl_destination_row *row = HL_LISTING_ADD(l);
        if (!row)
            break;
        err = hl_sqlite_answer_lane(r, l->project, lane, tally, row);
        l->count -= err != HL_OK;
    }
    free(tally);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}
