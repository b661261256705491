/* deliveries.c - `hookline deliveries list` and `show`, and `destinations`: where a project's webhooks go, which of those
 * places do not answer, and what waits for them.
 * Not here: sending them again (redelivery.c), one with its attempts (report.c). */
#include "cli/deliveries.h"

#include "base/compiler.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/lookup.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/table.h"

const char *hl_cli_attempt_error(
    const json_t *attempt, const char *error, const char *status, char *into, size_t cap)
{
    json_int_t code = json_integer_value(json_object_get(attempt, status));
    if (json_is_string(json_object_get(attempt, error)) || code / 100 == 2 || code == 0)
        return hl_cli_member(attempt, error, into, cap);
    snprintf(into, cap, "status %lld", (long long)code);
    return into;
}

/* ---- columns ---- */

/* As in the dashboard. Paths are told to admins alone, that of a single delivery within its URL; the label tells
 * everybody which of several receivers it is. */
static const char *receiver_of(const json_t *delivery, char out[HL_CLI_CELL_TEXT])
{
    const char *url = json_string_value(json_object_get(delivery, "url"));
    const char *place = json_string_value(json_object_get(delivery, "destination"));
    const char *path = json_string_value(json_object_get(delivery, "path"));
    const char *label = json_string_value(json_object_get(delivery, "receiver"));
    if (url || !place || !*place)
        return url;
    if (path || !label)
        snprintf(out, HL_CLI_CELL_TEXT, "%s%s", place, path ? path : "");
    else
        snprintf(out, HL_CLI_CELL_TEXT, "%s #%s", place, label);
    return out;
}

static const json_t *last_attempt(const json_t *delivery)
{
    const json_t *attempts = json_object_get(delivery, "attempts");
    return json_array_get(attempts, json_array_size(attempts) - 1);
}

static const char *status_of(const json_t *delivery, char out[HL_CLI_CELL_TEXT])
{
    return hl_cli_member(last_attempt(delivery), "status_code", out, HL_CLI_CELL_TEXT);
}

static const char *error_of(const json_t *delivery, char out[HL_CLI_CELL_TEXT])
{
    return hl_cli_attempt_error(
        last_attempt(delivery), "error", "status_code", out, HL_CLI_CELL_TEXT);
}

/* Why one did not arrive stands under ERROR, a status too: STATUS can go before that. */
static const struct hl_cli_list_column columns[] = {
    {"delivery", "delivery_id", {"DELIVERY", HL_CLI_ID, 0}, true, NULL},
    {"run", "run_id", {"RUN", HL_CLI_RUN_ID, 7}, true, NULL},
    {"app", "app_name", {"APP", HL_CLI_TEXT, 4}, true, NULL},
    {"event", "type", {"EVENT", HL_CLI_PLAIN, 0}, false, NULL},
    {"state", "state", {"STATE", HL_CLI_PLAIN, 0}, true, NULL},
    {"receiver", NULL, {"RECEIVER", HL_CLI_ADDRESS, 1}, true, receiver_of},
    {"destination", "destination", {"DESTINATION", HL_CLI_ADDRESS, 0}, false, NULL},
    {"label", "receiver", {"LABEL", HL_CLI_PLAIN, 0}, false, NULL},
    {"resent", "resent", {"RESENT", HL_CLI_PLAIN, 0}, false, NULL},
    {"round", "round", {"ROUND", HL_CLI_PLAIN, 0}, false, NULL},
    {"attempts", "attempt_count", {"ATTEMPTS", HL_CLI_PLAIN, 6}, true, NULL},
    {"status", NULL, {"STATUS", HL_CLI_PLAIN, 5}, true, status_of},
    {"created", "created_at", {"CREATED", HL_CLI_TIME, 0}, true, NULL},
    {"next", "next_attempt_at", {"NEXT", HL_CLI_TIME, 0}, false, NULL},
    {"done", "done_at", {"DONE", HL_CLI_TIME, 0}, false, NULL},
    {"error", NULL, {"ERROR", HL_CLI_ERROR, 2}, true, error_of},
};

