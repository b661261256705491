/* jobs.c - bulk work that the sidecar carries out (contract, "Jobs"): `--all` of `runs cancel`, `runs rerun` and
 * `deliveries redeliver`; `jobs list`, `show` and `stop`.
 * Promise: nothing is done before somebody has said yes, and no more than was counted. Ctrl-C leaves a job to go on, and
 * says so.
 * Not here: webhooks that a command sends again by itself (redelivery.c). */
#include "cli/jobs.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/lookup.h"
#include "cli/report.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"
#include "config/value.h"

#define LOOK_MS   400
#define SHOWN_MAX 20 /* of those that were not done */

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

static void heed_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool hl_cli_is_bulk(const struct hl_cli *cli)
{
    for (int i = 0; i < cli->argc; i++)
        if (strcmp(cli->argv[i], "--all") == 0)
            return true;
    return false;
}

/* ---- a job by filters ---- */

struct bulk {
    const struct hl_cli *cli;
    const struct hl_cli_bulk *how;
    struct hl_cli_session *session;
    struct hl_cli_filter filter;
    bool is_sure;
    const char *pause; /* NULL: as the sidecar has it */
    uint64_t pause_ms;
    json_t *asked; /* the filter of the job; owned */
    json_int_t count;
    bool has_more;
};

static long long number(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "-";
}

static void put(void *filter, const char *name, const char *value)
{
    json_object_set_new(filter, name, json_string(value));
}

static void put_time(json_t *filter, const char *name, const char *given, int64_t wall_ms)
{
    char time[HL_CLOCK_TEXT];
    if (!given)
        return;
    hl_clock_format(wall_ms, time);
    put(filter, name, time);
}

static json_t *filter_json(const struct hl_cli_filter *f)
{
    json_t *filter = json_object();
    hl_cli_filter_each_text(f, put, filter);
    if (f->tags[0]) {
        json_t *tags = json_array();
        for (const char *const *tag = f->tags; *tag; tag++)
            json_array_append_new(tags, json_string(*tag));
        json_object_set_new(filter, "tag", tags);
    }
    if (f->is_async || f->is_sync)
        json_object_set_new(filter, "async", json_boolean(f->is_async));
    put_time(filter, "since", f->since, f->since_ms);
    put_time(filter, "until", f->until, f->until_ms);
    return filter;
}

/* POSTs a job with one more member. HL_CLI_OK, or it has said what is wrong. */
static int post(struct bulk *b, const char *name, json_t *value, json_t **answer)
{
    struct hl_cli_target target;
    json_t *body = json_object();
    json_object_set_new(body, "what", json_string(b->how->what));
    json_object_set(body, "filter", b->asked);
    if (name)
        json_object_set_new(body, name, value);
    if (b->pause)
        json_object_set_new(body, "pause_ms", json_integer((json_int_t)b->pause_ms));
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, b->filter.project, "/jobs");
    return hl_cli_ask_target(b->session, "POST", &target, body, answer);
}

static int count(struct bulk *b)
{
    json_t *answer;
    int status = post(b, "dry_run", json_true(), &answer);
    if (status == HL_CLI_OK)
        status = hl_cli_expect(b->cli, answer, "count");
    if (status == HL_CLI_OK) {
        b->count = json_integer_value(json_object_get(answer, "count"));
        b->has_more = json_is_true(json_object_get(answer, "has_more"));
        if (!b->filter.until) /* what comes meanwhile is not part of it */
            json_object_set(b->asked, "until", json_object_get(answer, "until"));
    }
    json_decref(answer);
    return status;
}

/* "at least 10000 runs" */
static void write_many(const struct bulk *b, char into[64])
{
    snprintf(into, 64, "%s%lld %s", b->has_more ? "at least " : "", (long long)b->count,
        b->count == 1 ? b->how->thing : b->how->things);
}

static int ask_first(const struct bulk *b)
{
    char many[64], answer[16] = "";
    write_many(b, many);
    if (b->is_sure)
        return HL_CLI_OK;
    if (!isatty(STDIN_FILENO))
        return hl_cli_usage_error(b->cli,
            "%s would be %s, and there is no terminal to ask on: --yes does it", many,
            b->how->verb);
    fprintf(b->cli->err, "%s would be %s. Go on? [y/N] ", many, b->how->verb);
    fflush(b->cli->err);
    bool is_yes = fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
    return is_yes ? HL_CLI_OK : hl_cli_fail(b->cli, "nothing was done");
}

/* ---- how far it is ---- */

static void show_progress(const struct bulk *b, const json_t *job)
{
    if (!isatty(fileno(b->cli->err)))
        return;
    fprintf(b->cli->err, "\r\033[K%lld of %lld",
        number(job, "done") + number(job, "skipped") + number(job, "failed"), number(job, "total"));
    if (!json_is_true(json_object_get(job, "is_total")))
        fputs(", still counting", b->cli->err);
    fflush(b->cli->err);
}

