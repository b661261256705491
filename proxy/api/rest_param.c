/* rest_param.c - the query of a request for the REST interface: read strictly, each fault named.
 * Thread: control.
 * Not here: which parameters a route takes (rest_route.c). */
#include "api/rest_param.h"

#include <stdio.h>
#include <string.h>

#include "api/rest_call.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "config/config.h"
#include "http/prefer.h"
#include "http/url.h"
#include "store/audit.h"
#include "store/destination.h"
#include "store/job.h"
#include "store/question.h"

#define VALUE_MAX          (HL_EVENT_ID_MAX + 1)
#define LIMIT_DEFAULT      50
#define DRAIN_WAIT_MOST_MS (24 * 3600 * 1000)
#define MS_MIN             INT64_C(100000000000)    /* 1973: less is most likely seconds */
#define MS_MAX             INT64_C(253402300799999) /* the end of 9999; an id's 48 bits hold it */

bool hl_rest_is_time(int64_t ms)
{
    return ms == 0 || (ms >= MS_MIN && ms <= MS_MAX);
}

bool hl_rest_read_time(struct hl_str text, int64_t *ms)
{
    uint64_t n;
    if (!hl_str_to_u64(text, &n))
        return hl_clock_parse(text, ms) && *ms >= 0 && *ms <= MS_MAX;
    if (n > (uint64_t)MS_MAX)
        return false;
    *ms = (int64_t)n;
    return hl_rest_is_time(*ms);
}

static bool read_limit(struct hl_rest_call *call, struct hl_str value)
{
    uint64_t n;
    if (!hl_str_to_u64(value, &n) || n < 1 || n > HL_LIST_MAX)
        return false;
    call->params.limit = (uint32_t)n;
    return true;
}

/* The nil one stands for none behind here: nobody is to get all by asking for it. */
static bool read_id(struct hl_str value, struct hl_id *id)
{
    return hl_id_parse(value, id) && !hl_id_is_nil(id);
}

static bool read_cursor(struct hl_rest_call *call, struct hl_str value)
{
    return read_id(value, &call->params.cursor);
}

static bool read_lane_cursor(struct hl_rest_call *call, struct hl_str value)
{
    static const char digits[] = "0123456789abcdef";
    if (value.n != HL_REST_LANE_CURSOR)
        return false;
    for (size_t i = 0; i < value.n; i++) {
        const char *digit = memchr(digits, value.p[i], sizeof(digits) - 1);
        if (!digit)
            return false;
        call->params.after_lane = call->params.after_lane << 4 | (uint64_t)(digit - digits);
    }
    call->params.has_after_lane = true;
    return true;
}

static bool read_run_state(struct hl_rest_call *call, struct hl_str value)
{
    for (int s = HL_RUN_QUEUED; s <= HL_RUN_CANCELLED; s++)
        if (hl_str_eq(value, hl_str_from(hl_run_state_text((enum hl_run_state)s))))
            call->params.state = s;
    return call->params.state >= 0;
}

static bool read_delivery_state(struct hl_rest_call *call, struct hl_str value)
{
    for (int s = HL_DELIVERY_PENDING; s <= HL_DELIVERY_DEAD; s++)
        if (hl_str_eq(value, hl_str_from(hl_delivery_state_text((enum hl_delivery_state)s))))
            call->params.state = s;
    return call->params.state >= 0;
}

static bool read_action(struct hl_rest_call *call, struct hl_str value)
{
    enum hl_audit_action action;
    if (!hl_audit_action_parse(value, &action))
        return false;
    call->params.action = (int)action;
    return true;
}

static bool read_async(struct hl_rest_call *call, struct hl_str value)
{
    if (hl_str_eq(value, HL_STR("true")) || hl_str_eq(value, HL_STR("1")))
        call->params.is_async = 1;
    else if (hl_str_eq(value, HL_STR("false")) || hl_str_eq(value, HL_STR("0")))
        call->params.is_async = 0;
    return call->params.is_async >= 0;
}

