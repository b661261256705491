/* question_shared.c - what is asked of what all replicas share: accounts, who changed what, keys, names of apps. */
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "store/account.h"
#include "store/alert.h"
#include "store/audit.h"
#include "store/postgres/meta.h"
#include "store/postgres/param.h"
#include "store/postgres/question.h"
#include "store/postgres/row.h"
#include "store/question.h"

static enum hl_pg_sql bind_list_accounts(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    const struct hl_list_accounts *l = (const struct hl_list_accounts *)m;
    hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    struct hl_id last = hl_id_last();
    hl_pg_add_id(p, HL_PG_P_BEFORE, hl_id_is_nil(&l->before) ? &last : &l->before);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    return HL_PG_DO_ASK_ACCOUNTS;
}

static enum hl_err read_account(
    struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *row)
{
    struct hl_list_accounts *l = (struct hl_list_accounts *)m;
    struct hl_account *account = HL_LISTING_ADD(l);
    (void)s;
    if (!account)
        return HL_OK;
    hl_pg_account(row, account);
    l->next = account->id;
    return HL_OK;
}

static enum hl_pg_sql bind_list_audit(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    const struct hl_list_audit *l = (const struct hl_list_audit *)m;
    struct hl_id from, before;
    hl_list_bounds(&l->before, l->since_ms, l->until_ms, &before, &from);
    hl_pg_add_id(p, HL_PG_P_FROM, &from);
    hl_pg_add_id(p, HL_PG_P_BEFORE, &before);
    hl_pg_add_int(p, HL_PG_P_ACTION, l->action);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    if (l->project[0])
        hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    return l->project[0] ? HL_PG_DO_ASK_AUDIT_OF_PROJECT : HL_PG_DO_ASK_AUDIT;
}

static enum hl_err read_audit(struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *row)
{
    struct hl_audit audit = {0};
    (void)s;
    hl_pg_id(row, &audit.id);
    hl_str_put_cut(audit.project, sizeof(audit.project), hl_pg_str(row));
    audit.action = (enum hl_audit_action)hl_pg_int(row);
    audit.count = hl_pg_int(row);
    return hl_list_audit_add((struct hl_list_audit *)m, &audit, hl_pg_str(row));
}

static enum hl_pg_sql bind_get_settings(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    (void)m;
    hl_pg_add_str(p, HL_PG_P_NAME, HL_STR("settings"));
    return HL_PG_DO_ASK_TEXT;
}

static enum hl_err read_text(struct hl_buf *value, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    return PQntuples(result) == 0 ? HL_ERR_NOT_FOUND : hl_buf_append_str(value, hl_pg_str(&row));
}

static enum hl_err read_get_settings(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    (void)s;
    return read_text(&((struct hl_get_settings *)m)->value, result);
}

static enum hl_pg_sql bind_get_alerts(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    (void)m;
    hl_pg_add_str(p, HL_PG_P_NAME, HL_STR("alerts"));
    return HL_PG_DO_ASK_TEXT;
}

static enum hl_err read_get_alerts(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    (void)s;
    return read_text(&((struct hl_get_alerts *)m)->value, result);
}

static enum hl_pg_sql bind_list_apps(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    const struct hl_list_apps *l = (const struct hl_list_apps *)m;
    if (l->project[0])
        hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    hl_pg_add_int(p, HL_PG_P_MAX, HL_LIST_MAX);
    return l->project[0] ? HL_PG_DO_ASK_APPS : HL_PG_DO_ASK_PROJECTS;
}

static enum hl_err read_name(struct hl_pg_store *s, struct hl_store_msg *m, struct hl_pg_row *row)
{
    struct hl_name *name = HL_LISTING_ADD((struct hl_list_apps *)m);
    (void)s;
    if (name)
        hl_str_put_cut(name->text, sizeof(name->text), hl_pg_str(row));
    return HL_OK;
}

static enum hl_pg_sql bind_list_keys(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    (void)m;
    hl_pg_add_int(p, HL_PG_P_MAX, HL_OLD_KEYS_MAX);
    return HL_PG_DO_ASK_KEYS;
}

static enum hl_err read_list_keys(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_keys *l = (struct hl_list_keys *)m;
    for (int i = 0; i < PQntuples(result) && l->count < HL_OLD_KEYS_MAX; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        struct hl_old_key *key = &l->keys[l->count];
        if (hl_pg_open_old_key(s, hl_pg_str(&row), key) == HL_OK)
            l->count++;
        else
            HL_LOG(ERROR, "store: an imported signing key in the database cannot be opened");
    }
    return HL_OK;
}

const struct hl_pg_question hl_pg_list_accounts = {
    .bind = bind_list_accounts, .read_row = read_account};
const struct hl_pg_question hl_pg_list_audit = {.bind = bind_list_audit, .read_row = read_audit};
const struct hl_pg_question hl_pg_get_settings = {
    .bind = bind_get_settings, .read = read_get_settings};
const struct hl_pg_question hl_pg_get_alerts = {.bind = bind_get_alerts, .read = read_get_alerts};
const struct hl_pg_question hl_pg_list_apps = {.bind = bind_list_apps, .read_row = read_name};
const struct hl_pg_question hl_pg_list_keys = {.bind = bind_list_keys, .read = read_list_keys};
