/* job_plan.c - see job_plan.h.
 * Not here: what is done (job_walk.c), the requests about jobs (rest_job.c). */
#include "api/job_plan.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "auth/json_load.h"
#include "base/base64.h"

const char *hl_job_what_text(enum hl_job_what what)
{
    static const char *const texts[] = {[HL_JOB_CANCEL] = "cancel",
        [HL_JOB_RERUN] = "rerun",
        [HL_JOB_REDELIVER] = "redeliver",
        [HL_JOB_UNREADABLE] = "unreadable"};
    return texts[what];
}

static bool read_what(const json_t *value, enum hl_job_what *what)
{
    for (int w = HL_JOB_CANCEL; json_is_string(value) && w <= HL_JOB_REDELIVER; w++)
        if (strcmp(json_string_value(value), hl_job_what_text((enum hl_job_what)w)) == 0) {
            *what = (enum hl_job_what)w;
            return true;
        }
    return false;
}

/* ---- a request ---- */

static bool is_scalar(const json_t *value)
{
    return json_is_string(value) || json_is_integer(value) || json_is_boolean(value);
}

/* What a page is about is not the filter's to say. A list of none asks for nothing: it would match all. */
static bool is_filter(const json_t *filter)
{
    const char *name;
    json_t *value;
    if (!json_is_object(filter) || json_object_get(filter, "limit") ||
        json_object_get(filter, "cursor"))
        return false;
    json_object_foreach((json_t *)filter, name, value)
    {
        size_t i;
        json_t *item;
        bool is_good = is_scalar(value) || json_array_size(value) > 0;
        json_array_foreach(value, i, item) is_good = is_good && is_scalar(item);
        if (!is_good)
            return false;
    }
    return true;
}

/* A cancel is of what waits or runs. */
static bool fits_state(const struct hl_job_plan *plan)
{
    const json_t *given = json_object_get(plan->filter, "state");
    const char *state = json_string_value(json_is_array(given) ? json_array_get(given, 0) : given);
    return plan->what != HL_JOB_CANCEL || !state || strcmp(state, "queued") == 0 ||
           strcmp(state, "running") == 0;
}

static bool read_number(const json_t *value, int64_t most, int64_t *out)
{
    if (!value)
        return true;
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0 && *out <= most;
}

static size_t count_known(const json_t *body)
{
    static const char *const names[] = {"what", "filter", "pause_ms", "expected", "dry_run"};
    size_t n = 0;
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
        n += json_object_get(body, names[i]) != NULL;
    return n;
}

enum hl_refusal_cause hl_job_plan_read(const json_t *body, struct hl_job_plan *out)
{
    const json_t *dry_run = json_object_get(body, "dry_run");
    json_t *filter = json_object_get(body, "filter");
    *out = (struct hl_job_plan){.pause_ms = HL_JOB_PAUSE_MS, .expected = -1};
    if (count_known(body) != json_object_size(body) || (dry_run && !json_is_boolean(dry_run)))
        return HL_REFUSAL_JOB_MEMBERS;
    out->only_counts = json_is_true(dry_run);
    if (!read_what(json_object_get(body, "what"), &out->what))
        return HL_REFUSAL_JOB_WHAT;
    if (!is_filter(filter))
        return HL_REFUSAL_JOB_FILTER;
    out->filter = json_incref(filter);
    if (!fits_state(out))
        return HL_REFUSAL_JOB_CANCEL_STATE;
    if (!read_number(json_object_get(body, "pause_ms"), HL_JOB_PAUSE_MAX_MS, &out->pause_ms))
        return HL_REFUSAL_JOB_PAUSE;
    if (!read_number(json_object_get(body, "expected"), INT64_MAX, &out->expected))
        return HL_REFUSAL_JOB_EXPECTED;
    return HL_REFUSAL_NONE;
}

/* ---- as it is kept ---- */

static json_t *asker_json(const struct hl_asker *asker)
{
    char identity[(HL_IDENTITY_MAX + 2) / 3 * 4];
    size_t n = hl_base64_encode(identity, asker->identity, asker->identity_n);
    return HL_JSON_OBJECT({"subject", hl_json_text(hl_str_from(asker->subject))},
        {"identity", json_stringn(identity, n)},
        {"max_priority", json_integer(asker->max_priority)});
}

enum hl_err hl_job_plan_write(const struct hl_job_plan *plan, struct hl_buf *out)
{
    return hl_json_write(
        HL_JSON_OBJECT({"what", json_string(hl_job_what_text(plan->what))},
            {"pause_ms", json_integer(plan->pause_ms)}, {"filter", json_incref(plan->filter)},
            {"author", json_incref(plan->author)}, {"as", asker_json(&plan->asker)}),
        out);
}

