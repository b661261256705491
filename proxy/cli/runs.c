/* runs.c - `hookline runs list`, `cancel` and `rerun`.
 * Not here: `runs show` (story.c), a list that goes on (follow.c), responses and logs (outcome.c),
 * `runs send` (call.c), `runs redeliver` (redeliver.c). */
#include "cli/runs.h"

#include "cli/argument.h"
#include "cli/cli.h"
#include "cli/follow.h"
#include "cli/lookup.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/wish.h"

/* ---- list ---- */

/* At 80 characters: which run of which app, why it failed and when, what of its webhook. */
static const struct hl_cli_column columns[] = {{"RUN", HL_CLI_RUN_ID, 0},
    {"PROJECT", HL_CLI_PLAIN, 8}, {"APP", HL_CLI_TEXT, 2}, {"PATH", HL_CLI_TEXT, 3},
    {"MODE", HL_CLI_PLAIN, 7}, {"STATE", HL_CLI_PLAIN, 0}, {"REASON", HL_CLI_PLAIN, 1},
    {"STATUS", HL_CLI_PLAIN, 5}, {"CREATED", HL_CLI_TIME, 0}, {"FINISHED", HL_CLI_TIME, 9},
    {"WEBHOOK", HL_CLI_PLAIN, 4}};

/* "delivered", "dead", "pending", or nothing: a run has one webhook at most. */
static const char *webhook_of(const json_t *run)
{
    static const char *const states[] = {"dead", "pending", "delivered"};
    const json_t *counts = json_object_get(run, "deliveries");
    for (size_t i = 0; i < HL_ARRAY_LEN(states); i++)
        if (json_integer_value(json_object_get(counts, states[i])) > 0)
            return states[i];
    return NULL;
}

static void add_row(void *table, json_t *run)
{
    static const char *const members[] = {"run_id", "project_id", "app_name", "path", "mode",
        "state", "reason", "status_code", "created_at", "finished_at"};
    char text[HL_CLI_MEMBER_TEXT];
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(run, members[i], text, sizeof(text)));
    hl_cli_table_add(table, webhook_of(run));
}

static int list(struct hl_cli_session *session, const struct hl_cli *cli, struct hl_cli_wish *w)
{
    struct hl_cli_table table;
    hl_cli_table_init_for(&table, cli->out, columns, HL_ARRAY_LEN(columns));
    return hl_cli_wish_list(session, cli, w, "/runs", "runs", &table, add_row);
}

int hl_cli_runs_list(const struct hl_cli *cli)
{
    struct hl_cli_wish w = {.project = NULL};
    bool goes_on = false;
    const struct hl_cli_option options[] = {{.name = "--project", .text = &w.project},
        {.name = "--app", .text = &w.app}, {.name = "--state", .text = &w.state},
        {.name = "--since", .text = &w.since}, {.name = "--until", .text = &w.until},
        {.name = "--limit", .text = &w.limit}, {.name = "--async", .is_given = &w.is_async},
        {.name = "--sync", .is_given = &w.is_sync}, {.name = "--path", .text = &w.path},
        {.name = "--status", .text = &w.status}, {.name = "--reason", .text = &w.reason},
        {.name = "--webhook", .text = &w.webhook}, {.name = "--json", .is_given = &w.is_json},
        {.name = "--follow", .is_given = &goes_on}};
    size_t count;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = hl_cli_wish_check(&w, cli, status);
    if (goes_on && w.until)
        status = hl_cli_usage_error(cli, "--follow goes on: --until cannot be given with it");
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = goes_on ? hl_cli_follow(session, cli, &w) : list(session, cli, &w);
    hl_cli_session_close(session);
    return status;
}

/* ---- cancel and rerun ---- */

/* POSTs to what `what` names of the one run that is the argument: "/cancel". */
static int post_to_run(const struct hl_cli *cli, const char *what, json_t **answer)
{
    const char *id;
    struct hl_cli_session *session;
    *answer = NULL;
    int status = hl_cli_read_id(cli, NULL, 0, HL_CLI_RUN, &id);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = hl_cli_ask_about(session, cli, HL_CLI_RUN, "POST", id, what, answer);
    hl_cli_session_close(session);
    return status;
}

int hl_cli_runs_cancel(const struct hl_cli *cli)
{
    json_t *answer;
    int status = post_to_run(cli, "/cancel", &answer);
    if (status == HL_CLI_OK)
        fputs("cancelled\n", cli->out);
    json_decref(answer);
    return status;
}

int hl_cli_runs_rerun(const struct hl_cli *cli)
{
    json_t *answer;
    char id[HL_CLI_MEMBER_TEXT];
    int status = post_to_run(cli, "/rerun", &answer);
    if (status == HL_CLI_OK)
        hl_cli_print_line(cli->out, hl_cli_member(answer, "run_id", id, sizeof(id)));
    json_decref(answer);
    return status;
}