static int say_end(const struct bulk *b, const json_t *job)
{
    long long done = number(job, "done"), skipped = number(job, "skipped");
    long long failed = number(job, "failed");
    long long left = number(job, "total") - done - skipped - failed;
    const char *id = text(job, "job_id");
    fprintf(b->cli->out, "%lld %s %s %s\n", done, done == 1 ? b->how->thing : b->how->things,
        done == 1 ? "is" : "are", b->how->verb);
    fflush(b->cli->out);
    if (strcmp(text(job, "state"), "done") != 0)
        return hl_cli_fail(
            b->cli, "the job was %s: %lld are left as they were", text(job, "state"), left);
    if (skipped + failed == 0)
        return HL_CLI_OK;
    int status =
        hl_cli_fail(b->cli, "%lld are not: hookline jobs show %s says why", skipped + failed, id);
    return failed > 0 ? status : HL_CLI_OK;
}

static int follow(struct bulk *b, const char *id)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    json_t *job = NULL;
    int status = HL_CLI_OK;
    heed_interrupts();
    while (status == HL_CLI_OK && !is_interrupted) {
        struct hl_cli_target target;
        json_decref(job);
        hl_cli_target_init(&target);
        hl_cli_target_of(&target, b->filter.project, "/jobs/");
        hl_cli_target_segment(&target, id);
        status = hl_cli_ask_target(b->session, "GET", &target, NULL, &job);
        if (status != HL_CLI_OK || json_is_string(json_object_get(job, "ended_at")))
            break;
        show_progress(b, job);
        nanosleep(&pause, NULL);
    }
    if (isatty(fileno(b->cli->err)))
        fputs("\r\033[K", b->cli->err);
    if (status == HL_CLI_OK && json_is_string(json_object_get(job, "ended_at")))
        status = say_end(b, job);
    else
        status = hl_cli_fail(b->cli,
            "the job goes on without this command: hookline jobs show %s says how far it is, "
            "hookline jobs stop %s ends it",
            id, id);
    json_decref(job);
    return status;
}

static int carry_out(struct bulk *b)
{
    json_t *job = NULL;
    b->filter.project = hl_cli_session_project(b->session, b->cli, b->filter.project);
    if (!b->filter.project)
        return HL_CLI_USAGE;
    if (!hl_cli_session_has_sidecar(b->session))
        return hl_cli_fail(b->cli, "no hookline is running here: nobody would carry it out");
    int status = count(b);
    if (status == HL_CLI_OK && b->count > 0)
        status = ask_first(b);
    if (status != HL_CLI_OK)
        return status;
    if (b->count == 0) {
        fprintf(b->cli->out, "0 %s are %s\n", b->how->things, b->how->verb);
        return HL_CLI_OK;
    }
    status =
        b->has_more ? post(b, NULL, NULL, &job) : post(b, "expected", json_integer(b->count), &job);
    if (status == HL_CLI_OK)
        status = follow(b, text(job, "job_id"));
    json_decref(job);
    return status;
}

int hl_cli_run_bulk(const struct hl_cli *cli, const struct hl_cli_bulk *how)
{
    struct bulk b = {.cli = cli, .how = how};
    struct hl_cli_filter *f = &b.filter;
    bool is_all = false, is_of_runs = strcmp(how->thing, "run") == 0;
    const struct hl_cli_option of_runs[] = {{.name = "--all", .is_given = &is_all},
        {.name = "--yes", .is_given = &b.is_sure}, {.name = "--pause", .text = &b.pause},
        {.name = "--project", .text = &f->project}, {.name = "--app", .text = &f->app},
        {.name = "--state", .text = &f->state}, {.name = "--since", .text = &f->since},
        {.name = "--until", .text = &f->until}, {.name = "--status", .text = &f->status},
        {.name = "--path", .text = &f->path}, {.name = "--reason", .text = &f->reason},
        {.name = "--webhook", .text = &f->webhook}, {.name = "--error", .text = &f->error},
        {.name = "--find", .text = &f->find},
        {.name = "--tag", .text = f->tags, .is_given = &f->has_tags},
        {.name = "--async", .is_given = &f->is_async}, {.name = "--sync", .is_given = &f->is_sync}};
    const struct hl_cli_option of_deliveries[] = {{.name = "--all", .is_given = &is_all},
        {.name = "--yes", .is_given = &b.is_sure}, {.name = "--pause", .text = &b.pause},
        {.name = "--project", .text = &f->project}, {.name = "--app", .text = &f->app},
        {.name = "--state", .text = &f->state}, {.name = "--since", .text = &f->since},
        {.name = "--until", .text = &f->until}, {.name = "--status", .text = &f->status},
        {.name = "--destination", .text = &f->destination}};
    size_t words, n = is_of_runs ? HL_ARRAY_LEN(of_runs) : HL_ARRAY_LEN(of_deliveries);
    int status =
        hl_cli_read_arguments(cli, is_of_runs ? of_runs : of_deliveries, n, NULL, 0, &words);
    status = hl_cli_filter_check(f, cli, status);
    if (b.pause && !hl_value_parse_duration(hl_str_from(b.pause), &b.pause_ms))
        status = hl_cli_usage_error(
            cli, "--pause takes a duration such as 500ms or 2s, not \"%s\"", b.pause);
    if (status == HL_CLI_OK && !is_of_runs && !f->state)
        f->state = "dead";
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&b.session, cli);
    if (status != HL_CLI_OK)
        return status;
    b.asked = filter_json(f);
    status = carry_out(&b);
    json_decref(b.asked);
    hl_cli_session_close(b.session);
    return status;
}