static bool load_asker(const json_t *as, struct hl_asker *asker)
{
    const json_t *identity = json_object_get(as, "identity");
    const char *subject = json_string_value(json_object_get(as, "subject"));
    int64_t most = json_integer_value(json_object_get(as, "max_priority"));
    struct hl_str text = hl_json_str(identity);
    uint8_t bytes[HL_IDENTITY_MAX + 2];
    if (!subject || !text.p || most < 0 || most >= HL_PRIORITIES ||
        text.n > (HL_IDENTITY_MAX + 2) / 3 * 4)
        return false;
    ptrdiff_t n = hl_base64_decode(text, bytes);
    if (n < 0 || n > HL_IDENTITY_MAX)
        return false;
    memcpy(asker->identity, bytes, (size_t)n);
    hl_str_put_cut(asker->subject, sizeof(asker->subject), hl_str_from(subject));
    asker->identity_n = (uint16_t)n;
    asker->max_priority = (enum hl_priority)most;
    asker->role = HL_ROLE_ADMIN;
    return true;
}

enum hl_err hl_job_plan_load(struct hl_str text, struct hl_job_plan *out)
{
    *out = (struct hl_job_plan){.expected = -1};
    json_t *json = hl_json_load(text, 0, NULL);
    bool is_good = read_what(json_object_get(json, "what"), &out->what) &&
                   is_filter(json_object_get(json, "filter")) &&
                   load_asker(json_object_get(json, "as"), &out->asker);
    if (is_good) {
        out->pause_ms = json_integer_value(json_object_get(json, "pause_ms"));
        out->filter = json_incref(json_object_get(json, "filter"));
        out->author = json_incref(json_object_get(json, "author"));
    }
    json_decref(json);
    return is_good ? HL_OK : HL_ERR_CORRUPT;
}

void hl_job_plan_fini(struct hl_job_plan *plan)
{
    json_decref(plan->filter);
    json_decref(plan->author);
    plan->filter = plan->author = NULL;
}

/* ---- what is listed ---- */

bool hl_job_plan_has_pass(const struct hl_job_plan *plan, unsigned pass)
{
    bool has_two = plan->what == HL_JOB_CANCEL && !json_object_get(plan->filter, "state");
    return pass < (has_two ? 2u : 1u);
}

const char *hl_job_plan_state(const struct hl_job_plan *plan, unsigned pass)
{
    if (!hl_job_plan_has_pass(plan, 1))
        return NULL;
    return hl_run_state_text(pass == 0 ? HL_RUN_QUEUED : HL_RUN_RUNNING);
}

static enum hl_err add_escaped(struct hl_buf *out, struct hl_str text)
{
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < text.n && !err; i++) {
        char c = text.p[i], lower = (char)(c | 0x20);
        bool is_plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                        c == '-' || c == '.';
        err = hl_buf_printf(out, is_plain ? "%c" : "%%%02x", (uint8_t)c);
    }
    return err;
}

