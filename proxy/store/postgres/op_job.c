/* op_job.c - bulk work: it begins, it is carried on by one replica, somebody stops it; and what is asked of it. */
#include "store/audit.h"
#include "store/job.h"

#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/postgres/thread.h"

static void bind_add(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_add_job *a = (const struct hl_add_job *)op->m;
    (void)s;
    hl_pg_add_id(p, HL_PG_P_JOB_ID, &a->job_id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(a->project));
    hl_pg_add_str(p, HL_PG_P_PLAN, hl_buf_str(&a->plan));
    hl_pg_add_str(p, HL_PG_P_PROGRESS, hl_buf_str(&a->progress));
}

const struct hl_pg_operation hl_pg_op_job_add = {
    .query = HL_PG_DO_JOB_ADD, .is_single = true, .is_audited = true, .bind = bind_add};

static void bind_pieces(struct hl_pg_params *p, const struct hl_keep_job *k)
{
    hl_pg_array_begin(p, HL_PG_P_N, HL_PG_INT, k->n_pieces);
    for (size_t i = 0; i < k->n_pieces; i++)
        hl_pg_item_int(p, k->pieces[i].n);
    hl_pg_array_end(p);
    hl_pg_array_begin(p, HL_PG_P_FATES, HL_PG_INT, k->n_pieces);
    for (size_t i = 0; i < k->n_pieces; i++)
        hl_pg_item_int(p, k->pieces[i].fates);
    hl_pg_array_end(p);
    hl_pg_array_begin(p, HL_PG_P_ITEMS, HL_PG_BYTES, k->n_pieces);
    for (size_t i = 0; i < k->n_pieces; i++)
        hl_pg_item_str(p, hl_buf_str(&k->pieces[i].items));
    hl_pg_array_end(p);
}

static void bind_keep(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_keep_job *k = (const struct hl_keep_job *)op->m;
    (void)s;
    hl_pg_add_id(p, HL_PG_P_JOB_ID, &k->job_id);
    hl_pg_add_int(p, HL_PG_P_VERSION, k->version);
    hl_pg_add_int(p, HL_PG_P_ENDED_MS, k->ended_ms);
    hl_pg_add_int(p, HL_PG_P_TAKES, k->takes);
    hl_pg_add_int(p, HL_PG_P_GIVES_BACK, k->gives_back);
    hl_pg_add_int(p, HL_PG_P_LEASE_MS, k->lease_ms);
    hl_pg_add_str(p, HL_PG_P_PROGRESS, hl_buf_str(&k->progress));
    bind_pieces(p, k);
    hl_pg_add_int(p, HL_PG_P_COUNT, k->m.audit ? k->m.audit->count : -1);
}

static void note_keep(struct hl_pg_store *s, struct hl_pg_op *op)
{
    (void)s;
    ((struct hl_keep_job *)op->m)->is_stopping = op->rc == HL_OK && op->number;
}

const struct hl_pg_operation hl_pg_op_job_keep = {.query = HL_PG_DO_JOB_KEEP,
    .is_single = true,
    .is_audited = true,
    .bind = bind_keep,
    .read = hl_pg_read_number,
    .note = note_keep};

static void bind_stop(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_stop_job *j = (const struct hl_stop_job *)op->m;
    (void)s;
    hl_pg_add_id(p, HL_PG_P_JOB_ID, &j->job_id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(j->project));
}

static void note_stop(struct hl_pg_store *s, struct hl_pg_op *op)
{
    (void)s;
    ((struct hl_stop_job *)op->m)->was_wished = op->rc == HL_OK && op->number;
}

const struct hl_pg_operation hl_pg_op_job_stop = {.query = HL_PG_DO_JOB_STOP,
    .is_single = true,
    .is_audited = true,
    .bind = bind_stop,
    .read = hl_pg_read_number,
    .note = note_stop};

/* ---- questions ---- */

static enum hl_pg_sql bind_list(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_jobs *l = (const struct hl_list_jobs *)m;
    struct hl_id last = hl_id_last();
    (void)s;
    if (!hl_id_is_nil(&l->job_id)) {
        hl_pg_add_id(p, HL_PG_P_JOB_ID, &l->job_id);
        hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
        return HL_PG_DO_ASK_JOB;
    }
    hl_pg_add_id(p, HL_PG_P_BEFORE, hl_id_is_nil(&l->before) ? &last : &l->before);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    if (l->only_open)
        return HL_PG_DO_ASK_JOBS_OPEN;
    if (l->project[0])
        hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    return l->project[0] ? HL_PG_DO_ASK_JOBS_OF_PROJECT : HL_PG_DO_ASK_JOBS;
}

static enum hl_err read_job(struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *row)
{
    struct hl_job job = {0};
    (void)s;
    hl_pg_id(row, &job.id);
    hl_str_put_cut(job.project, sizeof(job.project), hl_pg_str(row));
    job.version = hl_pg_int(row);
    job.ended_ms = hl_pg_int(row);
    job.is_stopping = hl_pg_int(row);
    job.is_free = hl_pg_int(row);
    struct hl_str plan = hl_pg_str(row);
    return hl_list_jobs_add((struct hl_list_jobs *)m, &job, plan, hl_pg_str(row));
}

static enum hl_pg_sql bind_list_pieces(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_list_job_pieces *l = (const struct hl_list_job_pieces *)m;
    (void)s;
    hl_pg_add_id(p, HL_PG_P_JOB_ID, &l->job_id);
    hl_pg_add_int(p, HL_PG_P_FROM, l->from);
    hl_pg_add_int(p, HL_PG_P_FATES, l->fates);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    return HL_PG_DO_ASK_JOB_PIECES;
}

static enum hl_err read_piece(struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *row)
{
    int64_t n = hl_pg_int(row);
    unsigned fates = (unsigned)hl_pg_int(row);
    (void)s;
    return hl_list_job_pieces_add((struct hl_list_job_pieces *)m, n, fates, hl_pg_str(row));
}

const struct hl_pg_question hl_pg_list_jobs = {.bind = bind_list, .read_row = read_job};
const struct hl_pg_question hl_pg_list_job_pieces = {
    .bind = bind_list_pieces, .read_row = read_piece};