_Static_assert(HL_ARRAY_LEN(columns) <= HL_CLI_COLUMNS_MAX, "all may be asked for");

const struct hl_cli_list_columns hl_cli_delivery_columns = {columns, HL_ARRAY_LEN(columns)};

/* ---- list and show ---- */

static int list(struct hl_cli_session *session, const struct hl_cli *cli,
    struct hl_cli_filter *filter, struct hl_cli_list_table *t)
{
    static const struct hl_cli_list all = {"/deliveries", "deliveries", hl_cli_list_table_add};
    hl_cli_list_table_init(t, cli->out);
    return hl_cli_filter_list(session, cli, filter, &all, &t->table);
}

int hl_cli_deliveries_list(const struct hl_cli *cli)
{
    struct hl_cli_filter filter = {.project = NULL};
    struct hl_cli_list_table table;
    char run[HL_CLI_ID_MAX];
    const char *names = NULL;
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--app", .text = &filter.app}, {.name = "--run", .text = &filter.run},
        {.name = "--state", .text = &filter.state}, {.name = "--since", .text = &filter.since},
        {.name = "--until", .text = &filter.until}, {.name = "--limit", .text = &filter.limit},
        {.name = "--destination", .text = &filter.destination},
        {.name = "--status", .text = &filter.status}, {.name = "--columns", .text = &names},
        {.name = "--json", .is_given = &filter.is_json}};
    size_t count;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = hl_cli_filter_check(&filter, cli, status);
    status = hl_cli_list_table_choose(
        &table, cli, &hl_cli_delivery_columns, names, filter.is_json ? "--json" : NULL, status);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    if (filter.run) {
        status = hl_cli_find(session, cli, HL_CLI_RUN, filter.run, run);
        filter.run = run;
    }
    if (status == HL_CLI_OK)
        status = list(session, cli, &filter, &table);
    hl_cli_session_close(session);
    return status;
}

static void tell(const struct hl_cli *cli, const json_t *delivery)
{
    static const struct {
        const char *label, *name;
    } lines[] = {{"run", "run_id"}, {"app", "app_name"}, {"event", "type"}, {"to", "url"},
        {"receiver", "receiver"}, {"created", "created_at"}, {"done", "done_at"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++)
        hl_cli_report_line(cli, lines[i].label, delivery, lines[i].name);
    hl_cli_report_delivery(cli, delivery);
    hl_cli_report_line(cli, "why then", json_object_get(delivery, "next_attempt"), "why");
}

static void tell_fields(const struct hl_cli *cli, const json_t *attempt)
{
    char text[HL_CLI_MEMBER_TEXT];
    const json_t *field;
    size_t i;
    fprintf(cli->out, "\nattempt %" JSON_INTEGER_FORMAT ".%" JSON_INTEGER_FORMAT "\n",
        json_integer_value(json_object_get(attempt, "round")),
        json_integer_value(json_object_get(attempt, "n")));
    json_array_foreach(json_object_get(attempt, "fields"), i, field)
    {
        bool is_shown = json_is_string(json_object_get(field, "value"));
        hl_cli_print(cli->out, hl_cli_member(field, "name", text, sizeof(text)));
        fputs(": ", cli->out);
        if (is_shown)
            hl_cli_print(cli->out, hl_cli_member(field, "value", text, sizeof(text)));
        fputs(is_shown ? "\n" : "(not shown)\n", cli->out);
    }
    if (json_is_false(json_object_get(attempt, "body_as_sent")))
        fputs("(the body was another than below)\n", cli->out);
}

static void tell_request(const struct hl_cli *cli, const json_t *request)
{
    const json_t *attempt, *body = json_object_get(request, "body");
    const char *text = json_string_value(json_object_get(body, "text"));
    size_t i;
    hl_cli_report_line(cli, "to", request, "url");
    json_array_foreach(json_object_get(request, "attempts"), i, attempt) tell_fields(cli, attempt);
    fputc('\n', cli->out);
    if (text)
        hl_cli_print(cli->out, text);
    else
        hl_cli_report_line(cli, "no body", body, "why_not");
    if (json_is_true(json_object_get(body, "truncated")))
        fputs(" …", cli->out);
    fputc('\n', cli->out);
}

int hl_cli_deliveries_show(const struct hl_cli *cli)
{
    const char *id;
    bool is_json = false, is_request = false;
    const struct hl_cli_option options[] = {
        {.name = "--request", .is_given = &is_request}, {.name = "--json", .is_given = &is_json}};
    struct hl_cli_session *session;
    json_t *delivery;
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_DELIVERY, &id);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = hl_cli_ask_about(
        session, HL_CLI_DELIVERY, "GET", id, is_request ? "/request" : "", &delivery);
    if (status == HL_CLI_OK && is_json)
        hl_cli_print_json(cli, delivery);
    else if (status == HL_CLI_OK && is_request)
        tell_request(cli, delivery);
    else if (status == HL_CLI_OK)
        tell(cli, delivery);
    json_decref(delivery);
    hl_cli_session_close(session);
    return status;
}

