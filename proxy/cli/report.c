/* report.c - `hookline runs show`: what happened to a run, on one screen: its state, its times, the
 * app's answer, each attempt of its webhook. */
#include "cli/report.h"

#include "base/clock.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/lookup.h"
#include "cli/run_column.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "cli/table.h"

#define LABEL "%-13s"

/* Behind a time, on a terminal. */
static void say_ago(const struct hl_cli *cli, const char *text)
{
    const struct hl_cli_screen screen = hl_cli_screen_of(cli->out);
    char ago[HL_CLI_AGO];
    int64_t ms;
    if (screen.is_terminal && hl_clock_parse(hl_str_from(text), &ms))
        fprintf(cli->out, "  %s%s%s", hl_cli_color_faint(&screen),
            hl_cli_ago(ms, hl_clock_wall_ms(), ago), hl_cli_color_end(&screen));
}

void hl_cli_report_line(
    const struct hl_cli *cli, const char *label, const json_t *object, const char *name)
{
    char text[HL_CLI_MEMBER_TEXT * 2];
    const json_t *member = json_object_get(object, name);
    if (!member || json_is_null(member))
        return;
    fprintf(cli->out, LABEL, label);
    hl_cli_print(cli->out, hl_cli_member(object, name, text, sizeof(text)));
    say_ago(cli, text);
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
    {"timeout", "the app did not finish in time"},
    {"upstream_unreachable", "the app could not be reached"},
    {"upstream_reset", "the app broke the connection"},
    {"bad_response", "the app's answer was not valid HTTP"},
    {"interrupted", "hookline was stopped while the run was inside the app"},
    {"expired", "it expired before it could start; the app was not called"},
    {"response_not_kept", "the app answered, but the store did not accept the answer"},
};

/* How something is: in its colour, on a terminal. */
static void say_word(const struct hl_cli *cli, const char *word)
{
    const struct hl_cli_screen screen = hl_cli_screen_of(cli->out);
    const char *color = hl_cli_color_of(&screen, word);
    fputs(color, cli->out);
    hl_cli_print(cli->out, word);
    fputs(*color ? hl_cli_color_end(&screen) : "", cli->out);
}

static void say_state(const struct hl_cli *cli, const json_t *run)
{
    const char *reason = text_of(run, "reason");
    fprintf(cli->out, LABEL, "state");
    say_word(cli, text_of(run, "state"));
    for (size_t i = 0; i < HL_ARRAY_LEN(reasons); i++)
        if (strcmp(reason, reasons[i].reason) == 0)
            fprintf(cli->out, ": %s (%s)", reason, reasons[i].words);
    fputc('\n', cli->out);
    hl_cli_report_line(cli, "error", run, "error");
}

/* Why it waits, where the app sleeps. */
static void say_app_state(const struct hl_cli *cli, const json_t *run)
{
    const char *state = text_of(run, "app_state");
    if (!*state)
        return;
    fprintf(cli->out, LABEL, "the app is");
    hl_cli_print(cli->out, strcmp(state, "falling_asleep") == 0 ? "falling asleep" : state);
    fputs(" since ", cli->out);
    hl_cli_print(cli->out, text_of(run, "app_since"));
    fputc('\n', cli->out);
}

static void say_call(const struct hl_cli *cli, const json_t *run)
{
    fprintf(cli->out, LABEL, "call");
    hl_cli_print(cli->out, text_of(run, "mode"));
    fputc(' ', cli->out);
    hl_cli_print(cli->out, text_of(run, "method"));
    fputc(' ', cli->out);
    hl_cli_print(cli->out, text_of(run, "path"));
    if (json_integer_value(json_object_get(run, "attempts")) > 1)
        fprintf(cli->out, ", attempt %lld",
            (long long)json_integer_value(json_object_get(run, "attempts")));
    fputc('\n', cli->out);
}

/* Of an interrupted run it is only known when that was noticed, which may be long after. */
static void say_ran(const struct hl_cli *cli, const json_t *run)
{
    char text[HL_CLI_MEMBER_TEXT];
    if (!json_is_integer(json_object_get(run, "run_ms")))
        return;
    fprintf(cli->out, LABEL "%s%s\n", "ran, ms",
        strcmp(text_of(run, "reason"), "interrupted") == 0 ? "<= " : "",
        hl_cli_member(run, "run_ms", text, sizeof(text)));
}

