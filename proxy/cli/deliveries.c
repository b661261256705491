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

/* Why one did not arrive stands under ERROR, a status too: STATUS can go before that. */
static const struct hl_cli_column columns[] = {{"DELIVERY", HL_CLI_ID, 0},
    {"RUN", HL_CLI_RUN_ID, 7}, {"APP", HL_CLI_TEXT, 4}, {"STATE", HL_CLI_PLAIN, 0},
    {"DESTINATION", HL_CLI_ADDRESS, 1}, {"ATTEMPTS", HL_CLI_PLAIN, 6}, {"STATUS", HL_CLI_PLAIN, 5},
    {"CREATED", HL_CLI_TIME, 0}, {"ERROR", HL_CLI_ERROR, 2}};

const char *hl_cli_attempt_error(
    const json_t *attempt, const char *error, const char *status, char *into, size_t cap)
{
    json_int_t code = json_integer_value(json_object_get(attempt, status));
    if (json_is_string(json_object_get(attempt, error)) || code / 100 == 2 || code == 0)
        return hl_cli_member(attempt, error, into, cap);
    snprintf(into, cap, "status %lld", (long long)code);
    return into;
}

void hl_cli_delivery_table_init(struct hl_cli_table *table, FILE *out)
{
    hl_cli_table_init_for(table, out, columns, HL_ARRAY_LEN(columns));
}

void hl_cli_delivery_table_add(struct hl_cli_table *table, const json_t *delivery)
{
    static const char *const members[] = {
        "delivery_id", "run_id", "app_name", "state", "destination", "attempt_count"};
    const json_t *attempts = json_object_get(delivery, "attempts");
    const json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    char text[HL_CLI_MEMBER_TEXT];
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(delivery, members[i], text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_member(last, "status_code", text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_member(delivery, "created_at", text, sizeof(text)));
    hl_cli_table_add(table, hl_cli_attempt_error(last, "error", "status_code", text, sizeof(text)));
}

/* ---- list and show ---- */

static void add_row(void *table, json_t *delivery)
{
    hl_cli_delivery_table_add(table, delivery);
}

static int list(
    struct hl_cli_session *session, const struct hl_cli *cli, struct hl_cli_filter *filter)
{
    static const struct hl_cli_list all = {"/deliveries", "deliveries", add_row};
    struct hl_cli_table table;
    hl_cli_delivery_table_init(&table, cli->out);
    return hl_cli_filter_list(session, cli, filter, &all, &table);
}

int hl_cli_deliveries_list(const struct hl_cli *cli)
{
    struct hl_cli_filter filter = {.project = NULL};
    char run[HL_CLI_ID_MAX];
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--app", .text = &filter.app}, {.name = "--run", .text = &filter.run},
        {.name = "--state", .text = &filter.state}, {.name = "--since", .text = &filter.since},
        {.name = "--until", .text = &filter.until}, {.name = "--limit", .text = &filter.limit},
        {.name = "--destination", .text = &filter.destination},
        {.name = "--status", .text = &filter.status},
        {.name = "--json", .is_given = &filter.is_json}};
    struct hl_cli_session *session;
    int status = hl_cli_filter_open(cli, options, HL_ARRAY_LEN(options), &filter, &session);
    if (status != HL_CLI_OK)
        return status;
    if (filter.run) {
        status = hl_cli_find(session, cli, HL_CLI_RUN, filter.run, run);
        filter.run = run;
    }
    if (status == HL_CLI_OK)
        status = list(session, cli, &filter);
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