static bool read_since(struct hl_rest_call *call, struct hl_str value)
{
    return hl_rest_read_time(value, &call->params.since_ms);
}

/* 0 stands for no bound behind here: nobody is to get all by asking for what was before 1970. */
static bool read_until(struct hl_rest_call *call, struct hl_str value)
{
    bool is_time = hl_rest_read_time(value, &call->params.until_ms);
    if (is_time && call->params.until_ms == 0)
        call->params.until_ms = 1;
    return is_time;
}

static bool read_period(struct hl_rest_call *call, struct hl_str value)
{
    if (hl_str_eq(value, HL_STR("hour")))
        call->params.period_ms = 3600 * 1000;
    else if (hl_str_eq(value, HL_STR("day")))
        call->params.period_ms = 24 * 3600 * 1000;
    else if (hl_str_eq(value, HL_STR("retention")))
        call->params.period_ms = (int64_t)hl_rest_get_parts(call)->config->retention_ms;
    return call->params.period_ms > 0;
}

static bool read_by(struct hl_rest_call *call, struct hl_str value)
{
    return call->params.is_by_app = hl_str_eq(value, HL_STR("app"));
}

static bool read_app(struct hl_rest_call *call, struct hl_str value)
{
    if (!hl_path_is_name(value))
        return false;
    memcpy(call->params.app, value.p, value.n);
    call->params.app[value.n] = '\0';
    return true;
}

static bool read_run_id(struct hl_rest_call *call, struct hl_str value)
{
    return read_id(value, &call->params.run_id);
}

static bool read_prefix(struct hl_rest_call *call, struct hl_str value)
{
    return hl_search_read_prefix(value, &call->params.search);
}

static bool read_suffix(struct hl_rest_call *call, struct hl_str value)
{
    return hl_search_read_tail(value, &call->params.search);
}

/* Of at most `max` bytes; `out` has room for a NUL behind them. */
static bool read_words(struct hl_str value, char *out, size_t max)
{
    if (value.n == 0 || value.n > max || memchr(value.p, '\0', value.n))
        return false;
    *(char *)mempcpy(out, value.p, value.n) = '\0';
    return true;
}

static bool read_path(struct hl_rest_call *call, struct hl_str value)
{
    return read_words(value, call->params.search.path, HL_SEARCH_PATH_MAX);
}

static bool read_error(struct hl_rest_call *call, struct hl_str value)
{
    return read_words(value, call->params.search.error, HL_ERROR_LINE_MAX);
}

static bool read_find(struct hl_rest_call *call, struct hl_str value)
{
    return read_words(value, call->params.search.find, HL_SEARCH_FIND_MAX);
}

static bool read_tag(struct hl_rest_call *call, struct hl_str value)
{
    return hl_search_add_tag(value, &call->params.search);
}

static bool read_status(struct hl_rest_call *call, struct hl_str value)
{
    return hl_status_range_read(value, &call->params.search.status);
}

static bool read_reason(struct hl_rest_call *call, struct hl_str value)
{
    return hl_run_reason_parse(value, &call->params.search.reason);
}

static bool read_webhook(struct hl_rest_call *call, struct hl_str value)
{
    static const char *const texts[] = {[HL_SEARCH_NO_WEBHOOK] = "none",
        [HL_SEARCH_PENDING] = "pending",
        [HL_SEARCH_OK] = "delivered",
        [HL_SEARCH_DEAD] = "dead"};
    enum hl_search_webhook *webhook = &call->params.search.webhook;
    for (int w = HL_SEARCH_NO_WEBHOOK; w <= HL_SEARCH_DEAD; w++)
        if (hl_str_eq(value, hl_str_from(texts[w])))
            *webhook = (enum hl_search_webhook)w;
    return *webhook != HL_SEARCH_ANY_WEBHOOK;
}

