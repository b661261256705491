/* question_error.c - what went wrong, the most frequent first. The server looks, groups and orders. */
#include "base/id.h"
#include "store/postgres/param.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/postgres/thread.h"
#include "store/question.h"

static enum hl_pg_sql bind_list_errors(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    static const struct hl_id newest;
    const struct hl_list_errors *l = (const struct hl_list_errors *)m;
    (void)s;
    hl_pg_add_bounds(p, &newest, l->since_ms, l->until_ms, NULL);
    hl_pg_add_int(p, HL_PG_P_LOOKS, HL_ERROR_LOOKS);
    hl_pg_add_str(p, HL_PG_P_APP, hl_str_from(l->app));
    hl_pg_add_int(p, HL_PG_P_MAX, HL_ERRORS_MAX);
    if (!l->project[0])
        return HL_PG_DO_ASK_ERRORS_OF_ALL;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    return HL_PG_DO_ASK_ERRORS;
}

/* Of the row without a project. */
static void read_whole(struct hl_pg_row *from, struct hl_list_errors *l)
{
    from->column = 4;
    l->kinds = (uint64_t)hl_pg_int(from);
    l->failures = (uint64_t)hl_pg_int(from);
    int64_t looks = hl_pg_int(from), oldest_ms = hl_pg_int(from);
    l->counted_ms = looks == HL_ERROR_LOOKS ? oldest_ms : l->since_ms;
}

static enum hl_err read_row(struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *from)
{
    struct hl_list_errors *l = (struct hl_list_errors *)m;
    (void)s;
    if (hl_pg_next_is_null(from)) {
        read_whole(from, l);
        return HL_OK;
    }
    struct hl_error_row *row = HL_LISTING_ADD(l);
    if (!row)
        return HL_OK;
    hl_str_put_cut(row->project, sizeof(row->project), hl_pg_str(from));
    hl_str_put_cut(row->app, sizeof(row->app), hl_pg_str(from));
    row->reason = (enum hl_run_reason)hl_pg_int(from);
    hl_str_put_cut(row->error, sizeof(row->error), hl_pg_str(from));
    row->count = (uint64_t)hl_pg_int(from);
    row->first_ms = hl_pg_int(from);
    row->last_ms = hl_pg_int(from);
    return HL_OK;
}

const struct hl_pg_question hl_pg_list_errors = {.bind = bind_list_errors, .read_row = read_row};
