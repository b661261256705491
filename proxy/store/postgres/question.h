/* question.h - what a question is on PostgreSQL: a statement with its parameters, and what its result
 * means; answer.c asks. The store's thread. */
#ifndef HL_STORE_POSTGRES_QUESTION_H
#define HL_STORE_POSTGRES_QUESTION_H

#include <libpq-fe.h>
#include <stdint.h>

#include "base/err.h"
#include "store/postgres/statement.h"

struct hl_destination_row;
struct hl_id;
struct hl_pg_params;
struct hl_pg_row;
struct hl_pg_store;
struct hl_run_search;
struct hl_store_msg;

struct hl_pg_question {
    enum hl_pg_sql (*bind)(
        const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m);
    /* Into the message: the whole, or a list's next row. Errors: NOT_FOUND, CORRUPT, NOMEM. */
    enum hl_err (*read)(struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result);
    enum hl_err (*read_row)(struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *row);
};

extern const struct hl_pg_question hl_pg_get_run, hl_pg_list_runs, hl_pg_get_delivery,
    hl_pg_list_deliveries, hl_pg_list_destinations, hl_pg_list_apps, hl_pg_list_replicas,
    hl_pg_list_accounts, hl_pg_list_audit, hl_pg_get_settings, hl_pg_get_alerts, hl_pg_list_keys,
    hl_pg_overview, hl_pg_list_errors, hl_pg_list_jobs, hl_pg_list_job_pieces;

/* From the columns that the part lane_columns of ask.sql has. */
void hl_pg_read_destination(
    struct hl_pg_store *s, struct hl_pg_row *from, struct hl_destination_row *row);

/* Of a list, from `before` and the time bounds: ids in [from, until). */
void hl_pg_add_bounds(struct hl_pg_params *p, const struct hl_id *before, int64_t since_ms,
    int64_t until_ms, const struct hl_run_search *search);

#endif
