/* op_stream.c - what is kept of a run while it goes on: its event stream as it comes, and how far it says it is. */
#include "store/notice.h"
#include "store/postgres/op.h"
#include "store/postgres/state.h"

/* --- streams -------------------------------------------------------------------------------- */

static const struct hl_keep_stream *part_of(const struct hl_pg_op *op)
{
    return (const struct hl_keep_stream *)op->m;
}

static void bind_part(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &part_of(ops[i])->run_id));
    HL_PG_EACH(p, HL_PG_P_EPOCH, HL_PG_INT, n, hl_pg_item_int(p, part_of(ops[i])->epoch));
    HL_PG_EACH(p, HL_PG_P_ATTEMPT, HL_PG_INT, n, hl_pg_item_int(p, part_of(ops[i])->attempt));
    HL_PG_EACH(p, HL_PG_P_AT, HL_PG_INT, n, hl_pg_item_int(p, (int64_t)part_of(ops[i])->at));
    HL_PG_EACH(
        p, HL_PG_P_BYTES, HL_PG_BYTES, n, hl_pg_item_str(p, hl_buf_str(&part_of(ops[i])->bytes)));
}

/* It is for the run's end to come after it. */
static void subject_of_part(struct hl_pg_op *op)
{
    op->subject = part_of(op)->run_id;
}

const struct hl_pg_operation hl_pg_op_keep_stream = {
    .query = HL_PG_DO_STREAM_PUT, .subject = subject_of_part, .bind = bind_part};

/* --- progress ------------------------------------------------------------------------------- */

static const struct hl_say_progress *said_of(const struct hl_pg_op *op)
{
    return (const struct hl_say_progress *)op->m;
}

static void bind_said(
    struct hl_pg_store *s, struct hl_pg_params *p, struct hl_pg_op *const ops[], size_t n)
{
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &said_of(ops[i])->run_id));
    HL_PG_EACH(p, HL_PG_P_EPOCH, HL_PG_INT, n, hl_pg_item_int(p, said_of(ops[i])->epoch));
    HL_PG_EACH(
        p, HL_PG_P_JSON, HL_PG_TEXT, n, hl_pg_item_str(p, hl_str_from(said_of(ops[i])->json)));
}

static void subject_of_said(struct hl_pg_op *op)
{
    op->subject = said_of(op)->run_id;
}

const struct hl_pg_operation hl_pg_op_say_progress = {
    .query = HL_PG_DO_PROGRESS_PUT, .subject = subject_of_said, .bind = bind_said};