static void say_answer(const struct hl_cli *cli, const json_t *run)
{
    char text[HL_CLI_MEMBER_TEXT];
    if (json_is_null(json_object_get(run, "status_code"))) {
        fprintf(cli->out, LABEL "none\n", "app's answer");
        return;
    }
    fprintf(cli->out, LABEL, "app's answer");
    hl_cli_print(cli->out, hl_cli_member(run, "status_code", text, sizeof(text)));
    if (!json_is_null(json_object_get(run, "response_bytes"))) {
        fputs(", ", cli->out);
        hl_cli_print(cli->out, hl_cli_member(run, "response_bytes", text, sizeof(text)));
        fputs(" bytes", cli->out);
    }
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

/* What a receiver said who did not take it: that is where the reason is. */
static void say_last_answer(const struct hl_cli *cli, const json_t *attempts)
{
    const json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    const json_t *answer = json_object_get(last, "answer");
    if (strcmp(text_of(last, "outcome"), "delivered") == 0 || !json_is_object(answer))
        return;
    fprintf(cli->out, LABEL, "its answer");
    hl_cli_print(cli->out, text_of(answer, "body"));
    if (strcmp(text_of(answer, "encoding"), "base64") == 0)
        fputs(" (in base64)", cli->out);
    fputs(json_is_true(json_object_get(answer, "truncated")) ? " …\n" : "\n", cli->out);
}

void hl_cli_report_delivery(const struct hl_cli *cli, const json_t *delivery)
{
    static const char *const titles[] = {
        " ", "ROUND", "ATTEMPT", "SENT", "MS", "OUTCOME", "STATUS", "ERROR"};
    struct hl_cli_table table;
    json_t *attempt;
    size_t i;
    fprintf(cli->out, "\n" LABEL, "webhook");
    say_word(cli, text_of(delivery, "state"));
    fputs(" to ", cli->out);
    hl_cli_print(cli->out, text_of(delivery, "destination"));
    fputs(" (delivery ", cli->out);
    hl_cli_print(cli->out, text_of(delivery, "delivery_id"));
    fputs(")\n", cli->out);
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
    say_last_answer(cli, attempts);
    hl_cli_report_line(cli, "next attempt", delivery, "next_attempt_at");
}

static void say_tags(const struct hl_cli *cli, const json_t *run)
{
    char text[HL_TAGS_TEXT + 1];
    if (!*hl_cli_run_tags(run, text))
        return;
    fprintf(cli->out, LABEL, "tags");
    hl_cli_print(cli->out, text);
    fputc('\n', cli->out);
}

static void tell(const struct hl_cli *cli, const json_t *run)
{
    json_t *delivery;
    size_t i;
    hl_cli_report_line(cli, "run", run, "run_id");
    hl_cli_report_line(cli, "project", run, "project_id");
    hl_cli_report_line(cli, "app", run, "app_name");
    say_call(cli, run);
    say_tags(cli, run);
    hl_cli_report_line(cli, "replica", run, "replica");
    say_state(cli, run);
    hl_cli_report_line(cli, "created", run, "created_at");
    hl_cli_report_line(cli, "started", run, "started_at");
    hl_cli_report_line(cli, "finished", run, "finished_at");
    hl_cli_report_line(cli, "in the queue", run, "queue_position");
    say_app_state(cli, run);
    hl_cli_report_line(cli, "waited, ms", run, "queued_ms");
    say_ran(cli, run);
    say_answer(cli, run);
    json_array_foreach(json_object_get(run, "deliveries"), i, delivery)
        hl_cli_report_delivery(cli, delivery);
}

int hl_cli_runs_show(const struct hl_cli *cli)
{
    const char *id;
    bool is_json = false;
    const struct hl_cli_option options[] = {{"--json", NULL, &is_json}};
    struct hl_cli_session *session;
    json_t *run;
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_RUN, &id);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = hl_cli_ask_about(session, HL_CLI_RUN, "GET", id, "", &run);
    if (status == HL_CLI_OK && is_json)
        hl_cli_print_json(cli, run);
    else if (status == HL_CLI_OK)
        tell(cli, run);
    json_decref(run);
    hl_cli_session_close(session);
    return status;
}