/* What is behind host and port is left out: it may have been copied from a webhook's URL. */
static bool read_destination(struct hl_rest_call *call, struct hl_str value)
{
    char text[HL_DESTINATION_MAX];
    size_t n = hl_destination_write(text, value);
    if (n == 0 || n >= sizeof(call->params.destination))
        return false;
    *(char *)mempcpy(call->params.destination, text, n) = '\0';
    return true;
}

/* More than HOOKLINE_MAX_WAIT counts as that. */
static bool read_wait(struct hl_rest_call *call, struct hl_str value)
{
    uint64_t max_ms = hl_rest_get_parts(call)->config->max_wait_ms;
    return hl_wait_parse(value, max_ms, &call->params.wait_ms);
}

static bool read_drain_wait(struct hl_rest_call *call, struct hl_str value)
{
    call->params.has_wait = true;
    return hl_wait_parse(value, DRAIN_WAIT_MOST_MS, &call->params.wait_ms);
}

static bool read_last_event_id(struct hl_rest_call *call, struct hl_str value)
{
    if (value.n > sizeof(call->params.last_event_id))
        return false;
    if (value.n > 0)
        memcpy(call->params.last_event_id, value.p, value.n);
    call->params.last_event_n = value.n;
    return true;
}

static bool read_progress(struct hl_rest_call *call, struct hl_str value)
{
    call->params.wants_progress = hl_str_eq(value, HL_STR("true")) || hl_str_eq(value, HL_STR("1"));
    return call->params.wants_progress || hl_str_eq(value, HL_STR("false")) ||
           hl_str_eq(value, HL_STR("0"));
}

static bool read_level(struct hl_rest_call *call, struct hl_str value)
{
    static const char *const texts[] = {[HL_LOG_DEBUG] = "debug",
        [HL_LOG_INFO] = "info",
        [HL_LOG_WARN] = "warn",
        [HL_LOG_ERROR] = "error"};
    for (int l = HL_LOG_DEBUG; l <= HL_LOG_ERROR; l++)
        if (hl_str_eq(value, hl_str_from(texts[l]))) {
            call->params.level = (enum hl_log_level)l;
            return true;
        }
    return false;
}

/* ERA-NUMBER */
static bool read_after(struct hl_rest_call *call, struct hl_str value)
{
    const char *dash = value.n > 0 ? memchr(value.p, '-', value.n) : NULL;
    if (!dash)
        return false;
    struct hl_str era = {value.p, (size_t)(dash - value.p)};
    struct hl_str number = {dash + 1, value.n - era.n - 1};
    return hl_str_to_u64(era, &call->params.after_era) &&
           hl_str_to_u64(number, &call->params.after) && call->params.after > 0;
}

static bool read_outcome(struct hl_rest_call *call, struct hl_str value)
{
    for (int fate = HL_JOB_WAITING; fate < HL_JOB_FATES; fate++)
        if (hl_str_eq(value, hl_str_from(hl_job_fate_text((enum hl_job_fate)fate))))
            call->params.outcome = fate;
    return call->params.outcome >= 0;
}

static bool read_as(struct hl_rest_call *call, struct hl_str value)
{
    call->params.is_call = true;
    call->params.is_plain = hl_str_eq(value, HL_STR("plain"));
    return call->params.is_plain || hl_str_eq(value, HL_STR("answer"));
}

#define REASONS_ALLOWED                                                                            \
    "app_error, timeout, upstream_unreachable, upstream_reset, bad_response, interrupted, "        \
    "expired or response_not_kept"
#define ACTIONS_ALLOWED                                                                            \
    "account_made, account_limited, account_revoked, delivery_redelivered, "                       \
    "deliveries_redelivered, run_cancelled, run_rerun, session_opened, key_rotated, "              \
    "settings_changed, drain_begun, drain_cancelled, delivery_resent, webhook_tested, job_made, "  \
    "job_stopped or job_ended"
#define TIME_ALLOWED "a time as RFC 3339 (2026-11-22T08:00:00Z) or in milliseconds since 1970"

