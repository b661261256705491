/* op_common.c - what several requests have in common. */
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/postgres/thread.h"

void hl_pg_bind_me(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)op;
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
}

void hl_pg_read_number(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    (void)s;
    op->number = hl_pg_int(row);
}

void hl_pg_note_for_all(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (op->rc == HL_OK)
        hl_pg_notify_all(s);
}
