/* resend.c - what was sent goes to another URL, too; and `hookline deliveries test`: one event at once to a receiver, and what
 * it said.
 * Not here: again to where it went (redelivery.c). */
#include "cli/resend.h"

#include <jansson.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/lookup.h"
#include "cli/report.h"
#include "cli/screen.h"
#include "cli/secret_file.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"
#include "route/mode.h"
#include "route/plan.h"

/* Where to, and what signs it. */
struct aim {
    const char *url, *secret_file;
    char secret[HL_CLI_SECRET_ROOM];
    size_t secret_n;
};

/* What is no URL at all is said with the other faults, and not repeated: it may hold a secret. Whether a webhook may go
 * there the sidecar knows. */
static int check_aim(const struct hl_cli *cli, const struct aim *aim, int status)
{
    struct hl_url url;
    if (!aim->url || hl_webhook_url_parse(hl_str_from(aim->url), &url))
        return status;
    return hl_cli_usage_error(cli,
        "--to takes an absolute http or https URL of at most %d bytes, such as "
        "https://example.com/hook",
        HL_WEBHOOK_URL_MAX);
}

static int read_aim(const struct hl_cli *cli, struct aim *aim)
{
    return aim->secret_file
               ? hl_cli_read_secret_file(cli, aim->secret_file, aim->secret, &aim->secret_n)
               : HL_CLI_OK;
}

/* NULL: out of memory. */
static json_t *aim_json(struct aim *aim)
{
    json_t *body = json_object();
    bool is_whole = json_object_set_new(body, "url", json_string(aim->url)) == 0;
    if (is_whole && aim->secret_n > 0)
        is_whole =
            json_object_set_new(body, "secret", json_stringn(aim->secret, aim->secret_n)) == 0;
    explicit_bzero(aim->secret, sizeof(aim->secret));
    if (is_whole)
        return body;
    json_decref(body);
    return NULL;
}

/* ---- another URL ---- */

bool hl_cli_goes_elsewhere(const struct hl_cli *cli)
{
    for (int i = 0; i < cli->argc; i++)
        if (strcmp(cli->argv[i], "--to") == 0 || strncmp(cli->argv[i], "--to=", 5) == 0)
            return true;
    return false;
}

static int send_it(
    struct hl_cli_session *session, const struct hl_cli *cli, const char *typed, struct aim *aim)
{
    char id[HL_CLI_ID_MAX];
    struct hl_cli_target target;
    json_t *body, *made = NULL;
    int status = hl_cli_find(session, cli, HL_CLI_DELIVERY, typed, id);
    if (status != HL_CLI_OK)
        return status;
    body = aim_json(aim);
    if (!body)
        return hl_cli_fail(cli, "out of memory");
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, "/v2/deliveries/");
    hl_cli_target_segment(&target, id);
    hl_cli_target_path(&target, "/redeliver");
    status = hl_cli_ask_for(session, "POST", &target, body, "delivery_id", &made);
    if (status == HL_CLI_OK) {
        char text[HL_CLI_MEMBER_TEXT];
        hl_cli_print(cli->out, hl_cli_member(made, "delivery_id", text, sizeof(text)));
        fputc('\n', cli->out);
    }
    json_decref(made);
    return status;
}

int hl_cli_resend(const struct hl_cli *cli)
{
    const char *id;
    struct aim aim = {.url = NULL};
    const struct hl_cli_option options[] = {
        {.name = "--to", .text = &aim.url}, {.name = "--secret-file", .text = &aim.secret_file}};
    struct hl_cli_session *session = NULL;
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_DELIVERY, &id);
    status = check_aim(cli, &aim, status);
    if (status == HL_CLI_OK)
        status = read_aim(cli, &aim);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status == HL_CLI_OK)
        status = send_it(session, cli, id, &aim);
    hl_cli_session_close(session);
    return status;
}

/* ---- a test ---- */

struct trial {
    const char *typed, *project;
    struct aim aim;
    bool is_json;
};

static int read_trial(const struct hl_cli *cli, struct trial *t)
{
    const struct hl_cli_option options[] = {{.name = "--to", .text = &t->aim.url},
        {.name = "--secret-file", .text = &t->aim.secret_file},
        {.name = "--project", .text = &t->project}, {.name = "--json", .is_given = &t->is_json}};
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), &t->typed, 1, &count);
    if ((count == 0) == (t->aim.url == NULL))
        status = hl_cli_usage_error(cli, "it takes either a delivery's id, or --to URL");
    if (count == 1 && t->aim.secret_file)
        status = hl_cli_usage_error(cli, "--secret-file goes with --to: a delivery has its own");
    status = check_aim(cli, &t->aim, status);
    return status == HL_CLI_OK ? read_aim(cli, &t->aim) : status;
}

/* Takes nothing. NULL: it has said why. */
static json_t *trial_json(
    struct hl_cli_session *session, const struct hl_cli *cli, struct trial *t, int *status)
{
    char id[HL_CLI_ID_MAX];
    json_t *body = NULL;
    *status = t->typed ? hl_cli_find(session, cli, HL_CLI_DELIVERY, t->typed, id) : HL_CLI_OK;
    if (*status != HL_CLI_OK)
        return NULL;
    if (t->typed)
        body = json_pack("{s:s}", "delivery_id", id);
    else
        body = aim_json(&t->aim);
    if (!body)
        *status = hl_cli_fail(cli, "out of memory");
    return body;
}

static void tell(const struct hl_cli *cli, const json_t *told)
{
    static const struct {
        const char *label, *name;
    } lines[] = {{"outcome", "outcome"}, {"status", "status_code"}, {"took, ms", "duration_ms"},
        {"address", "address"}, {"error", "error"}, {"retry after", "retry_after"}};
    const json_t *attempt = json_object_get(told, "attempt");
    hl_cli_report_line(cli, "event", told, "event_id");
    hl_cli_report_line(cli, "to", told, "url");
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++)
        hl_cli_report_line(cli, lines[i].label, attempt, lines[i].name);
    hl_cli_report_line(cli, "its answer", json_object_get(attempt, "answer"), "body");
}

static bool was_taken(const json_t *told)
{
    const char *outcome =
        json_string_value(json_object_get(json_object_get(told, "attempt"), "outcome"));
    return outcome && strcmp(outcome, "delivered") == 0;
}

static int try_it(struct hl_cli_session *session, const struct hl_cli *cli, struct trial *t)
{
    struct hl_cli_target target;
    json_t *told = NULL;
    int status = HL_CLI_USAGE;
    t->project = hl_cli_session_project(session, cli, t->project);
    json_t *body = t->project ? trial_json(session, cli, t, &status) : NULL;
    if (!body)
        return status;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, t->project, "/destinations/test");
    status = hl_cli_ask_for(session, "POST", &target, body, "attempt", &told);
    if (status == HL_CLI_OK && t->is_json)
        hl_cli_print_json(cli, told);
    else if (status == HL_CLI_OK)
        tell(cli, told);
    if (status == HL_CLI_OK && !was_taken(told))
        status = HL_CLI_FAILED;
    json_decref(told);
    return status;
}

int hl_cli_deliveries_test(const struct hl_cli *cli)
{
    struct trial t = {.typed = NULL};
    struct hl_cli_session *session = NULL;
    int status = read_trial(cli, &t);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status == HL_CLI_OK)
        status = try_it(session, cli, &t);
    hl_cli_session_close(session);
    return status;
}
