/* start_audit.c - settings that a start has changed, by what the start before has kept of its own, and the begin of the end.
 * Thread: control.
 * Promise: of a secret, and of what may have one in it, it is kept and told that it is another, and no more; of replicas that share a store the first one
 * that starts with other settings tells it.
 * Not here: what is a setting (config/option.c). */
#include "api/start_audit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/json.h"
#include "api/rest_call.h"
#include "auth/auth.h"
#include "auth/issuer.h"
#include "auth/json_load.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "config/option.h"
#include "config/option_value.h"
#include "store/store.h"

#define TRIES 3
#define SECRET_MARK                                                                                \
    "secret " /* before what tells it from another; no other value is an object of that */

/* A call that nobody has made. */
struct start {
    struct hl_rest_call call;
    json_t *settings;
    unsigned tries;
};

static void on_reply(struct hl_rest_call *call)
{
    struct start *start = HL_CONTAINER_OF(call, struct start, call);
    hl_reply_fini(&call->reply);
    json_decref(start->settings);
    free(start);
}

void hl_start_audit_drop(struct hl_rest_calls *calls)
{
    HL_LIST_EACH_SAFE (node, &calls->list) {
        struct hl_rest_call *call = HL_CONTAINER_OF(node, struct hl_rest_call, node);
        if (call->on_reply != on_reply)
            continue;
        hl_rest_abandon(call);
        on_reply(call);
    }
}

static struct start *start_new(struct hl_rest_calls *calls)
{
    struct start *start = calloc(1, sizeof(*start));
    if (!start)
        return NULL;
    start->call.is_operator = true;
    start->call.on_reply = on_reply;
    if (hl_rest_call_add(calls, &start->call))
        return start;
    hl_rest_end(&start->call);
    return NULL;
}

/* ---- the settings that are set, as an object: values, and what tells secrets apart ---- */

/* Each replica has its own. */
static bool is_replicas(const struct hl_option *option)
{
    return strcmp(option->name, "HOOKLINE_REPLICA") == 0 ||
           strcmp(option->name, "HOOKLINE_REPLICA_URL") == 0;
}

/* A command may have a secret among its words. */
static bool is_hidden(const struct hl_option *option)
{
    return option->is_secret || strcmp(option->name, "HOOKLINE_APP_COMMAND") == 0;
}

static json_t *mark_json(const struct hl_rest_parts *parts, struct hl_str secret)
{
    char mark[HL_SECRET_MARK + 1], text[sizeof(SECRET_MARK) + sizeof(mark)];
    hl_issuer_mark_secret(hl_auth_issuer(parts->auth), secret, mark);
    snprintf(text, sizeof(text), SECRET_MARK "%s", mark);
    return json_string(text);
}

static json_t *value_json(const struct hl_rest_parts *parts, const struct hl_option *option)
{
    if (is_hidden(option))
        return mark_json(parts,
            *(const struct hl_str *)(const void *)((const char *)parts->config + option->offset));
    struct hl_buf value;
    hl_buf_init(&value, 0);
    enum hl_err err = hl_option_show(option, parts->config, &value);
    json_t *json = err ? NULL : hl_json_text(hl_buf_str(&value));
    hl_buf_fini(&value);
    return json;
}

