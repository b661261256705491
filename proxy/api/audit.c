/* audit.c - who changed what, as text: what is stored of it, the line in the log, the member of a list.
 * Thread: the caller's; no state.
 * Not here: which changes there are (rest_audit.c), that row and change are one commit (store/). */
#include "api/audit.h"

#include <stdlib.h>

#include "api/json.h"
#include "auth/json_load.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "store/claim.h"
#include "store/job.h"
#include "store/lease.h"

#define FIELDS_MAX 16

json_t *hl_audit_author_json(const struct hl_audit_author *a)
{
    json_t *account = hl_id_is_nil(&a->account) ? json_null() : hl_json_id(&a->account);
    json_t *uid = a->has_uid ? json_integer(a->uid) : json_null();
    json_t *who = HL_JSON_OBJECT({"account_id", account},
        {"account_name", hl_json_text_or_null(a->account_name)},
        {"subject", hl_json_text_or_null(a->subject)}, {"uid", uid});
    return HL_JSON_OBJECT(
        {"who", who}, {"via", json_string(a->via)}, {"from", hl_json_text_or_null(a->from)});
}

json_t *hl_audit_target_json(const char *kind, const struct hl_id *id, struct hl_str name)
{
    bool has_id = id && !hl_id_is_nil(id);
    return HL_JSON_OBJECT({"kind", json_string(kind)},
        {"id", has_id ? hl_json_id(id) : json_null()}, {"name", hl_json_text_or_null(name)});
}

struct hl_audit *hl_audit_make(
    const struct hl_audit *what, const json_t *author, json_t *target, json_t *detail)
{
    struct hl_audit *audit = NULL;
    struct hl_buf text;
    json_t *told = author ? json_copy((json_t *)author) : NULL;
    bool is_whole = told && json_object_set_new(told, "target", target ? target : json_null()) == 0;
    if (!told)
        json_decref(target);
    if (is_whole)
        is_whole = json_object_set_new(told, "detail", detail ? detail : json_null()) == 0;
    else
        json_decref(detail);
    hl_buf_init(&text, 0);
    if (!is_whole)
        json_decref(told);
    else if (hl_json_write(told, &text) == HL_OK)
        audit =
            hl_audit_new(what, (struct hl_str){text.p, text.n - 1}); /* without the line's end */
    hl_buf_fini(&text);
    return audit;
}

/* ---- the line ---- */

static void add_text(
    struct hl_log_field *fields, size_t *n, const char *name, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value))
        fields[(*n)++] = HL_LOG_STR(name, hl_json_str(value));
    else if (json_is_integer(value))
        fields[(*n)++] = HL_LOG_INT(name, json_integer_value(value));
}

void hl_audit_log(const struct hl_audit *audit)
{
    json_t *told = hl_json_load(hl_audit_told(audit), 0, NULL);
    const json_t *who = json_object_get(told, "who"), *target = json_object_get(told, "target");
    char *detail = json_dumps(json_object_get(told, "detail"), JSON_COMPACT);
    struct hl_log_field fields[FIELDS_MAX];
    size_t n = 0;
    fields[n++] = HL_LOG_ID("audit_id", &audit->id);
    fields[n++] = HL_LOG_TEXT("action", hl_audit_action_text(audit->action));
    if (audit->project[0])
        fields[n++] = HL_LOG_TEXT("project_id", audit->project);
    add_text(fields, &n, "account_id", who, "account_id");
    add_text(fields, &n, "account", who, "account_name");
    add_text(fields, &n, "subject", who, "subject");
    add_text(fields, &n, "uid", who, "uid");
    add_text(fields, &n, "via", told, "via");
    add_text(fields, &n, "from", told, "from");
    add_text(fields, &n, "target", target, "kind");
    add_text(fields, &n, "target_id", target, "id");
    add_text(fields, &n, "target_name", target, "name");
    if (audit->count >= 0)
        fields[n++] = HL_LOG_INT("count", audit->count);
    if (detail)
        fields[n++] = HL_LOG_TEXT("detail", detail);
    fields[n] = (struct hl_log_field){.name = NULL};
    hl_log_write(HL_LOG_INFO, "audit", fields);
    free(detail);
    json_decref(told);
}

/* Whether what is OK has changed anything. */
static bool has_changed(const struct hl_store_msg *m)
{
    const struct hl_redeliver *r = (const struct hl_redeliver *)m;
    if (m->msg.type == HL_STORE_CANCEL)
        return !((const struct hl_run_ref *)m)->was_wished;
    if (m->msg.type == HL_STORE_STOP_JOB)
        return !((const struct hl_stop_job *)m)->was_wished;
    if (m->msg.type != HL_STORE_REDELIVER)
        return true;
    return hl_id_is_nil(&r->delivery_id) ? r->count > 0 : !r->has_more;
}

void hl_audit_log_answer(struct hl_store_msg *m)
{
    bool is_alone = m->msg.type == HL_STORE_AUDIT;
    if (!m->audit || (m->rc != HL_OK && !is_alone) || !has_changed(m))
        return;
    if (m->msg.type == HL_STORE_REDELIVER && m->audit->action == HL_AUDIT_DELIVERIES_REDELIVERED)
        m->audit->count = (int64_t)((const struct hl_redeliver *)m)->count;
    bool is_logged = m->audit->action == HL_AUDIT_DRAIN_BEGUN ||
                     m->audit->action == HL_AUDIT_DRAIN_CANCELLED; /* at once */
    if (!is_logged)
        hl_audit_log(m->audit);
    if (m->rc != HL_OK)
        HL_LOG(WARN, "an audit record could not be written: the previous line says what was done",
            HL_LOG_ID("audit_id", &m->audit->id), HL_LOG_TEXT("error", hl_err_text(m->rc)));
}

/* ---- the list ---- */

/* What is told of it; null where the row is damaged. */
static json_t *member(const json_t *told, const char *name)
{
    json_t *value = json_object_get(told, name);
    return value ? json_incref(value) : json_null();
}

json_t *hl_audit_json(const struct hl_audit *audit)
{
    json_t *told = hl_json_load(hl_audit_told(audit), 0, NULL);
    json_t *json = HL_JSON_OBJECT({"audit_id", hl_json_id(&audit->id)},
        {"at", hl_json_time(hl_id_time_ms(&audit->id))},
        {"project_id", hl_json_text_or_null(hl_str_from(audit->project))},
        {"action", json_string(hl_audit_action_text(audit->action))}, {"who", member(told, "who")},
        {"via", member(told, "via")}, {"from", member(told, "from")},
        {"target", member(told, "target")}, {"count", hl_json_count_or_null(audit->count)},
        {"detail", member(told, "detail")});
    json_decref(told);
    return json;
}
