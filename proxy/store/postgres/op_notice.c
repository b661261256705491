/* op_notice.c - what is told that nobody waits for: of a run while it goes on, its event stream as it comes and how far
 * it says it is; how synchronous calls ended that have no record. */
#include "store/notice.h"
#include "store/postgres/op.h"
#include "store/postgres/state.h"
#include "store/postgres/thread.h"

/* --- streams -------------------------------------------------------------------------------- */

static const struct hl_keep_stream *part_of(const struct hl_pg_op *op)
{
    return (const struct hl_keep_stream *)op->m;
}

static void add_part(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    const struct hl_keep_stream *part = part_of(op);
    hl_pg_columns_id(c, HL_PG_P_RUN_ID, &part->run_id);
    hl_pg_columns_int(c, HL_PG_P_EPOCH, part->epoch);
    hl_pg_columns_int(c, HL_PG_P_ATTEMPT, part->attempt);
    hl_pg_columns_int(c, HL_PG_P_AT, (int64_t)part->at);
    hl_pg_columns_bytes(c, HL_PG_P_BYTES, hl_buf_str(&part->bytes));
    hl_pg_add_answer_head(s, c, &part->run_id, hl_buf_str(&part->answer_head));
}

static void note_part(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (op->rc == HL_OK && part_of(op)->answer_head.n > 0)
        hl_pg_notify_answer(s);
}

/* It is for the run's end to come after it. */
const struct hl_pg_operation hl_pg_op_keep_stream = {.query = HL_PG_DO_STREAM_PUT,
    .subject_at = offsetof(struct hl_keep_stream, run_id),
    .add_row = add_part,
    .bind = hl_pg_bind_me,
    .note = note_part};

/* --- progress ------------------------------------------------------------------------------- */

static const struct hl_say_progress *said_of(const struct hl_pg_op *op)
{
    return (const struct hl_say_progress *)op->m;
}

static void add_said(struct hl_pg_store *s, struct hl_pg_columns *c, struct hl_pg_op *op)
{
    const struct hl_say_progress *said = said_of(op);
    (void)s;
    hl_pg_columns_id(c, HL_PG_P_RUN_ID, &said->run_id);
    hl_pg_columns_int(c, HL_PG_P_EPOCH, said->epoch);
    hl_pg_columns_text(c, HL_PG_P_JSON, hl_str_from(said->json));
}

const struct hl_pg_operation hl_pg_op_say_progress = {.query = HL_PG_DO_PROGRESS_PUT,
    .subject_at = offsetof(struct hl_say_progress, run_id),
    .add_row = add_said,
    .bind = hl_pg_bind_me};

/* --- tallies --------------------------------------------------------------------------------- */

static const struct hl_told_tally *told_of(const struct hl_pg_op *op)
{
    return (const struct hl_told_tally *)op->m;
}

/* Of each count which minute of which app it belongs to. */
#define EACH_COUNT(p, param, type, t, item)                                                        \
    do {                                                                                           \
        hl_pg_array_begin(p, param, type, count_all(t));                                           \
        for (size_t i = 0; i < (t)->n; i++)                                                        \
            for (size_t k = 0; k < (t)->minutes[i].tally.n; k++)                                   \
                item;                                                                              \
        hl_pg_array_end(p);                                                                        \
    } while (0)

static size_t count_all(const struct hl_told_tally *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += t->minutes[i].tally.n;
    return n;
}

static void bind_tally(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_told_tally *t = told_of(op);
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_id(p, HL_PG_P_SOURCE, &t->source);
    hl_pg_add_id(p, HL_PG_P_SEEN, &t->id);
    EACH_COUNT(p, HL_PG_P_MINUTE, HL_PG_INT, t, hl_pg_item_int(p, t->minutes[i].minute));
    EACH_COUNT(
        p, HL_PG_P_PROJECT, HL_PG_TEXT, t, hl_pg_item_str(p, hl_str_from(t->minutes[i].project)));
    EACH_COUNT(p, HL_PG_P_APP, HL_PG_TEXT, t, hl_pg_item_str(p, hl_str_from(t->minutes[i].app)));
    EACH_COUNT(
        p, HL_PG_P_COUNT, HL_PG_INT, t, hl_pg_item_int(p, (int64_t)t->minutes[i].tally.counts[k]));
}

const struct hl_pg_operation hl_pg_op_tally = {.query = HL_PG_DO_TALLY,
    .is_single = true,
    .subject_at = offsetof(struct hl_told_tally, source),
    .bind = bind_tally};
