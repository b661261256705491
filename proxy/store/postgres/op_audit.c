/* op_audit.c - who changed what: the row is written by the statement of the change, or behind it in its transaction. */
#include "store/audit.h"

#include "store/accept.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/thread.h"

static const struct hl_audit none;

/* {audited} of sql/parts.sql. */
void hl_pg_audit_bind(struct hl_pg_params *p, const struct hl_store_msg *m)
{
    const struct hl_audit *audit = m->audit ? m->audit : &none;
    if (m->audit)
        hl_pg_add_id(p, HL_PG_P_AUDIT_ID, &audit->id);
    else
        hl_pg_add_null(p, HL_PG_P_AUDIT_ID);
    hl_pg_add_str(p, HL_PG_P_AUDIT_PROJECT, hl_str_from(audit->project));
    hl_pg_add_int(p, HL_PG_P_AUDIT_ACTION, audit->action);
    hl_pg_add_str(p, HL_PG_P_AUDIT_TOLD, hl_audit_told(audit));
}

/* The same as items of arrays. */
void hl_pg_audit_add_row(struct hl_pg_columns *c, const struct hl_store_msg *m)
{
    const struct hl_audit *audit = m->audit ? m->audit : &none;
    hl_pg_columns_id(c, HL_PG_P_AUDIT_ID, &audit->id);
    hl_pg_columns_text(c, HL_PG_P_AUDIT_PROJECT, hl_str_from(audit->project));
    hl_pg_columns_int(c, HL_PG_P_AUDIT_ACTION, audit->action);
    hl_pg_columns_bytes(c, HL_PG_P_AUDIT_TOLD, hl_audit_told(audit));
}

/* The statement that accepts runs is that of every call: those few that are audited have one more behind it. */
bool hl_pg_audit_bind_accepted(struct hl_pg_store *s, struct hl_pg_op *const ops[], size_t n)
{
    bool is_any = false;
    hl_pg_columns_clear(&s->columns);
    for (size_t i = 0; i < n; i++) {
        if (!ops[i]->m->audit)
            continue;
        hl_pg_audit_add_row(&s->columns, ops[i]->m);
        hl_pg_columns_id(
            &s->columns, HL_PG_P_RUN_ID, &((const struct hl_accept *)ops[i]->m)->run_id);
        hl_pg_columns_end_row(&s->columns);
        is_any = true;
    }
    hl_pg_params_clear(&s->params);
    if (is_any)
        hl_pg_columns_bind(&s->columns, &s->params);
    return is_any;
}

static void bind_settings(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    const struct hl_keep_settings *k = (const struct hl_keep_settings *)op->m;
    (void)s;
    hl_pg_add_str(p, HL_PG_P_FORMER, hl_buf_str(&k->former));
    hl_pg_add_str(p, HL_PG_P_VALUE, hl_buf_str(&k->value));
}

const struct hl_pg_operation hl_pg_op_settings_keep = {
    .query = HL_PG_DO_SETTINGS_KEEP, .is_single = true, .is_audited = true, .bind = bind_settings};

const struct hl_pg_operation hl_pg_op_audit = {
    .query = HL_PG_DO_AUDIT_ADD, .is_single = true, .is_audited = true};
