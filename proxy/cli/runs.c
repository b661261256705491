/* runs.c - `hookline runs list`, `logs`, `cancel`, `rerun` and `redeliver`.
 * Not here: `runs show` (story.c). */
#include "cli/runs.h"

#include <stdlib.h>

#include "cli/argument.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/target.h"

#define LIMIT_DEFAULT 50
#define PAGE_MAX      200

/* ---- list ---- */

struct wish {
    const char *project, *app, *state, *since, *until, *limit;
    bool is_async, is_sync, is_json;
    int64_t since_ms, until_ms;
    unsigned long left;
};

static int read_wish(const struct hl_cli *cli, struct wish *w)
{
    const struct hl_cli_option options[] = {{"--project", &w->project, NULL},
        {"--app", &w->app, NULL}, {"--state", &w->state, NULL}, {"--since", &w->since, NULL},
        {"--until", &w->until, NULL}, {"--limit", &w->limit, NULL}, {"--async", NULL, &w->is_async},
        {"--sync", NULL, &w->is_sync}, {"--json", NULL, &w->is_json}};
    size_t count;
    uint64_t limit = LIMIT_DEFAULT;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    if (status != HL_CLI_OK)
        return status;
    if (w->since && !hl_cli_read_time(w->since, -1, &w->since_ms))
        return hl_cli_usage_error(cli, "--since is a time, or a duration before now such as 1h");
    if (w->until && !hl_cli_read_time(w->until, -1, &w->until_ms))
        return hl_cli_usage_error(cli, "--until is a time, or a duration before now such as 1h");
    if (w->limit && (!hl_str_to_u64(hl_str_from(w->limit), &limit) || limit < 1 || limit > 1000000))
        return hl_cli_usage_error(cli, "--limit is a number from 1 to 1000000");
    if (w->is_async && w->is_sync)
        return hl_cli_usage_error(cli, "--async and --sync exclude each other");
    w->left = (unsigned long)limit;
    return HL_CLI_OK;
}

static const char *list_target(
    struct hl_cli_target *target, const struct wish *w, const char *cursor)
{
    char limit[24];
    snprintf(limit, sizeof(limit), "%lu", w->left < PAGE_MAX ? w->left : PAGE_MAX);
    hl_cli_target_init(target);
    hl_cli_target_of(target, w->project, "/runs");
    hl_cli_target_query(target, "limit", limit);
    hl_cli_target_query(target, "app", w->app);
    hl_cli_target_query(target, "state", w->state);
    if (w->is_async || w->is_sync)
        hl_cli_target_query(target, "async", w->is_async ? "true" : "false");
    if (w->since)
        hl_cli_target_query_time(target, "since", w->since_ms);
    if (w->until)
        hl_cli_target_query_time(target, "until", w->until_ms);
    hl_cli_target_query(target, "cursor", cursor);
    return hl_cli_target_text(target);
}

static const char *const titles[] = {
    "RUN", "PROJECT", "APP", "MODE", "STATE", "REASON", "STATUS", "CREATED", "FINISHED", "WEBHOOK"};

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

static void add_row(struct hl_cli_table *table, const json_t *run)
{
    static const char *const members[] = {"run_id", "project_id", "app_name", "mode", "state",
        "reason", "status_code", "created_at", "finished_at"};
    char text[HL_CLI_MEMBER_TEXT];
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(run, members[i], text, sizeof(text)));
    hl_cli_table_add(table, webhook_of(run));
}

/* Page after page, until there are as many as are wanted. */
static int list(struct hl_cli_session *session, const struct hl_cli *cli, struct wish *w,
    struct hl_cli_table *table)
{
    char cursor[64] = "";
    int status;
    do {
        struct hl_cli_target target;
        json_t *page = NULL, *run;
        size_t i;
        const char *text = list_target(&target, w, *cursor ? cursor : NULL);
        status = text ? hl_cli_ask(session, "GET", text, NULL, &page) : HL_CLI_FAILED;
        hl_cli_target_fini(&target);
        json_array_foreach(json_object_get(page, "runs"), i, run)
        {
            w->left--;
            if (!w->is_json)
                add_row(table, run);
            else if (json_dumpf(run, cli->out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0)
                fputc('\n', cli->out);
        }
        const char *next = json_string_value(json_object_get(page, "next_cursor"));
        snprintf(cursor, sizeof(cursor), "%s", next ? next : "");
        json_decref(page);
    } while (status == HL_CLI_OK && *cursor && w->left > 0);
    return status;
}

int hl_cli_runs_list(const struct hl_cli *cli)
{
    struct wish w = {.project = NULL};
    struct hl_cli_session *session;
    struct hl_cli_table table;
    int status = read_wish(cli, &w);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_table_init(&table, titles, HL_ARRAY_LEN(titles));
    status = list(session, cli, &w, &table);
    if (status == HL_CLI_OK && !w.is_json)
        hl_cli_table_print(&table, cli->out);
    hl_cli_table_fini(&table);
    hl_cli_session_close(session);
    return status;
}

/* ---- cancel and rerun ---- */

static int ask_about(struct hl_cli_session *session, const char *method, const char *before,
    const char *id, const char *after, json_t **out)
{
    struct hl_cli_target target;
    *out = NULL;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, before);
    hl_cli_target_segment(&target, id);
    hl_cli_target_path(&target, after);
    const char *text = hl_cli_target_text(&target);
    int status = text ? hl_cli_ask(session, method, text, NULL, out) : HL_CLI_FAILED;
    hl_cli_target_fini(&target);
    return status;
}

