/* destinations.c - `hookline deliveries destinations`: where a project's webhooks go, which of those places do
 * not answer, and what waits for them. */
#include "cli/destinations.h"

#include "cli/argument.h"
#include "cli/cli.h"
#include "cli/delivery_table.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/wish.h"

#define ALL 1000000

static const struct hl_cli_column columns[] = {{"DESTINATION", HL_CLI_ADDRESS, 0},
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

static void add_row(void *owner, json_t *row)
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

static int list(struct hl_cli_session *session, const struct hl_cli *cli, struct hl_cli_wish *w)
{
    struct hl_cli_table table;
    w->project = hl_cli_session_project(session, cli, w->project);
    if (!w->project)
        return HL_CLI_USAGE;
    hl_cli_table_init_for(&table, cli->out, columns, HL_ARRAY_LEN(columns));
    return hl_cli_wish_list(session, cli, w, "/destinations", "destinations", &table, add_row);
}

int hl_cli_deliveries_destinations(const struct hl_cli *cli)
{
    struct hl_cli_wish w = {.project = NULL};
    const struct hl_cli_option options[] = {{.name = "--project", .text = &w.project},
        {.name = "--limit", .text = &w.limit}, {.name = "--json", .is_given = &w.is_json}};
    size_t count;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = hl_cli_wish_check(&w, cli, status);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    if (!w.limit) /* they are few, and the one that fails may be the last */
        w.left = ALL;
    status = list(session, cli, &w);
    hl_cli_session_close(session);
    return status;
}
