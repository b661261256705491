/* deliveries.c - `hookline deliveries list` and `show`.
 * Not here: sending them again (redeliver.c), one as a story (story.c). */
#include "cli/deliveries.h"

#include "cli/argument.h"
#include "cli/cli.h"
#include "cli/delivery_table.h"
#include "cli/lookup.h"
#include "cli/session.h"
#include "cli/story.h"
#include "cli/table.h"
#include "cli/wish.h"

static void add_row(void *table, json_t *delivery)
{
    hl_cli_delivery_table_add(table, delivery);
}

static int list(struct hl_cli_session *session, const struct hl_cli *cli, struct hl_cli_wish *w)
{
    struct hl_cli_table table;
    hl_cli_delivery_table_init(&table, cli->out);
    return hl_cli_wish_list(session, cli, w, "/deliveries", "deliveries", &table, add_row);
}

int hl_cli_deliveries_list(const struct hl_cli *cli)
{
    struct hl_cli_wish w = {.project = NULL};
    char run[HL_CLI_ID_MAX];
    const struct hl_cli_option options[] = {{.name = "--project", .text = &w.project},
        {.name = "--app", .text = &w.app}, {.name = "--run", .text = &w.run},
        {.name = "--state", .text = &w.state}, {.name = "--since", .text = &w.since},
        {.name = "--until", .text = &w.until}, {.name = "--limit", .text = &w.limit},
        {.name = "--destination", .text = &w.destination}, {.name = "--status", .text = &w.status},
        {.name = "--json", .is_given = &w.is_json}};
    size_t count;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = hl_cli_wish_check(&w, cli, status);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    if (w.run) {
        status = hl_cli_find(session, cli, HL_CLI_RUN, w.run, run);
        w.run = run;
    }
    if (status == HL_CLI_OK)
        status = list(session, cli, &w);
    hl_cli_session_close(session);
    return status;
}

static void tell(const struct hl_cli *cli, const json_t *delivery)
{
    static const struct {
        const char *label, *name;
    } lines[] = {{"run", "run_id"}, {"app", "app_name"}, {"event", "type"},
        {"created", "created_at"}, {"done", "done_at"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++)
        hl_cli_story_line(cli, lines[i].label, delivery, lines[i].name);
    hl_cli_story_delivery(cli, delivery);
}

int hl_cli_deliveries_show(const struct hl_cli *cli)
{
    const char *id;
    bool is_json = false;
    const struct hl_cli_option options[] = {{.name = "--json", .is_given = &is_json}};
    struct hl_cli_session *session;
    json_t *delivery;
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_DELIVERY, &id);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = hl_cli_ask_about(session, cli, HL_CLI_DELIVERY, "GET", id, "", &delivery);
    if (status == HL_CLI_OK && is_json)
        hl_cli_print_json(cli, delivery);
    else if (status == HL_CLI_OK)
        tell(cli, delivery);
    json_decref(delivery);
    hl_cli_session_close(session);
    return status;
}
