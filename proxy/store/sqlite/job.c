/* job.c - bulk work: its rows, written on the store's thread inside a transaction; listed on the reader's.
 * Not here: the end of old ones (purge.c). */
#include "store/job.h"

#include <string.h>

#include "store/sqlite/database.h"
#include "store/sqlite/reading.h"

enum hl_err hl_job_add(struct hl_driver *d, const struct hl_add_job *a)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_JOB_ADD);
    hl_sql_bind_id(args, HL_SQL_P_JOB_ID, &a->job_id);
    hl_sql_bind_text(args, HL_SQL_P_PROJECT, hl_str_from(a->project));
    hl_sql_bind_blob(args, HL_SQL_P_PLAN, hl_buf_str(&a->plan));
    hl_sql_bind_blob(args, HL_SQL_P_PROGRESS, hl_buf_str(&a->progress));
    enum hl_err err = hl_database_row(db, HL_SQL_JOB_ADD, &row);
    if (!err)
        hl_database_done(db, HL_SQL_JOB_ADD);
    return hl_database_end(db, err == HL_ERR_NOT_FOUND ? HL_ERR_BUSY : err);
}

static enum hl_err put_piece(
    struct hl_database *db, const struct hl_id *job_id, const struct hl_job_piece *piece)
{
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_JOB_PIECE_PUT);
    hl_sql_bind_id(args, HL_SQL_P_JOB_ID, job_id);
    hl_sql_bind_int(args, HL_SQL_P_N, piece->n);
    hl_sql_bind_int(args, HL_SQL_P_FATES, piece->fates);
    hl_sql_bind_blob(args, HL_SQL_P_ITEMS, hl_buf_str(&piece->items));
    return hl_database_run(db, HL_SQL_JOB_PIECE_PUT);
}

enum hl_err hl_job_keep(struct hl_driver *d, const struct hl_keep_job *k, bool *is_stopping)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_JOB_KEEP);
    hl_sql_bind_id(args, HL_SQL_P_JOB_ID, &k->job_id);
    hl_sql_bind_int(args, HL_SQL_P_VERSION, k->version);
    hl_sql_bind_int(args, HL_SQL_P_ENDED_MS, k->ended_ms);
    hl_sql_bind_blob(args, HL_SQL_P_PROGRESS, hl_buf_str(&k->progress));
    enum hl_err err = hl_database_row(db, HL_SQL_JOB_KEEP, &row);
    if (err)
        return hl_database_end(db, err == HL_ERR_NOT_FOUND ? HL_ERR_STALE : err);
    *is_stopping = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_JOB_KEEP);
    for (size_t i = 0; i < k->n_pieces && !err; i++)
        err = put_piece(db, &k->job_id, &k->pieces[i]);
    if (k->ended_ms > 0)
        db->base.wants_purge = true; /* which says when this one goes */
    return hl_database_end(db, err);
}

enum hl_err hl_job_stop(struct hl_driver *d, const struct hl_stop_job *s, bool *was_wished)
{
    struct hl_database *db = hl_database_of(d);
    struct hl_sql_row row;
    struct hl_sql_args *args = hl_database_bind(db, HL_SQL_JOB_FIND);
    hl_sql_bind_id(args, HL_SQL_P_JOB_ID, &s->job_id);
    enum hl_err err = hl_database_row(db, HL_SQL_JOB_FIND, &row);
    if (err)
        return hl_database_end(db, err);
    struct hl_str project = hl_sql_str(&row);
    bool is_there = !s->project[0] || hl_str_eq(project, hl_str_from(s->project));
    bool has_ended = hl_sql_int(&row) > 0;
    *was_wished = hl_sql_int(&row);
    hl_database_done(db, HL_SQL_JOB_FIND);
    if (!is_there || has_ended)
        return is_there ? HL_ERR_CONFLICT : HL_ERR_NOT_FOUND;
    args = hl_database_bind(db, HL_SQL_JOB_STOP);
    hl_sql_bind_id(args, HL_SQL_P_JOB_ID, &s->job_id);
    return hl_database_end(db, hl_database_run(db, HL_SQL_JOB_STOP));
}

/* ---- lists ---- */

static enum hl_err read_job(struct hl_sql_row *row, struct hl_store_msg *m)
{
    struct hl_job job = {.is_free = true};
    hl_sql_id(row, &job.id);
    hl_str_put_cut(job.project, sizeof(job.project), hl_sql_str(row));
    job.version = hl_sql_int(row);
    job.ended_ms = hl_sql_int(row);
    job.is_stopping = hl_sql_int(row);
    struct hl_str plan = hl_sql_str(row);
    return hl_list_jobs_add((struct hl_list_jobs *)m, &job, plan, hl_sql_str(row));
}

enum hl_err hl_sqlite_answer_list_jobs(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_jobs *l = (struct hl_list_jobs *)m;
    enum hl_ask which = !hl_id_is_nil(&l->job_id) ? HL_ASK_JOB
                        : l->only_open            ? HL_ASK_JOBS_OPEN
                        : l->project[0]           ? HL_ASK_JOBS_OF_PROJECT
                                                  : HL_ASK_JOBS;
    struct hl_sql_args *args = hl_reading_bind(r, which);
    struct hl_id last = hl_id_last();
    if (which == HL_ASK_JOB)
        hl_sql_bind_id(args, HL_ASK_P_JOB_ID, &l->job_id);
    else
        hl_sql_bind_id(args, HL_ASK_P_BEFORE, hl_id_is_nil(&l->before) ? &last : &l->before);
    if (which == HL_ASK_JOB || which == HL_ASK_JOBS_OF_PROJECT)
        hl_sql_bind_text(args, HL_ASK_P_PROJECT, hl_str_from(l->project));
    if (which != HL_ASK_JOB)
        hl_sql_bind_int(args, HL_ASK_P_MAX, (int64_t)l->limit + 1);
    return hl_reading_list(r, which, &l->m, read_job);
}

static enum hl_err read_piece(struct hl_sql_row *row, struct hl_store_msg *m)
{
    int64_t n = hl_sql_int(row);
    unsigned fates = (unsigned)hl_sql_int(row);
    return hl_list_job_pieces_add((struct hl_list_job_pieces *)m, n, fates, hl_sql_str(row));
}

enum hl_err hl_sqlite_answer_list_job_pieces(struct hl_reading *r, struct hl_store_msg *m)
{
    struct hl_list_job_pieces *l = (struct hl_list_job_pieces *)m;
    struct hl_sql_args *args = hl_reading_bind(r, HL_ASK_JOB_PIECES);
    hl_sql_bind_id(args, HL_ASK_P_JOB_ID, &l->job_id);
    hl_sql_bind_int(args, HL_ASK_P_FROM, l->from);
    hl_sql_bind_int(args, HL_ASK_P_FATES, l->fates);
    hl_sql_bind_int(args, HL_ASK_P_MAX, (int64_t)l->limit + 1);
    return hl_reading_list(r, HL_ASK_JOB_PIECES, &l->m, read_piece);
}
