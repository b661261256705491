/* dashboard.c - `hookline dashboard`: a link that signs in.
 * Promise: the token stands in the fragment, which a browser keeps to itself; nothing else goes to
 * stdout. */
#include "cli/dashboard.h"

#include "cli/argument.h"
#include "cli/cli.h"
#include "cli/readable.h"
#include "cli/session.h"
#include "cli/target.h"

static int print_link(struct hl_cli_session *session, const struct hl_cli *cli, const char *project)
{
    struct hl_cli_target target;
    json_t *answer = NULL;
    project = hl_cli_session_project(session, cli, project);
    if (!project)
        return HL_CLI_USAGE;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, project, "/dashboard-sessions");
    int status = hl_cli_ask_target(session, "POST", &target, NULL, &answer);
    const char *url = json_string_value(json_object_get(answer, "url"));
    const char *token = json_string_value(json_object_get(answer, "token"));
    if (url) {
        hl_cli_print(cli->out, url);
        fputs(token ? "#token=" : "", cli->out); /* else it asks for none */
        hl_cli_print_line(cli->out, token ? token : "");
    } else if (status == HL_CLI_OK) {
        status = HL_CLI_FAILED;
    }
    json_decref(answer);
    return status;
}

int hl_cli_dashboard(const struct hl_cli *cli)
{
    const char *project = NULL;
    const struct hl_cli_option options[] = {{"--project", &project, NULL}};
    struct hl_cli_session *session;
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = print_link(session, cli, project);
    hl_cli_session_close(session);
    return status;
}
