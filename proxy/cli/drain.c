/* drain.c - `hookline drain`: the sidecar takes nothing from the queue and is not ready, until that is taken back; what is
 * left in it.
 * Not here: what that means (control.c). */
#include <stdio.h>

#include "base/compiler.h"
#include "cli/catalog.h"
#include "cli/session.h"

#define PATH      "/drain"
#define PATH_WAIT PATH "?wait=10" /* what is left is printed so often */

static long long count(const json_t *left, const char *name)
{
    return json_integer_value(json_object_get(left, name));
}

static int print_left(const struct hl_cli *cli, const json_t *left)
{
    if (hl_cli_expect(cli, left, "draining") != HL_CLI_OK)
        return HL_CLI_FAILED;
    fprintf(cli->out,
        "%s; left: %lld calls, %lld tunnels, %lld streams, %lld runs, %lld deliveries\n",
        json_is_true(json_object_get(left, "draining")) ? "draining" : "not draining",
        count(left, "calls"), count(left, "tunnels"), count(left, "streams"), count(left, "runs"),
        count(left, "deliveries"));
    fflush(cli->out);
    return HL_CLI_OK;
}

static int wait_for_end(const struct hl_cli *cli, struct hl_cli_session *session)
{
    for (;;) {
        unsigned answered;
        json_t *left;
        int status = hl_cli_ask_any(session, "GET", PATH_WAIT, NULL, &answered, &left);
        if (status != HL_CLI_OK)
            return status;
        status = answered == 200 || answered == 202 ? print_left(cli, left)
                                                    : hl_cli_refuse(session, PATH, answered, left);
        json_decref(left);
        if (status != HL_CLI_OK || answered == 200)
            return status;
    }
}

static int drain(
    const struct hl_cli *cli, struct hl_cli_session *session, bool is_cancelled, bool waits)
{
    json_t *left;
    int status = hl_cli_ask(session, is_cancelled ? "DELETE" : "POST", PATH, NULL, &left);
    if (status == HL_CLI_OK)
        status = print_left(cli, left);
    json_decref(left);
    if (status != HL_CLI_OK)
        return status;
    return waits ? wait_for_end(cli, session) : HL_CLI_OK;
}

int hl_cli_drain(const struct hl_cli *cli)
{
    bool is_cancelled = false, waits = false;
    const struct hl_cli_option options[] = {
        {.name = "--wait", .is_given = &waits}, {.name = "--cancel", .is_given = &is_cancelled}};
    struct hl_cli_session *session;
    size_t words;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &words);
    if (status == HL_CLI_OK && waits && is_cancelled)
        status = hl_cli_usage_error(cli, "--wait and --cancel exclude each other");
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = drain(cli, session, is_cancelled, waits);
    hl_cli_session_close(session);
    return status;
}
