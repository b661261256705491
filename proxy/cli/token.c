/* token.c - `hookline token create`, `list` and `revoke`, and `hookline dashboard`: a link that signs in.
 * Promise: create prints the token and nothing else to stdout, so that a script can take it; of a link the token stands
 * in the fragment, which a browser keeps to itself. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/lookup.h"
#include "cli/screen.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"
#include "store/account.h"

/* ---- create ---- */

/* As given; NULL: not. */
struct wanted_account {
    const char *name, *role, *expires;
    const char *limits[HL_LIMIT_COUNT];
    int64_t expires_ms;
};

static bool is_number(const char *text)
{
    uint64_t number;
    return hl_str_to_u64(hl_str_from(text), &number) && number >= 1 && number <= HL_LIMIT_MAX;
}

/* They have been checked. */
static json_t *limit_json(enum hl_limit limit, const char *text)
{
    bool is_count = limit == HL_LIMIT_MAX_RUNNING || limit == HL_LIMIT_MAX_QUEUED;
    return is_count ? json_integer(atoll(text)) : json_string(text);
}

static json_t *request_body(const struct wanted_account *wanted)
{
    char expires[HL_CLOCK_TEXT];
    hl_clock_format(wanted->expires_ms, expires);
    json_t *body = json_pack("{s:s, s:s, s:s}", "name", wanted->name, "expires_at", expires, "role",
        wanted->role ? wanted->role : "invoke");
    for (int i = 0; i < HL_LIMIT_COUNT; i++)
        if (wanted->limits[i])
            json_object_set_new(body, hl_limit_text((enum hl_limit)i),
                limit_json((enum hl_limit)i, wanted->limits[i]));
    return body;
}

static void show_token(const struct hl_cli *cli, const json_t *account)
{
    char id[HL_CLI_MEMBER_TEXT], until[HL_CLI_MEMBER_TEXT];
    const char *token = json_string_value(json_object_get(account, "token"));
    hl_cli_print_line(cli->out, token ? token : "-");
    if (!isatty(fileno(cli->out)))
        return;
    fputs("\nservice account ", cli->err);
    hl_cli_print(cli->err, hl_cli_member(account, "id", id, sizeof(id)));
    fputs(", valid until ", cli->err);
    hl_cli_print(cli->err, hl_cli_member(account, "expires_at", until, sizeof(until)));
    fputs("; the token is not shown again\n", cli->err);
}

static int create(struct hl_cli_session *session, const struct hl_cli *cli, const char *project,
    const struct wanted_account *wanted)
{
    struct hl_cli_target target;
    json_t *account;
    project = hl_cli_session_project(session, cli, project);
    if (!project)
        return HL_CLI_USAGE;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, project, "/service-accounts");
    int status = hl_cli_ask_for(session, "POST", &target, request_body(wanted), "token", &account);
    if (status == HL_CLI_OK)
        show_token(cli, account);
    json_decref(account);
    return status;
}

/* NULL is: it is not asked for. */
static bool is_good_expiry(const char *text, int most_days, int64_t *ms)
{
    if (!text)
        return true;
    if (!hl_cli_read_time(text, 1, ms))
        return false;
    int64_t now_ms = hl_clock_wall_ms();
    return *ms > now_ms && *ms <= now_ms + most_days * INT64_C(24) * 3600 * 1000;
}

/* Each fault is said; `status` is what was found before. */
static int check_wanted(struct wanted_account *wanted, const struct hl_cli *cli, int status)
{
    static const struct {
        enum hl_limit limit;
        const char *name;
    } counts[] = {{HL_LIMIT_MAX_RUNNING, "--max-running"}, {HL_LIMIT_MAX_QUEUED, "--max-queued"}};
    const char *rate = wanted->limits[HL_LIMIT_RATE];
    struct hl_rate parsed;
    if (hl_cli_need(cli, "--name", wanted->name) != HL_CLI_OK)
        status = HL_CLI_USAGE;
    if (hl_cli_need(cli, "--expires", wanted->expires) != HL_CLI_OK)
        status = HL_CLI_USAGE;
    if (!is_good_expiry(wanted->expires, HL_ACCOUNT_DAYS_MAX, &wanted->expires_ms))
        status = hl_cli_usage_error(cli,
            "--expires takes a duration such as 90d, or a time such as 2027-01-31T00:00:00Z, in "
            "the future and at most ten years away, not \"%s\"",
            wanted->expires);
    for (size_t i = 0; i < HL_ARRAY_LEN(counts); i++) {
        const char *text = wanted->limits[counts[i].limit];
        if (text && !is_number(text))
            status = hl_cli_usage_error(
                cli, "%s is a number from 1 to %d, not \"%s\"", counts[i].name, HL_LIMIT_MAX, text);
    }
    if (rate && !hl_rate_parse(hl_str_from(rate), &parsed))
        status = hl_cli_usage_error(cli,
            "--rate takes calls per second, minute, hour or day, such as 100/m, not \"%s\"", rate);
    return status;
}