static const struct param {
    unsigned group; /* HL_REST_… */
    const char *name;
    bool (*read)(struct hl_rest_call *call, struct hl_str value);
    const char *allowed;
} params[] = {
    {HL_REST_PAGE | HL_REST_LANES | HL_REST_TAIL, "limit", read_limit, "a number from 1 to 200"},
    {HL_REST_PAGE, "cursor", read_cursor, "the next_cursor of the previous page"},
    {HL_REST_LANES, "cursor", read_lane_cursor, "the next_cursor of the previous page"},
    {HL_REST_RUN_STATE, "state", read_run_state, "queued, running, success, failure or cancelled"},
    {HL_REST_DELIVERY_STATE, "state", read_delivery_state, "pending, delivered or dead"},
    {HL_REST_ACTION, "action", read_action, ACTIONS_ALLOWED},
    {HL_REST_ASYNC, "async", read_async, "true or false"},
    {HL_REST_TIME, "since", read_since, TIME_ALLOWED},
    {HL_REST_TIME, "until", read_until, TIME_ALLOWED},
    {HL_REST_PERIOD, "period", read_period, "hour, day or retention, without since or until"},
    {HL_REST_BY, "by", read_by, "app"},
    {HL_REST_APP, "app", read_app, "an app's name: 1 to 128 of A-Z a-z 0-9 . _ -"},
    {HL_REST_RUN_ID, "run_id", read_run_id, "a run's id"},
    {HL_REST_RUN_SEARCH, "id_prefix", read_prefix, "the beginning of an id (hex digits)"},
    {HL_REST_RUN_SEARCH, "id_suffix", read_suffix, "the last 8 characters of an id"},
    {HL_REST_RUN_SEARCH, "path", read_path, "part of a path, of at most 255 bytes"},
    {HL_REST_RUN_SEARCH, "tag", read_tag,
        "a run's tag (name=value) or the name of one; it may be there up to 8 times"},
    {HL_REST_RUN_SEARCH | HL_REST_DELIVERY_SEARCH, "status", read_status,
        "a status (404), a class (5xx) or none"},
    {HL_REST_RUN_SEARCH, "reason", read_reason, REASONS_ALLOWED},
    {HL_REST_RUN_SEARCH, "webhook", read_webhook, "none, pending, delivered or dead"},
    {HL_REST_RUN_SEARCH, "error", read_error,
        "a whole error as runs have it, of at most 640 bytes"},
    {HL_REST_RUN_SEARCH, "find", read_find,
        "part of a path, an error or tags, of at most 255 bytes"},
    {HL_REST_DELIVERY_SEARCH, "destination", read_destination, "a destination (https://host:port)"},
    {HL_REST_WAIT | HL_REST_TAIL, "wait", read_wait, "a number of seconds"},
    {HL_REST_DRAIN, "wait", read_drain_wait, "a number of seconds"},
    {HL_REST_DRAIN_WAIT, "timeout", read_drain_wait, "a number of seconds"},
    {HL_REST_EVENTS, "last_event_id", read_last_event_id, "an id of at most 1024 bytes"},
    {HL_REST_EVENTS, "progress", read_progress, "true or false"},
    {HL_REST_TAIL, "level", read_level, "debug, info, warn or error"},
    {HL_REST_TAIL, "after", read_after, "the next of the previous answer"},
    {HL_REST_OUTCOME, "outcome", read_outcome, "done, skipped, failed or waiting"},
    {HL_REST_RELAYED, "as", read_as, "answer or plain"},
};

static const struct param *find(unsigned groups, const struct hl_param *given)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(params); i++)
        if (groups & params[i].group && hl_param_is(given, hl_str_from(params[i].name)))
            return &params[i];
    return NULL;
}

/* What the caller wrote, fit for a detail. */
static void quote(struct hl_str s, char out[41])
{
    size_t n = s.n < 40 ? s.n : 40;
    for (size_t i = 0; i < n; i++)
        out[i] = s.p[i] > ' ' && s.p[i] <= '~' ? s.p[i] : '?';
    out[n] = '\0';
}