/* POSTs to what `what` names of the one run that is the argument: "/cancel". */
static int post_to_run(const struct hl_cli *cli, const char *what, json_t **answer)
{
    const char *id;
    size_t count;
    struct hl_cli_session *session;
    *answer = NULL;
    int status = hl_cli_read_arguments(cli, NULL, 0, &id, 1, &count);
    if (status != HL_CLI_OK)
        return status;
    if (count != 1)
        return hl_cli_usage_error(cli, "\"runs %s\" needs a run's id", what + 1);
    status = hl_cli_session_open(&session, cli);
    if (status == HL_CLI_OK)
        status = ask_about(session, "POST", "/v2/runs/", id, what, answer);
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
    int status = post_to_run(cli, "/rerun", &answer);
    if (status == HL_CLI_OK)
        fprintf(cli->out, "%s\n", json_string_value(json_object_get(answer, "run_id")));
    json_decref(answer);
    return status;
}

/* ---- logs ---- */

int hl_cli_runs_logs(const struct hl_cli *cli)
{
    const char *id;
    size_t count;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, NULL, 0, &id, 1, &count);
    if (status != HL_CLI_OK)
        return status;
    if (count != 1)
        return hl_cli_usage_error(cli, "\"runs logs\" needs a run's id");
    status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    struct hl_cli_target target;
    struct hl_buf lines;
    hl_buf_init(&lines, 0);
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, "/v2/runs/");
    hl_cli_target_segment(&target, id);
    hl_cli_target_path(&target, "/logs");
    const char *text = hl_cli_target_text(&target);
    status = text ? hl_cli_read(session, text, &lines) : HL_CLI_FAILED;
    if (status == HL_CLI_OK)
        fwrite(lines.p, 1, lines.n, cli->out);
    hl_buf_fini(&lines);
    hl_cli_target_fini(&target);
    hl_cli_session_close(session);
    return status;
}

/* ---- redeliver ---- */

static int redeliver_run(
    struct hl_cli_session *session, const struct hl_cli *cli, const char *run_id)
{
    json_t *run, *delivery;
    size_t i;
    int status = ask_about(session, "GET", "/v2/runs/", run_id, "", &run);
    if (status != HL_CLI_OK)
        return status;
    const json_t *deliveries = json_object_get(run, "deliveries");
    if (json_array_size(deliveries) == 0) {
        fputs("hookline: the run has no webhook\n", cli->err);
        status = HL_CLI_FAILED;
    }
    json_array_foreach(deliveries, i, delivery)
    {
        json_t *answer = NULL;
        const char *id = json_string_value(json_object_get(delivery, "delivery_id"));
        if (status == HL_CLI_OK)
            status = ask_about(session, "POST", "/v2/deliveries/", id, "/redeliver", &answer);
        if (status == HL_CLI_OK)
            fputs("1 delivery is sent again\n", cli->out);
        json_decref(answer);
    }
    json_decref(run);
    return status;
}

static int redeliver_all(struct hl_cli_session *session, const struct hl_cli *cli,
    const char *project, const char *state, int64_t since_ms)
{
    json_t *answer = NULL;
    struct hl_cli_target target;
    project = hl_cli_session_project(session, cli, project);
    if (!project)
        return HL_CLI_USAGE;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, project, "/deliveries/redeliver");
    json_t *body = json_pack("{s:s, s:I}", "state", state, "since", (json_int_t)since_ms);
    const char *text = hl_cli_target_text(&target);
    int status = text ? hl_cli_ask(session, "POST", text, body, &answer) : HL_CLI_FAILED;
    long long n = json_integer_value(json_object_get(answer, "redelivered"));
    if (status == HL_CLI_OK)
        fprintf(cli->out,
            n == 1 ? "%lld delivery is sent again\n" : "%lld deliveries are sent again\n", n);
    json_decref(answer);
    hl_cli_target_fini(&target);
    return status;
}

int hl_cli_runs_redeliver(const struct hl_cli *cli)
{
    const char *id, *project = NULL, *state = NULL, *since = NULL;
    const struct hl_cli_option options[] = {
        {"--project", &project, NULL}, {"--state", &state, NULL}, {"--since", &since, NULL}};
    size_t count;
    int64_t since_ms = 0;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), &id, 1, &count);
    if (status != HL_CLI_OK)
        return status;
    if (count == 1 ? since || state || project : !since)
        return hl_cli_usage_error(
            cli, "\"runs redeliver\" needs a run's id, or --since for all dead ones since then");
    if (since && !hl_cli_read_time(since, -1, &since_ms))
        return hl_cli_usage_error(cli, "--since is a time, or a duration before now such as 1h");
    status = hl_cli_session_open(&session, cli);
    if (status == HL_CLI_OK)
        status = count == 1
                     ? redeliver_run(session, cli, id)
                     : redeliver_all(session, cli, project, state ? state : "dead", since_ms);
    hl_cli_session_close(session);
    return status;
}