int hl_cli_token_create(const struct hl_cli *cli)
{
    const char *project = NULL;
    struct wanted_account wanted = {.name = NULL};
    const struct hl_cli_option options[] = {{"--project", &project, NULL},
        {"--name", &wanted.name, NULL}, {"--role", &wanted.role, NULL},
        {"--expires", &wanted.expires, NULL},
        {"--max-running", &wanted.limits[HL_LIMIT_MAX_RUNNING], NULL},
        {"--max-queued", &wanted.limits[HL_LIMIT_MAX_QUEUED], NULL},
        {"--rate", &wanted.limits[HL_LIMIT_RATE], NULL},
        {"--max-priority", &wanted.limits[HL_LIMIT_MAX_PRIORITY], NULL}};
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = check_wanted(&wanted, cli, status);
    if (status != HL_CLI_OK)
        return status;
    struct hl_cli_session *session;
    status = hl_cli_session_open_to_add(&session, cli);
    if (status == HL_CLI_OK)
        status = create(session, cli, project, &wanted);
    hl_cli_session_close(session);
    return status;
}

/* ---- list ---- */

static const char *state_of(const json_t *account)
{
    const char *expires = json_string_value(json_object_get(account, "expires_at"));
    int64_t expires_ms;
    if (json_is_string(json_object_get(account, "revoked_at")))
        return "revoked";
    if (expires && hl_clock_parse(hl_str_from(expires), &expires_ms) &&
        expires_ms <= hl_clock_wall_ms())
        return "expired";
    return "good";
}

/* "4 running, 1000 queued, 100/m, up to high"; what is as for any other is not said. */
static void add_limits(struct hl_cli_table *table, const json_t *account)
{
    static const struct {
        const char *member, *before, *after;
    } parts[] = {{"max_running", "", " running"}, {"max_queued", "", " queued"}, {"rate", "", ""},
        {"max_priority", "up to ", ""}};
    char limits[HL_CLI_MEMBER_TEXT] = "", text[HL_CLI_MEMBER_TEXT];
    for (size_t i = 0; i < HL_ARRAY_LEN(parts); i++) {
        const char *value = hl_cli_member(account, parts[i].member, text, sizeof(text));
        size_t n = strlen(limits);
        if (strcmp(value, "-") != 0 && strcmp(value, "normal") != 0)
            snprintf(limits + n, sizeof(limits) - n, "%s%s%s%s", n > 0 ? ", " : "", parts[i].before,
                value, parts[i].after);
    }
    hl_cli_table_add(table, limits);
}

/* A list of one project does not say which. */
static void add_row(struct hl_cli_table *table, const char *project, const json_t *account)
{
    static const char *const members[] = {
        "name", "role", "created_at", "expires_at", "last_used_at"};
    char text[HL_CLI_MEMBER_TEXT * 2];
    hl_cli_table_add(table, hl_cli_member(account, "id", text, sizeof(text)));
    hl_cli_table_add(
        table, project ? project : hl_cli_member(account, "project_id", text, sizeof(text)));
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(account, members[i], text, sizeof(text)));
    add_limits(table, account);
    hl_cli_table_add(table, state_of(account));
}

static void write_page(struct hl_cli_target *target, const char *project, const char *cursor)
{
    hl_cli_target_init(target);
    hl_cli_target_of(target, project, "/service-accounts");
    hl_cli_target_query(target, "limit", "200");
    hl_cli_target_query(target, "cursor", cursor);
}

/* All pages. */
static int list(struct hl_cli_session *session, const struct hl_cli *cli, const char *project,
    struct hl_cli_table *table)
{
    char cursor[64] = "";
    int status = HL_CLI_OK;
    do {
        struct hl_cli_target target;
        json_t *page = NULL;
        write_page(&target, project, *cursor ? cursor : NULL);
        status = hl_cli_ask_for(session, "GET", &target, NULL, "service_accounts", &page);
        size_t i;
        json_t *account;
        json_array_foreach(json_object_get(page, "service_accounts"), i, account)
        {
            if (table)
                add_row(table, project, account);
            else
                hl_cli_print_json(cli, account);
        }
        hl_cli_next_page(page, cursor, sizeof(cursor));
        json_decref(page);
    } while (status == HL_CLI_OK && *cursor);
    return status;
}

int hl_cli_token_list(const struct hl_cli *cli)
{
    static const struct hl_cli_column columns[] = {{"ID", HL_CLI_ID, 0},
        {"PROJECT", HL_CLI_PLAIN, 4}, {"NAME", HL_CLI_TEXT, 0}, {"ROLE", HL_CLI_PLAIN, 3},
        {"CREATED", HL_CLI_TIME, 7}, {"EXPIRES", HL_CLI_TIME, 1}, {"LAST USED", HL_CLI_TIME, 2},
        {"LIMITS", HL_CLI_TEXT, 6}, {"STATE", HL_CLI_PLAIN, 0}};
    const char *project = NULL;
    bool is_json = false;
    const struct hl_cli_option options[] = {
        {"--project", &project, NULL}, {"--json", NULL, &is_json}};
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    if (status != HL_CLI_OK)
        return status;
    struct hl_cli_session *session;
    struct hl_cli_table table;
    hl_cli_table_init_for(&table, cli->out, columns, HL_ARRAY_LEN(columns));
    status = hl_cli_session_open(&session, cli);
    if (status == HL_CLI_OK && hl_cli_session_remote(session) && !project)
        project = hl_cli_session_remote(session)->project;
    if (status == HL_CLI_OK)
        status = list(session, cli, project, is_json ? NULL : &table);
    if (status == HL_CLI_OK && !is_json)
        hl_cli_table_print(&table, cli->out);
    hl_cli_table_fini(&table);
    hl_cli_session_close(session);
    return status;
}

