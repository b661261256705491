/* run_error.c - `hookline runs errors`: what went wrong, the most frequent first.
 * Not here: which runs those are (`runs list --error`, runs.c). */
#include <string.h>

#include "base/compiler.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"

static const struct hl_cli_column columns[] = {{"COUNT", HL_CLI_PLAIN, 0},
    {"FIRST", HL_CLI_TIME, 3}, {"LAST", HL_CLI_TIME, 0}, {"PROJECT", HL_CLI_PLAIN, 4},
    {"APP", HL_CLI_TEXT, 2}, {"REASON", HL_CLI_PLAIN, 0}, {"ERROR", HL_CLI_ERROR, 0}};

static void add_row(struct hl_cli_table *table, const json_t *row)
{
    static const char *const members[] = {
        "count", "first_at", "last_at", "project_id", "app_name", "reason", "error"};
    char text[HL_CLI_MEMBER_TEXT];
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(row, members[i], text, sizeof(text)));
}

/* What the table does not have. */
static void say_rest(const struct hl_cli *cli, const json_t *answer)
{
    json_int_t more = json_integer_value(json_object_get(answer, "more"));
    const char *since = json_string_value(json_object_get(answer, "since"));
    const char *counted = json_string_value(json_object_get(answer, "counted_since"));
    if (more > 0)
        fprintf(cli->out, "… and %" JSON_INTEGER_FORMAT " others, which are less frequent\n", more);
    if (!since || !counted || strcmp(since, counted) == 0)
        return;
    fputs("counted since ", cli->out);
    hl_cli_print_line(cli->out, counted);
}

static void show(const struct hl_cli *cli, const json_t *answer)
{
    struct hl_cli_table table;
    json_t *row;
    size_t i;
    hl_cli_table_init_for(&table, cli->out, columns, HL_ARRAY_LEN(columns));
    json_array_foreach(json_object_get(answer, "errors"), i, row) add_row(&table, row);
    hl_cli_table_print(&table, cli->out);
    hl_cli_table_fini(&table);
    say_rest(cli, answer);
}

static int count(
    struct hl_cli_session *session, const struct hl_cli *cli, const struct hl_cli_filter *filter)
{
    struct hl_cli_target target;
    json_t *answer = NULL, *row;
    size_t i;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, filter->project, "/errors");
    hl_cli_target_query(&target, "app", filter->app);
    if (filter->since)
        hl_cli_target_query_time(&target, "since", filter->since_ms);
    if (filter->until)
        hl_cli_target_query_time(&target, "until", filter->until_ms);
    int status = hl_cli_ask_for(session, "GET", &target, NULL, "errors", &answer);
    if (status == HL_CLI_OK && !filter->is_json)
        show(cli, answer);
    if (status == HL_CLI_OK && filter->is_json)
        json_array_foreach(json_object_get(answer, "errors"), i, row) hl_cli_print_json(cli, row);
    json_decref(answer);
    return status;
}

int hl_cli_runs_errors(const struct hl_cli *cli)
{
    struct hl_cli_filter filter = {.project = NULL};
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--app", .text = &filter.app}, {.name = "--since", .text = &filter.since},
        {.name = "--until", .text = &filter.until},
        {.name = "--json", .is_given = &filter.is_json}};
    struct hl_cli_session *session;
    int status = hl_cli_filter_open(cli, options, HL_ARRAY_LEN(options), &filter, &session);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_filter_settle_project(&filter, session);
    status = count(session, cli, &filter);
    hl_cli_session_close(session);
    return status;
}