/* ---- list ---- */

static const struct hl_cli_column columns[] = {{"JOB", HL_CLI_ID, 0}, {"WHAT", HL_CLI_PLAIN, 0},
    {"STATE", HL_CLI_PLAIN, 0}, {"TOTAL", HL_CLI_PLAIN, 3}, {"DONE", HL_CLI_PLAIN, 0},
    {"SKIPPED", HL_CLI_PLAIN, 2}, {"FAILED", HL_CLI_PLAIN, 1}, {"CREATED", HL_CLI_TIME, 0},
    {"ENDED", HL_CLI_TIME, 4}};

static void add_row(void *table, json_t *job)
{
    static const char *const members[] = {
        "job_id", "what", "state", "total", "done", "skipped", "failed", "created_at", "ended_at"};
    char cell[HL_CLI_MEMBER_TEXT];
    for (size_t i = 0; i < HL_ARRAY_LEN(members); i++)
        hl_cli_table_add(table, hl_cli_member(job, members[i], cell, sizeof(cell)));
}

int hl_cli_jobs_list(const struct hl_cli *cli)
{
    static const struct hl_cli_list all = {"/jobs", "jobs", add_row};
    struct hl_cli_filter filter = {.project = NULL};
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--limit", .text = &filter.limit},
        {.name = "--json", .is_given = &filter.is_json}};
    struct hl_cli_session *session;
    struct hl_cli_table table;
    int status = hl_cli_filter_open(cli, options, HL_ARRAY_LEN(options), &filter, &session);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_table_init_for(&table, cli->out, columns, HL_ARRAY_LEN(columns));
    status = hl_cli_filter_list(session, cli, &filter, &all, &table);
    hl_cli_session_close(session);
    return status;
}

/* ---- show and stop ---- */

static void tell(const struct hl_cli *cli, const json_t *job)
{
    static const struct {
        const char *label, *name;
    } lines[] = {{"job", "job_id"}, {"project", "project_id"}, {"what", "what"}, {"state", "state"},
        {"total", "total"}, {"done", "done"}, {"skipped", "skipped"}, {"failed", "failed"},
        {"created", "created_at"}, {"began", "began_at"}, {"ended", "ended_at"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++)
        hl_cli_report_line(cli, lines[i].label, job, lines[i].name);
    char *filter = json_dumps(json_object_get(job, "filter"), JSON_COMPACT | JSON_ENSURE_ASCII);
    json_t *line = json_object();
    json_object_set_new(line, "filter", json_string(filter ? filter : ""));
    hl_cli_report_line(cli, "filter", line, "filter");
    json_decref(line);
    free(filter);
}

/* The first few that became that. */
static int tell_items(
    struct hl_cli_session *session, const struct hl_cli *cli, const char *id, const char *outcome)
{
    char after[64];
    json_t *page, *item;
    size_t i;
    snprintf(after, sizeof(after), "/items?limit=%d&outcome=%s", SHOWN_MAX, outcome);
    int status = hl_cli_ask_about(session, HL_CLI_JOB, "GET", id, after, &page);
    json_array_foreach(json_object_get(page, "items"), i, item)
    {
        const char *run = text(item, "run_id");
        hl_cli_print(cli->out, *run == '-' ? text(item, "delivery_id") : run);
        fprintf(cli->out, "  %s  ", outcome);
        hl_cli_print_line(cli->out, text(item, "reason"));
    }
    json_decref(page);
    return status;
}

int hl_cli_jobs_show(const struct hl_cli *cli)
{
    const char *id;
    bool is_json = false;
    const struct hl_cli_option options[] = {{.name = "--json", .is_given = &is_json}};
    struct hl_cli_session *session;
    json_t *job;
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_JOB, &id);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = hl_cli_ask_about(session, HL_CLI_JOB, "GET", id, "", &job);
    if (status == HL_CLI_OK && is_json)
        hl_cli_print_json(cli, job);
    else if (status == HL_CLI_OK)
        tell(cli, job);
    if (status == HL_CLI_OK && !is_json && number(job, "failed") > 0)
        status = tell_items(session, cli, id, "failed");
    if (status == HL_CLI_OK && !is_json && number(job, "skipped") > 0)
        status = tell_items(session, cli, id, "skipped");
    json_decref(job);
    hl_cli_session_close(session);
    return status;
}

int hl_cli_jobs_stop(const struct hl_cli *cli)
{
    const char *id;
    struct hl_cli_session *session;
    json_t *answer;
    int status = hl_cli_read_id(cli, NULL, 0, HL_CLI_JOB, &id);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = hl_cli_ask_about(session, HL_CLI_JOB, "POST", id, "/stop", &answer);
    if (status == HL_CLI_OK)
        fputs("stopping\n", cli->out);
    json_decref(answer);
    hl_cli_session_close(session);
    return status;
}
