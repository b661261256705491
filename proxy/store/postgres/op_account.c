/* op_account.c - service accounts, and the key that signs their tokens. */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "store/account.h"
#include "store/notice.h"
#include "store/postgres/meta.h"
#include "store/postgres/thread.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

/* The limits in the order of hl_limits_to_numbers. */
static const unsigned limit_params[HL_LIMITS_NUMBERS] = {HL_PG_P_MAX_RUNNING, HL_PG_P_MAX_QUEUED,
    HL_PG_P_RATE_COUNT, HL_PG_P_RATE_WINDOW_S, HL_PG_P_MAX_PRIORITY, HL_PG_P_LIMITS_REVISION};

static void bind_add(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)s;
    const struct hl_account *a = &((const struct hl_add_account *)op->m)->account;
    hl_pg_add_id(p, HL_PG_P_ACCOUNT_ID, &a->id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(a->project));
    hl_pg_add_str(p, HL_PG_P_NAME, hl_str_from(a->name));
    hl_pg_add_int(p, HL_PG_P_ROLE, a->role);
    hl_pg_add_int(p, HL_PG_P_CREATED_MS, a->created_ms);
    hl_pg_add_int(p, HL_PG_P_EXPIRES_MS, a->expires_ms);
    int64_t limits[HL_LIMITS_NUMBERS];
    hl_limits_to_numbers(&a->limits, limits);
    for (size_t i = 0; i < HL_LIMITS_NUMBERS; i++)
        hl_pg_add_int(p, limit_params[i], limits[i]);
}

const struct hl_pg_operation hl_pg_op_account_add = {.query = HL_PG_DO_ACCOUNT_ADD,
    .is_single = true,
    .is_audited = true,
    .repeated = HL_ERR_EXISTS,
    .bind = bind_add,
    .note = hl_pg_note_for_all};

static void bind_revoke(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)s;
    const struct hl_revoke_account *r = (const struct hl_revoke_account *)op->m;
    hl_pg_add_id(p, HL_PG_P_ACCOUNT_ID, &r->id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(r->project));
    hl_pg_add_int(p, HL_PG_P_NOW_MS, hl_clock_wall_ms());
}

static void note_revoke(struct hl_pg_store *s, struct hl_pg_op *op)
{
    ((struct hl_revoke_account *)op->m)->revoked_ms = op->number;
    hl_pg_note_for_all(s, op);
}

const struct hl_pg_operation hl_pg_op_account_revoke = {.query = HL_PG_DO_ACCOUNT_REVOKE,
    .is_single = true,
    .is_audited = true,
    .bind = bind_revoke,
    .read = hl_pg_read_number,
    .note = note_revoke};

/* All but the revision, which the statement makes. */
static void bind_limit(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)s;
    const struct hl_limit_account *l = (const struct hl_limit_account *)op->m;
    int64_t limits[HL_LIMITS_NUMBERS];
    hl_limits_to_numbers(&l->change.to, limits);
    hl_pg_add_id(p, HL_PG_P_ACCOUNT_ID, &l->id);
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    hl_pg_add_int(p, HL_PG_P_CHANGED, l->change.which);
    for (size_t i = 0; i < HL_LIMITS_NUMBERS - 1; i++)
        hl_pg_add_int(p, limit_params[i], limits[i]);
}

static void read_limit(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    (void)s;
    hl_pg_account(row, &((struct hl_limit_account *)op->m)->account);
}

const struct hl_pg_operation hl_pg_op_account_limit = {.query = HL_PG_DO_ACCOUNT_LIMIT,
    .is_single = true,
    .is_audited = true,
    .bind = bind_limit,
    .read = read_limit,
    .note = hl_pg_note_for_all};

static void bind_touch(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    (void)s;
    const struct hl_touch_accounts *t = (const struct hl_touch_accounts *)op->m;
    hl_pg_array_begin(p, HL_PG_P_ACCOUNT_ID, HL_PG_ID, t->n);
    for (size_t i = 0; i < t->n; i++)
        hl_pg_item_id(p, &t->uses[i].id);
    hl_pg_array_end(p);
    hl_pg_array_begin(p, HL_PG_P_USED_MS, HL_PG_INT, t->n);
    for (size_t i = 0; i < t->n; i++)
        hl_pg_item_int(p, t->uses[i].used_ms);
    hl_pg_array_end(p);
}

const struct hl_pg_operation hl_pg_op_account_touch = {
    .query = HL_PG_DO_ACCOUNT_TOUCH, .is_single = true, .bind = bind_touch};

static void bind_keep(struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_pg_op *op)
{
    static const struct hl_id no_row;
    struct hl_buf sealed = {0};
    struct hl_str key = ((const struct hl_keep_key *)op->m)->key;
    if (!p->err)
        p->err = hl_seal(&s->sealer, "meta.signing_key", &no_row, key, &sealed);
    hl_pg_add_str(p, HL_PG_P_VALUE, hl_buf_str(&sealed));
    hl_buf_fini(&sealed);
}

/* EXISTS: another replica was first, and this is its key. */
static void read_keep(struct hl_pg_store *s, struct hl_pg_op *op, struct hl_pg_row *row)
{
    struct hl_str sealed = hl_pg_str(row);
    if (op->rc == HL_ERR_EXISTS && hl_pg_keep_signing_key(s, sealed) != HL_OK)
        op->rc = HL_ERR_CORRUPT;
}

const struct hl_pg_operation hl_pg_op_key_keep = {
    .query = HL_PG_DO_KEY_KEEP, .is_single = true, .bind = bind_keep, .read = read_keep};