/* ---- destinations ---- */

#define ALL 1000000

static const struct hl_cli_column place_columns[] = {{"DESTINATION", HL_CLI_ADDRESS, 0},
    {"PENDING", HL_CLI_PLAIN, 0}, {"DEAD", HL_CLI_PLAIN, 0}, {"OLDEST", HL_CLI_TIME, 3},
    {"FAILING SINCE", HL_CLI_TIME, 0}, {"TRIED 1H", HL_CLI_PLAIN, 6}, {"OK", HL_CLI_PLAIN, 2},
    {"P95 MS", HL_CLI_PLAIN, 4}, {"LAST", HL_CLI_TIME, 5}, {"LAST ERROR", HL_CLI_ERROR, 1}};

/* hl_cli_member has no fractions. */
static const char *number(const json_t *value, double factor, const char *unit, char into[32])
{
    if (!json_is_number(value))
        return NULL;
    double n = json_number_value(value) * factor;
    snprintf(into, 32, n < 1000 ? "%.4g%s" : "%.0f%s", n, unit);
    return into;
}

static void add_place(void *owner, json_t *row)
{
    static const char *const before[] = {
        "destination", "pending", "dead", "oldest_pending_at", "failing_since"};
    struct hl_cli_table *table = owner;
    const json_t *hour = json_object_get(row, "last_hour");
    char text[HL_CLI_MEMBER_TEXT], digits[32];
    for (size_t i = 0; i < HL_ARRAY_LEN(before); i++)
        hl_cli_table_add(table, hl_cli_member(row, before[i], text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_member(hour, "attempts", text, sizeof(text)));
    hl_cli_table_add(table, number(json_object_get(hour, "success_rate"), 100, "%", digits));
    hl_cli_table_add(table, number(json_object_get(hour, "p95_ms"), 1, "", digits));
    hl_cli_table_add(table, hl_cli_member(row, "last_attempt_at", text, sizeof(text)));
    hl_cli_table_add(
        table, hl_cli_attempt_error(row, "last_error", "last_status_code", text, sizeof(text)));
}

static int list_places(
    struct hl_cli_session *session, const struct hl_cli *cli, struct hl_cli_filter *filter)
{
    static const struct hl_cli_list all = {"/destinations", "destinations", add_place};
    struct hl_cli_table table;
    filter->project = hl_cli_session_project(session, cli, filter->project);
    if (!filter->project)
        return HL_CLI_USAGE;
    hl_cli_table_init_for(&table, cli->out, place_columns, HL_ARRAY_LEN(place_columns));
    return hl_cli_filter_list(session, cli, filter, &all, &table);
}

int hl_cli_deliveries_destinations(const struct hl_cli *cli)
{
    struct hl_cli_filter filter = {.project = NULL};
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--limit", .text = &filter.limit},
        {.name = "--json", .is_given = &filter.is_json}};
    struct hl_cli_session *session;
    int status = hl_cli_filter_open(cli, options, HL_ARRAY_LEN(options), &filter, &session);
    if (status != HL_CLI_OK)
        return status;
    if (!filter.limit) /* they are few, and the one that fails may be the last */
        filter.left = ALL;
    status = list_places(session, cli, &filter);
    hl_cli_session_close(session);
    return status;
}