static json_t *settings_json(const struct hl_rest_parts *parts)
{
    json_t *all = json_object();
    for (size_t i = 0; all && i < hl_option_count; i++) {
        const struct hl_option *option = &hl_options[i];
        const struct hl_config_source *source = &parts->config->sources[i];
        if ((!source->text && !source->file) || is_replicas(option))
            continue;
        if (json_object_set_new(all, option->name, value_json(parts, option)) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

/* ---- what is another than before ---- */

static bool is_hidden_name(const char *name)
{
    const struct hl_option *option = hl_option_find(hl_str_from(name));
    return option && is_hidden(option);
}

/* An older hookline has kept the command as it was. False: out of memory. */
static bool hide_former(const struct hl_rest_parts *parts, json_t *before)
{
    json_t *was = json_object_get(before, "HOOKLINE_APP_COMMAND");
    struct hl_str text = hl_json_str(was);
    return !was || hl_str_starts_with(text, HL_STR(SECRET_MARK)) ||
           json_object_set_new(before, "HOOKLINE_APP_COMMAND", mark_json(parts, text)) == 0;
}

static json_t *shown(const json_t *value)
{
    return json_is_string(value) ? json_incref((json_t *)value) : json_null();
}

/* Of one setting, to those that have changed. False: out of memory. */
static bool compare(json_t *changed, const char *name, const json_t *from, const json_t *to)
{
    if (json_equal((json_t *)from, (json_t *)to))
        return true;
    json_t *what = is_hidden_name(name) ? json_string("changed")
                                        : HL_JSON_OBJECT({"from", shown(from)}, {"to", shown(to)});
    return json_object_set_new(changed, name, what) == 0;
}

/* By name, `from` and `to`, null where it was not set. NULL: out of memory. */
static json_t *differences(const json_t *before, const json_t *after)
{
    json_t *changed = json_object();
    bool is_whole = changed;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)before, name, value)
    {
        is_whole = is_whole && compare(changed, name, value, json_object_get(after, name));
    }
    json_object_foreach((json_t *)after, name, value)
    {
        if (!json_object_get(before, name))
            is_whole = is_whole && compare(changed, name, NULL, value);
    }
    if (is_whole)
        return changed;
    json_decref(changed);
    return NULL;
}

/* ---- telling ---- */

static struct hl_audit *make_audit(struct hl_rest_calls *calls, enum hl_audit_action action,
    const char *via, json_t *target, json_t *detail)
{
    int64_t now_ms = hl_clock_wall_ms();
    struct hl_audit what = {.id = hl_id_next(&calls->ids, now_ms), .action = action, .count = -1};
    json_t *author = hl_audit_author_json(&(struct hl_audit_author){.via = via});
    struct hl_audit *audit = hl_audit_make(&what, author, target, detail);
    json_decref(author);
    return audit;
}

json_t *hl_audit_replica_json(const struct hl_rest_parts *parts)
{
    return hl_store_is_shared(parts->store)
               ? hl_audit_target_json("replica", NULL, parts->config->replica)
               : NULL;
}

static void ask(struct hl_rest_call *call);
static void on_kept(struct hl_rest_call *call);

/* Nobody is told why the next start has nothing to compare with but the log. */
static void give_up(struct hl_rest_call *call, enum hl_err why)
{
    HL_LOG(WARN, "the settings could not be compared with those of the previous start",
        HL_LOG_TEXT("error", hl_err_text(why)));
    hl_rest_end(call);
}

/* Takes the object of what has changed; of a first start, and where nothing has, there is nothing to tell. */
static bool add_audit(struct hl_rest_call *call, struct hl_keep_settings *k, json_t *changed)
{
    if (json_object_size(changed) == 0) {
        json_decref(changed);
        return true;
    }
    bool is_key = json_object_get(changed, "HOOKLINE_KEY");
    k->m.audit =
        make_audit(call->all, is_key ? HL_AUDIT_KEY_ROTATED : HL_AUDIT_SETTINGS_CHANGED, "start",
            hl_audit_replica_json(hl_rest_get_parts(call)), HL_JSON_OBJECT({"settings", changed}));
    return k->m.audit;
}

static void keep(struct hl_rest_call *call)
{
    struct start *start = HL_CONTAINER_OF(call, struct start, call);
    const struct hl_get_settings *g = (const struct hl_get_settings *)call->answers[0];
    if (g->m.rc != HL_OK && g->m.rc != HL_ERR_NOT_FOUND) {
        give_up(call, g->m.rc);
        return;
    }
    bool is_first = g->m.rc == HL_ERR_NOT_FOUND;
    json_t *before = is_first ? NULL : hl_json_load(hl_buf_str(&g->value), 0, NULL);
    bool is_comparable = !is_first && hide_former(hl_rest_get_parts(call), before);
    json_t *changed = is_comparable ? differences(before, start->settings) : NULL;
    struct hl_keep_settings *k = calloc(1, sizeof(*k));
    json_decref(before);
    if (!is_first && changed && json_object_size(changed) == 0) {
        json_decref(changed);
        free(k);
        hl_rest_end(call);
        return;
    }
    bool is_whole = k && (is_first || changed) &&
                    hl_json_write(json_incref(start->settings), &k->value) == HL_OK &&
                    hl_buf_append_str(&k->former, hl_buf_str(&g->value)) == HL_OK;
    if (is_whole)
        is_whole = add_audit(call, k, changed);
    else
        json_decref(changed);
    if (!is_whole) {
        if (k)
            hl_keep_settings_fini(k);
        free(k);
        give_up(call, HL_ERR_NOMEM);
        return;
    }
    hl_rest_drop_answers(call);
    hl_rest_ask_store(call, HL_STORE_KEEP_SETTINGS, &k->m);
    hl_rest_then(call, on_kept);
}

/* Another replica was first: what it has kept is what to compare with. */
static void on_kept(struct hl_rest_call *call)
{
    struct start *start = HL_CONTAINER_OF(call, struct start, call);
    enum hl_err rc = call->answers[0]->rc;
    hl_rest_drop_answers(call);
    if (rc == HL_ERR_STALE && ++start->tries < TRIES)
        ask(call);
    else if (rc != HL_OK)
        give_up(call, rc);
    else
        hl_rest_end(call);
}

static void ask(struct hl_rest_call *call)
{
    struct hl_get_settings *g = calloc(1, sizeof(*g));
    if (!g) {
        give_up(call, HL_ERR_NOMEM);
        return;
    }
    hl_rest_ask_store(call, HL_STORE_GET_SETTINGS, &g->m);
    hl_rest_then(call, keep);
}

void hl_start_audit_begin(struct hl_rest_calls *calls)
{
    if (!hl_auth_issuer(calls->parts.auth))
        return;
    struct start *start = start_new(calls);
    if (!start)
        return;
    start->settings = settings_json(&calls->parts);
    if (start->settings)
        ask(&start->call);
    else
        give_up(&start->call, HL_ERR_NOMEM);
}

void hl_drain_audit(struct hl_rest_calls *calls, const char *via, const char *name)
{
    struct hl_audit *audit =
        make_audit(calls, HL_AUDIT_DRAIN_BEGUN, via, hl_audit_replica_json(&calls->parts),
            name ? HL_JSON_OBJECT({"signal", json_string(name)}) : NULL);
    struct hl_store_msg *m = audit ? calloc(1, sizeof(*m)) : NULL;
    if (!m) {
        free(audit);
        return;
    }
    hl_audit_log(audit); /* at once: nobody may be there any more when the store has answered */
    m->audit = audit;
    m->msg.type = HL_STORE_AUDIT;
    m->reply_to = calls->mail;
    enum hl_err err = hl_store_post(calls->parts.store, m);
    if (err == HL_OK)
        return;
    m->rc = err;
    hl_audit_log_answer(m);
    free(audit);
    free(m);
}