/* ---- revoke ---- */

int hl_cli_token_revoke(const struct hl_cli *cli)
{
    const char *id;
    int status = hl_cli_read_id(cli, NULL, 0, HL_CLI_ACCOUNT, &id);
    if (status != HL_CLI_OK)
        return status;
    struct hl_cli_session *session;
    json_t *nothing;
    status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = hl_cli_ask_about(session, HL_CLI_ACCOUNT, "DELETE", id, "", &nothing);
    if (status == HL_CLI_OK)
        fputs("revoked\n", cli->out);
    json_decref(nothing);
    hl_cli_session_close(session);
    return status;
}

/* ---- the dashboard ---- */

/* What is asked for; NULL: not. */
struct wanted_link {
    const char *project, *expires, *name;
    bool is_read_only;
    int64_t expires_ms; /* 0: an hour */
};

/* NULL: an admin's, for an hour. */
static json_t *link_body(const struct wanted_link *wanted)
{
    char expires[HL_CLOCK_TEXT];
    if (!wanted->is_read_only)
        return NULL;
    json_t *body = json_pack("{s:s}", "role", "viewer");
    if (wanted->expires_ms > 0) {
        hl_clock_format(wanted->expires_ms, expires);
        json_object_set_new(body, "expires_at", json_string(expires));
    }
    if (wanted->name)
        json_object_set_new(body, "name", json_string(wanted->name));
    return body;
}

/* Beside the link, for whoever reads: a script that takes it takes nothing else. */
static void tell_lasting(const struct hl_cli *cli, const json_t *answer)
{
    char until[HL_CLI_MEMBER_TEXT];
    const char *account = json_string_value(json_object_get(answer, "account_id"));
    if (!account)
        return;
    fputs(
        "open it within an hour; it is read-only, lasts while the page is open, until ", cli->err);
    hl_cli_print(cli->err, hl_cli_member(answer, "account_expires_at", until, sizeof(until)));
    fputs(", and ends before that with: hookline token revoke ", cli->err);
    hl_cli_print_line(cli->err, account);
}

static int print_link(
    struct hl_cli_session *session, const struct hl_cli *cli, const struct wanted_link *wanted)
{
    struct hl_cli_target target;
    json_t *answer = NULL;
    const char *project = hl_cli_session_project(session, cli, wanted->project);
    if (!project)
        return HL_CLI_USAGE;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, project, "/dashboard-sessions");
    int status = hl_cli_ask_target(session, "POST", &target, link_body(wanted), &answer);
    const char *url = json_string_value(json_object_get(answer, "url"));
    const char *token = json_string_value(json_object_get(answer, "token"));
    if (url) {
        hl_cli_print(cli->out, url);
        fputs(token ? "#token=" : "", cli->out); /* else it asks for none */
        hl_cli_print_line(cli->out, token ? token : "");
        tell_lasting(cli, answer);
    } else if (status == HL_CLI_OK) {
        status = hl_cli_expect(cli, NULL, "url");
    }
    json_decref(answer);
    return status;
}

/* Each fault is said; `status` is what was found before. */
static int check_link(struct wanted_link *wanted, const struct hl_cli *cli, int status)
{
    if (wanted->expires && !wanted->is_read_only)
        status = hl_cli_usage_error(cli, "--expires goes with --read-only: a link that may change "
                                         "something is good for an hour");
    if (wanted->name && !wanted->expires)
        status =
            hl_cli_usage_error(cli, "--name goes with --expires: it is the account's that lasts");
    if (!is_good_expiry(wanted->expires, HL_LINK_DAYS_MAX, &wanted->expires_ms))
        status = hl_cli_usage_error(cli,
            "--expires takes a duration such as 30d, or a time such as 2027-01-31T00:00:00Z, in "
            "the future and at most %d days away, not \"%s\"",
            HL_LINK_DAYS_MAX, wanted->expires);
    return status;
}

int hl_cli_dashboard(const struct hl_cli *cli)
{
    struct wanted_link wanted = {.project = NULL};
    const struct hl_cli_option options[] = {{"--project", &wanted.project, NULL},
        {"--read-only", NULL, &wanted.is_read_only}, {"--expires", &wanted.expires, NULL},
        {"--name", &wanted.name, NULL}};
    struct hl_cli_session *session;
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = check_link(&wanted, cli, status);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = print_link(session, cli, &wanted);
    hl_cli_session_close(session);
    return status;
}