static void refuse_unknown(struct hl_rest_call *call, unsigned groups, struct hl_str name)
{
    char names[256] = "", quoted[41];
    size_t n = 0;
    for (size_t i = 0; i < HL_ARRAY_LEN(params) && n < sizeof(names); i++)
        if (groups & params[i].group)
            n += (size_t)snprintf(
                names + n, sizeof(names) - n, "%s%s", n > 0 ? ", " : "", params[i].name);
    quote(name, quoted);
    hl_rest_refuse_saying(call, HL_REFUSAL_QUERY_UNKNOWN, quoted, *names ? names : "none", NULL);
}

/* UTF-8 without NUL, which ends our strings and no database takes. */
static bool is_text(struct hl_str s)
{
    uint8_t state = HL_UTF8_START;
    for (size_t i = 0; i < s.n; i++)
        state = s.p[i] ? hl_utf8_next(state, (uint8_t)s.p[i]) : HL_UTF8_BAD;
    return state == HL_UTF8_START;
}

static bool read_param(
    struct hl_rest_call *call, unsigned groups, const struct hl_param *given, uint64_t *seen)
{
    char value[VALUE_MAX];
    const struct param *param = find(groups, given);
    if (!param) {
        refuse_unknown(call, groups, given->name);
        return false;
    }
    uint64_t bit = UINT64_C(1) << (param - params);
    bool is_list = param->read == read_tag;
    if (*seen & bit && !is_list) {
        hl_rest_refuse_saying(call, HL_REFUSAL_QUERY_TWICE, param->name, NULL);
        return false;
    }
    *seen |= bit;
    ptrdiff_t n = hl_query_decode(given->value, value, sizeof(value));
    struct hl_str text = {value, n > 0 ? (size_t)n : 0};
    if (n >= 0 && is_text(text) && param->read(call, text))
        return true;
    hl_rest_refuse_saying(call, HL_REFUSAL_QUERY_VALUE, param->name, param->allowed, NULL);
    return false;
}

void hl_rest_refuse_cursor(struct hl_rest_call *call)
{
    hl_rest_refuse(call, HL_REFUSAL_QUERY_CURSOR);
}

/* Only the list of queued runs may have cursors that are not ids (store/question.h): they hold no
 * time.
 */
static bool fits_cursor(const struct hl_rest_call *call, unsigned groups)
{
    bool is_queue = groups & HL_REST_RUN_STATE && call->params.state == HL_RUN_QUEUED;
    return is_queue || hl_id_is_nil(&call->params.cursor) ||
           hl_id_time_ms(&call->params.cursor) > 0;
}

bool hl_rest_read_params(struct hl_rest_call *call, unsigned groups)
{
    struct hl_str query = call->query;
    struct hl_param given;
    uint64_t seen = 0;
    call->params = (struct hl_rest_params){
        .limit = LIMIT_DEFAULT, .state = -1, .action = -1, .outcome = -1, .is_async = -1};
    if (!hl_id_is_nil(&call->asker.relayed))
        groups |= HL_REST_RELAYED;
    while (hl_query_next(&query, &given))
        if (given.raw.n > 0 && !read_param(call, groups, &given, &seen))
            return false;
    if (call->params.period_ms > 0 && (call->params.since_ms > 0 || call->params.until_ms > 0)) {
        hl_rest_refuse_saying(call, HL_REFUSAL_QUERY_VALUE, "period",
            "hour, day or retention, without since or until", NULL);
        return false;
    }
    if (!fits_cursor(call, groups)) {
        hl_rest_refuse_cursor(call);
        return false;
    }
    int64_t *until_ms = &call->params.until_ms;
    if (call->before_ms > 0 && (*until_ms == 0 || *until_ms > call->before_ms))
        *until_ms = call->before_ms;
    return true;
}
