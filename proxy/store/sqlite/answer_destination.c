/* answer_destination.c - see answer_destination.h. A project's lanes are found by leaps over an index, and of each
 * only the newest deliveries are looked at: what waits for one may be a million. */
#include "store/sqlite/answer_destination.h"

#include <stdlib.h>

#include "base/id.h"
#include "base/str.h"
#include "store/destination.h"
#include "store/destination_tally.h"
#include "store/question.h"
#include "store/sqlite/reading.h"

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

static enum hl_err ask_place(
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

static enum hl_err ask_counts(
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

static void read_attempt(struct hl_sql_row *from, struct hl_attempt_row *attempt)
{
    attempt->started_ms = hl_sql_int(from);
    attempt->ended_ms = hl_sql_int(from);
    attempt->verdict = (enum hl_attempt_verdict)hl_sql_int(from);
    attempt->http_status = (uint16_t)hl_sql_int(from);
    hl_str_put_cut(attempt->error, sizeof(attempt->error), hl_sql_str(from));
}

static enum hl_err ask_attempts(struct hl_reading *r, const char *project, int64_t lane,
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
        read_attempt(&from, &attempt);
        hl_destination_tally_add(tally, row, &attempt);
    }
    hl_destination_tally_end(tally, row);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}

enum hl_err hl_sqlite_answer_lane(struct hl_reading *r, const char *project, int64_t lane,
    struct hl_destination_tally *tally, struct hl_destination_row *row)
{
    row->lane = (uint64_t)lane;
    enum hl_err err = ask_place(r, project, lane, row);
    if (!err)
        err = ask_counts(r, project, lane, row);
    if (!err)
        err = ask_attempts(r, project, lane, tally, row);
    return err;
}

enum hl_err hl_sqlite_answer_list_destinations(struct hl_reading *r, struct hl_list_destinations *l)
{
    struct hl_destination_tally *tally = malloc(sizeof(*tally));
    int64_t lane = (int64_t)l->after;
    bool has_after = l->has_after;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    enum hl_err err = l->rows && tally ? HL_OK : HL_ERR_NOMEM;
    while (!err && !(err = next_lane(r, l->project, has_after, lane, &lane))) {
        has_after = true;
        if (l->count == l->limit) {
            l->has_more = true;
            break;
        }
        err = hl_sqlite_answer_lane(r, l->project, lane, tally, &l->rows[l->count]);
        l->count += !err;
    }
    free(tally);
    return err == HL_ERR_NOT_FOUND ? HL_OK : err;
}