static enum hl_err add_param(struct hl_buf *out, const char *name, const json_t *value)
{
    enum hl_err err = out->n > 0 ? hl_buf_append_str(out, HL_STR("&")) : HL_OK;
    if (!err)
        err = add_escaped(out, hl_str_from(name));
    if (!err)
        err = hl_buf_append_str(out, HL_STR("="));
    if (err)
        return err;
    if (json_is_string(value))
        return add_escaped(out, hl_json_str(value));
    if (json_is_boolean(value))
        return hl_buf_append_str(out, json_is_true(value) ? HL_STR("true") : HL_STR("false"));
    return hl_buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

enum hl_err hl_job_plan_query(const struct hl_job_plan *plan, struct hl_buf *out)
{
    const char *name;
    json_t *value, *item;
    size_t i;
    enum hl_err err = HL_OK;
    json_object_foreach(plan->filter, name, value)
    {
        if (!err && !json_is_array(value))
            err = add_param(out, name, value);
        json_array_foreach(value, i, item) err = err ? err : add_param(out, name, item);
    }
    return err;
}

/* ---- how far it is ---- */

static json_t *counts_json(const uint64_t counts[HL_JOB_FATES])
{
    json_t *array = json_array();
    for (int i = 0; i < HL_JOB_FATES; i++)
        if (!array || !hl_json_push(array, json_integer((json_int_t)counts[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

enum hl_err hl_job_progress_write(const struct hl_job_progress *p, struct hl_buf *out)
{
    json_t *cursor = hl_id_is_nil(&p->cursor) ? json_null() : hl_json_id(&p->cursor);
    return hl_json_write(
        HL_JSON_OBJECT({"phase", json_integer(p->phase)}, {"pass", json_integer(p->pass)},
            {"cursor", cursor}, {"pieces", json_integer(p->pieces)},
            {"next", json_integer(p->next)}, {"is_acting", json_boolean(p->is_acting)},
            {"total", json_integer((json_int_t)p->total)}, {"settled", counts_json(p->settled)},
            {"shown", counts_json(p->shown)}, {"began_ms", json_integer(p->began_ms)}),
        out);
}

static void load_counts(const json_t *array, uint64_t counts[HL_JOB_FATES])
{
    for (size_t i = 0; i < HL_JOB_FATES; i++)
        counts[i] = (uint64_t)json_integer_value(json_array_get(array, i));
}

enum hl_err hl_job_progress_load(struct hl_str text, struct hl_job_progress *p)
{
    json_t *json = hl_json_load(text, 0, NULL);
    const char *cursor = json_string_value(json_object_get(json, "cursor"));
    int64_t phase = json_integer_value(json_object_get(json, "phase"));
    *p = (struct hl_job_progress){
        .pass = (unsigned)json_integer_value(json_object_get(json, "pass")),
        .pieces = json_integer_value(json_object_get(json, "pieces")),
        .next = json_integer_value(json_object_get(json, "next")),
        .is_acting = json_is_true(json_object_get(json, "is_acting")),
        .total = (uint64_t)json_integer_value(json_object_get(json, "total")),
        .began_ms = json_integer_value(json_object_get(json, "began_ms"))};
    load_counts(json_object_get(json, "settled"), p->settled);
    load_counts(json_object_get(json, "shown"), p->shown);
    bool is_good = json && phase >= HL_JOB_NEW && phase <= HL_JOB_BROKEN &&
                   (!cursor || hl_id_parse(hl_str_from(cursor), &p->cursor));
    p->phase = is_good ? (enum hl_job_phase)phase : HL_JOB_NEW;
    json_decref(json);
    return is_good ? HL_OK : HL_ERR_CORRUPT;
}

/* ---- as it is shown ---- */

static const char *state_text(const struct hl_job *job, enum hl_job_phase phase, bool is_read)
{
    static const char *const texts[] = {[HL_JOB_NEW] = "waiting",
        [HL_JOB_GATHERING] = "gathering",
        [HL_JOB_RUNNING] = "running",
        [HL_JOB_ENDED] = "done",
        [HL_JOB_STOPPED] = "stopped",
        [HL_JOB_BROKEN] = "failed"};
    if (job->ended_ms == 0 && job->is_stopping)
        return "stopping";
    return job->ended_ms == 0 && !is_read ? "unreadable" : texts[phase];
}

static json_t *author_member(const struct hl_job_plan *plan, const char *name)
{
    json_t *value = json_object_get(plan->author, name);
    return value ? json_incref(value) : json_null();
}

json_t *hl_job_json(const struct hl_job *job)
{
    struct hl_job_plan plan;
    struct hl_job_progress p;
    bool is_plan = hl_job_plan_load(hl_buf_str(&job->plan), &plan) == HL_OK;
    bool is_read = hl_job_progress_load(hl_buf_str(&job->progress), &p) == HL_OK && is_plan;
    json_t *what = is_plan ? json_string(hl_job_what_text(plan.what)) : json_null();
    json_t *filter = is_plan ? json_incref(plan.filter) : json_null();
    json_t *json = HL_JSON_OBJECT({"job_id", hl_json_id(&job->id)},
        {"project_id", hl_json_text(hl_str_from(job->project))}, {"what", what}, {"filter", filter},
        {"pause_ms", json_integer(plan.pause_ms)},
        {"state", json_string(state_text(job, p.phase, is_read))},
        {"total", json_integer((json_int_t)p.total)},
        {"is_total", json_boolean(p.phase >= HL_JOB_RUNNING)},
        {"done", json_integer((json_int_t)p.shown[HL_JOB_DONE])},
        {"skipped", json_integer((json_int_t)p.shown[HL_JOB_SKIPPED])},
        {"failed", json_integer((json_int_t)p.shown[HL_JOB_FAILED])},
        {"created_at", hl_json_time(hl_id_time_ms(&job->id))},
        {"began_at", hl_json_time(p.began_ms)}, {"ended_at", hl_json_time(job->ended_ms)},
        {"who", author_member(&plan, "who")}, {"via", author_member(&plan, "via")});
    hl_job_plan_fini(&plan);
    return json;
}

json_t *hl_job_item_json(const struct hl_job_item *item, enum hl_job_what what)
{
    bool has_made = what == HL_JOB_RERUN && item->fate == HL_JOB_DONE;
    const char *why = hl_job_why_text(item->why);
    return HL_JSON_OBJECT(
        {what == HL_JOB_REDELIVER ? "delivery_id" : "run_id", hl_json_id(&item->id)},
        {"outcome", json_string(hl_job_fate_text(item->fate))},
        {"reason", *why ? json_string(why) : json_null()},
        {"rerun_id", has_made ? hl_json_id(&item->made) : json_null()});
}
