/* op_tally.c - how synchronous calls ended that have no record. */
#include "store/notice.h"
#include "store/postgres/op.h"
#include "store/postgres/state.h"

static const struct hl_told_tally *told_of(const struct hl_pg_op *op)
{
    return (const struct hl_told_tally *)op->m;
}

static void subject_of_tally(struct hl_pg_op *op)
{
    op->subject = told_of(op)->source;
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

const struct hl_pg_operation hl_pg_op_tally = {
    .query = HL_PG_DO_TALLY, .is_single = true, .subject = subject_of_tally, .bind = bind_tally};
