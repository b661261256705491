/* story.c - `hookline runs show`: what happened to a run, on one screen: its state, its times, the
 * app's answer, each attempt of its webhook. */
#include "cli/story.h"

#include "cli/argument.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/target.h"

#define LABEL "%-13s"

static void say(const struct hl_cli *cli, const char *label, const json_t *object, const char *name)
{
    char text[HL_CLI_MEMBER_TEXT * 2];
    const json_t *member = json_object_get(object, name);
    if (!member || json_is_null(member))
        return;
    fprintf(cli->out, LABEL, label);
    hl_cli_print(cli->out, hl_cli_member(object, name, text, sizeof(text)));
    fputc('\n', cli->out);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* What a reason means, in words (contract 4). */
static const struct {
    const char *reason, *words;
} reasons[] = {
    {"app_error", "the app answered with a status of 400 or more"},
    {"timeout", "the app did not end in time"},
    {"upstream_unreachable", "the app could not be reached"},
    {"upstream_reset", "the app broke off"},
    {"bad_response", "the app's answer was not valid HTTP"},
    {"interrupted", "hookline was stopped while the run was inside the app"},
    {"expired", "its time to start was over; the app was not called"},
};

static void say_state(const struct hl_cli *cli, const json_t *run)
{
    const char *reason = text_of(run, "reason");
    fprintf(cli->out, LABEL "%s", "state", text_of(run, "state"));
    for (size_t i = 0; i < HL_ARRAY_LEN(reasons); i++)
        if (strcmp(reason, reasons[i].reason) == 0)
            fprintf(cli->out, ": %s (%s)", reason, reasons[i].words);
    fputc('\n', cli->out);
}

static void say_call(const struct hl_cli *cli, const json_t *run)
{
    fprintf(cli->out, LABEL "%s ", "call", text_of(run, "mode"));
    hl_cli_print(cli->out, text_of(run, "method"));
    fputc(' ', cli->out);
    hl_cli_print(cli->out, text_of(run, "path"));
    if (json_integer_value(json_object_get(run, "attempts")) > 1)
        fprintf(cli->out, ", attempt %lld",
            (long long)json_integer_value(json_object_get(run, "attempts")));
    fputc('\n', cli->out);
}

static void say_answer(const struct hl_cli *cli, const json_t *run)
{
    char text[HL_CLI_MEMBER_TEXT];
    if (json_is_null(json_object_get(run, "status_code"))) {
        fprintf(cli->out, LABEL "none\n", "app's answer");
        return;
    }
    fprintf(cli->out, LABEL "%s", "app's answer",
        hl_cli_member(run, "status_code", text, sizeof(text)));
    if (!json_is_null(json_object_get(run, "response_bytes")))
        fprintf(cli->out, ", %s bytes", hl_cli_member(run, "response_bytes", text, sizeof(text)));
    if (*text_of(run, "content_type")) {
        fputs(", ", cli->out);
        hl_cli_print(cli->out, text_of(run, "content_type"));
    }
    fprintf(cli->out, ", %s\n",
        strcmp(text_of(run, "result"), "kept") == 0      ? "kept"
        : strcmp(text_of(run, "result"), "dropped") == 0 ? "not kept any more"
                                                         : "not kept");
}

static void add_attempt(struct hl_cli_table *table, const json_t *attempt)
{
    static const char *const members[] = {
        "round", "n", "started_at", "duration_ms", "outcome", "status_code", "error"};
    char text[HL_CLI_MEMBER_TEXT];
    hl_cli_table_add(table, " ");
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(attempt, members[i], text, sizeof(text)));
}

static void say_delivery(const struct hl_cli *cli, const json_t *delivery)
{
    static const char *const titles[] = {
        " ", "ROUND", "ATTEMPT", "SENT", "MS", "OUTCOME", "STATUS", "ERROR"};
    struct hl_cli_table table;
    json_t *attempt;
    size_t i;
    fprintf(cli->out, "\n" LABEL "%s to ", "webhook", text_of(delivery, "state"));
    hl_cli_print(cli->out, text_of(delivery, "destination"));
    fprintf(cli->out, " (delivery %s)\n", text_of(delivery, "delivery_id"));
    const json_t *attempts = json_object_get(delivery, "attempts");
    json_int_t all = json_integer_value(json_object_get(delivery, "attempt_count"));
    if (json_array_size(attempts) == 0)
        return;
    if (all > (json_int_t)json_array_size(attempts))
        fprintf(cli->out, "   the newest %zu of %" JSON_INTEGER_FORMAT " attempts\n",
            json_array_size(attempts), all);
    hl_cli_table_init(&table, titles, HL_ARRAY_LEN(titles));
    json_array_foreach(attempts, i, attempt) add_attempt(&table, attempt);
    hl_cli_table_print(&table, cli->out);
    hl_cli_table_fini(&table);
}

static void tell(const struct hl_cli *cli, const json_t *run)
{
    json_t *delivery;
    size_t i;
    say(cli, "run", run, "run_id");
    say(cli, "project", run, "project_id");
    say(cli, "app", run, "app_name");
    say_call(cli, run);
    say(cli, "replica", run, "replica");
    say_state(cli, run);
    say(cli, "created", run, "created_at");
    say(cli, "started", run, "started_at");
    say(cli, "finished", run, "finished_at");
    say(cli, "in the queue", run, "queue_position");
    say(cli, "waited, ms", run, "queued_ms");
    say(cli, "ran, ms", run, "run_ms");
    say_answer(cli, run);
    json_array_foreach(json_object_get(run, "deliveries"), i, delivery) say_delivery(cli, delivery);
}

int hl_cli_runs_show(const struct hl_cli *cli)
{
    const char *id;
    bool is_json = false;
    const struct hl_cli_option options[] = {{"--json", NULL, &is_json}};
    size_t count;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, options, 1, &id, 1, &count);
    if (status != HL_CLI_OK)
        return status;
    if (count != 1)
        return hl_cli_usage_error(cli, "\"runs show\" needs a run's id");
    status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    struct hl_cli_target target;
    json_t *run = NULL;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, "/v2/runs/");
    hl_cli_target_segment(&target, id);
    const char *text = hl_cli_target_text(&target);
    status = text ? hl_cli_ask(session, "GET", text, NULL, &run) : HL_CLI_FAILED;
    if (status == HL_CLI_OK && is_json) {
        status = json_dumpf(run, cli->out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0 ? HL_CLI_OK
                                                                                  : HL_CLI_FAILED;
        fputc('\n', cli->out);
    } else if (status == HL_CLI_OK) {
        tell(cli, run);
    }
    json_decref(run);
    hl_cli_target_fini(&target);
    hl_cli_session_close(session);
    return status;
}
