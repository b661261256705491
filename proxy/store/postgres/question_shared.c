/* question_shared.c - what is asked of what all replicas share: accounts, who changed what, keys, names of apps. */
#include <stdlib.h>
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

static enum hl_err read_list_accounts(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_accounts *l = (struct hl_list_accounts *)m;
    (void)s;
    l->rows = calloc(l->limit, sizeof(*l->rows));
    if (!l->rows)
        return HL_ERR_NOMEM;
    int n = PQntuples(result);
    l->has_more = n > (int)l->limit;
    for (int i = 0; i < n && l->count < l->limit; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        hl_pg_account(&row, &l->rows[l->count++]);
    }
    if (l->count > 0)
        l->next = l->rows[l->count - 1].id;
    return HL_OK;
}

static enum hl_pg_sql bind_list_audit(
    const struct hl_pg_store *s, struct hl_pg_params *p, const struct hl_store_msg *m)
{
    (void)s;
    const struct hl_list_audit *l = (const struct hl_list_audit *)m;
    struct hl_id from, before;
    hl_list_audit_bounds(l, &from, &before);
    hl_pg_add_id(p, HL_PG_P_FROM, &from);
    hl_pg_add_id(p, HL_PG_P_BEFORE, &before);
    hl_pg_add_int(p, HL_PG_P_ACTION, l->action);
    hl_pg_add_int(p, HL_PG_P_MAX, (int64_t)l->limit + 1);
    if (l->project[0])
        hl_pg_add_str(p, HL_PG_P_PROJECT, hl_str_from(l->project));
    return l->project[0] ? HL_PG_DO_ASK_AUDIT_OF_PROJECT : HL_PG_DO_ASK_AUDIT;
}

static enum hl_err read_list_audit(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    enum hl_err err = HL_OK;
    (void)s;
    for (int i = 0; i < PQntuples(result) && !err; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        struct hl_audit audit = {0};
        hl_pg_id(&row, &audit.id);
        hl_str_put_cut(audit.project, sizeof(audit.project), hl_pg_str(&row));
        audit.action = (enum hl_audit_action)hl_pg_int(&row);
        audit.count = hl_pg_int(&row);
        err = hl_list_audit_add((struct hl_list_audit *)m, &audit, hl_pg_str(&row));
    }
    return err;
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

static enum hl_err read_list_apps(
    struct hl_pg_store *s, struct hl_store_msg *m, const PGresult *result)
{
    struct hl_list_apps *l = (struct hl_list_apps *)m;
    (void)s;
    l->names = calloc(HL_LIST_MAX, sizeof(*l->names));
    if (!l->names)
        return HL_ERR_NOMEM;
    for (int i = 0; i < PQntuples(result) && l->count < HL_LIST_MAX; i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        hl_str_put_cut(l->names[l->count++], sizeof(*l->names), hl_pg_str(&row));
    }
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

const struct hl_pg_question hl_pg_list_accounts = {bind_list_accounts, read_list_accounts};
const struct hl_pg_question hl_pg_list_audit = {bind_list_audit, read_list_audit};
const struct hl_pg_question hl_pg_get_settings = {bind_get_settings, read_get_settings};
const struct hl_pg_question hl_pg_get_alerts = {bind_get_alerts, read_get_alerts};
const struct hl_pg_question hl_pg_list_apps = {bind_list_apps, read_list_apps};
const struct hl_pg_question hl_pg_list_keys = {bind_list_keys, read_list_keys};
