/* runs.c - `hookline runs list`, `cancel` and `rerun`. With --follow a list asks for the newest runs each second and
 * prints what was not there before: a line for each that comes, and for each change of its state.
 * Not here: the columns (run_column.c), `--all` (jobs.c), `runs show` (report.c), responses (outcome.c), logs (logs.c),
 * `runs send` (call.c), `runs redeliver` (redelivery.c). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/id.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/jobs.h"
#include "cli/lookup.h"
#include "cli/run_column.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "cli/table.h"

/* ---- a list that goes on ---- */

#define SEEN_MAX  1024  /* runs that are known; an older one that changes is printed once more */
#define BEGIN_MAX 10    /* lines to begin with, unless --limit says */
#define PAGE      200   /* that are looked at again each second */
#define NEW_MAX   50000 /* beside those, newer ones than the second before */

#define REASON_WIDTH 12 /* "bad_response"; longer ones push what follows */
#define DAYTIME_AT   11 /* in a time of RFC 3339 */
#define DAYTIME      9  /* "05:00:24Z" */

struct seen {
    char id[HL_ID_TEXT + 1], state[16];
};

struct following {
    const struct hl_cli *cli;
    struct hl_cli_screen screen;
    bool is_json;
    struct hl_cli_filter *filter;
    char newest[HL_ID_TEXT + 1]; /* of the round before */
    json_t *rows;                /* of this round, newest first */
    size_t next;                 /* place for the next in `seen` */
    struct seen seen[SEEN_MAX];
};

static const char *text_of(const json_t *run, const char *name)
{
    const char *text = json_string_value(json_object_get(run, name));
    return text ? text : "-";
}

/* True: it was not known, or was in another state. */
static bool is_news(struct following *f, const json_t *run)
{
    const char *id = text_of(run, "run_id"), *state = text_of(run, "state");
    struct seen *seen = NULL;
    for (size_t i = 0; i < SEEN_MAX && !seen; i++)
        if (strcmp(f->seen[i].id, id) == 0)
            seen = &f->seen[i];
    if (seen && strcmp(seen->state, state) == 0)
        return false;
    if (!seen)
        seen = &f->seen[f->next++ % SEEN_MAX];
    snprintf(seen->id, sizeof(seen->id), "%s", id);
    snprintf(seen->state, sizeof(seen->state), "%s", state);
    return true;
}

/* What is to come is not known: the columns are as wide as is usual, and what may be long comes last. A
 * terminal has the time of day, and of ids what its tables show. */
static void print_head(const struct following *f)
{
    bool is_short = f->screen.is_terminal;
    fprintf(f->cli->out, "%s%-*s  %-*s  %-9s  %-6s  %-*s  %-8s  PATH  ERROR%s\n",
        hl_cli_color_faint(&f->screen), is_short ? DAYTIME : HL_CLOCK_TEXT - 1, "TIME",
        is_short ? HL_CLI_TAIL : HL_ID_TEXT, "RUN", "STATE", "STATUS", REASON_WIDTH, "REASON",
        "APP", hl_cli_color_end(&f->screen));
}

static void print_line(const struct following *f, const json_t *run)
{
    FILE *out = f->cli->out;
    char status[HL_CLI_MEMBER_TEXT];
    const char *state = text_of(run, "state"), *color = hl_cli_color_of(&f->screen, state);
    const char *id = text_of(run, "run_id"), *finished = text_of(run, "finished_at");
    const char *time = *finished != '-' ? finished : text_of(run, "created_at");
    if (f->screen.is_terminal && strlen(time) > DAYTIME_AT + DAYTIME && strlen(id) > HL_CLI_TAIL) {
        char daytime[DAYTIME + 1];
        snprintf(daytime, sizeof(daytime), "%.*sZ", DAYTIME - 1, time + DAYTIME_AT);
        hl_cli_print(out, daytime);
        id += strlen(id) - HL_CLI_TAIL;
    } else {
        hl_cli_print(out, time);
    }
    fputs("  ", out);
    hl_cli_print(out, id);
    fprintf(out, "  %s", color);
    hl_cli_print_cell(out, state, 9);
    fprintf(out, "%s  ", *color ? hl_cli_color_end(&f->screen) : "");
    hl_cli_print_cell(out, hl_cli_member(run, "status_code", status, sizeof(status)), 6);
    fputs("  ", out);
    hl_cli_print_cell(out, text_of(run, "reason"), REASON_WIDTH);
    fputs("  ", out);
    hl_cli_print_cell(out, text_of(run, "app_name"), 8);
    fputs("  ", out);
    hl_cli_print(out, text_of(run, "path"));
    fputs("  ", out);
    hl_cli_print(out, text_of(run, "error"));
    fputc('\n', out);
}

static void keep_row(void *owner, json_t *run)
{
    struct following *f = owner;
    bool is_new = *f->newest && strcmp(text_of(run, "run_id"), f->newest) > 0;
    json_array_append(f->rows, run);
    f->filter->left += is_new && json_array_size(f->rows) < NEW_MAX;
}

/* Oldest first. `most`: so many of them are printed; the others are only known from then on. */
static void show_round(struct following *f, uint64_t most)
{
    for (size_t i = json_array_size(f->rows); i-- > 0;) {
        const json_t *run = json_array_get(f->rows, i);
        if (!is_news(f, run) || i >= most)
            continue;
        if (f->is_json)
            hl_cli_print_json(f->cli, run);
        else
            print_line(f, run);
    }
    if (json_array_size(f->rows) > 0)
        snprintf(f->newest, sizeof(f->newest), "%s", text_of(json_array_get(f->rows, 0), "run_id"));
    json_array_clear(f->rows);
}

static int go_on(struct hl_cli_session *session, struct following *f, struct hl_cli_filter *filter)
{
    const struct timespec pause = {.tv_sec = 1};
    uint64_t most = filter->limit ? filter->left : BEGIN_MAX;
    for (;;) {
        filter->left = PAGE;
        int status = hl_cli_filter_pages(session, filter, "/runs", "runs", keep_row, f);
        if (status != HL_CLI_OK)
            return status;
        show_round(f, most);
        if (fflush(f->cli->out) != 0)
            return HL_CLI_FAILED;
        most = UINT64_MAX;
        nanosleep(&pause, NULL);
    }
}

/* Begins with the newest that there are, the oldest of them first. Returns when the sidecar cannot be
 * asked any more, or nobody reads: it has said so, and the status is for exiting. */
static int follow(
    struct hl_cli_session *session, const struct hl_cli *cli, struct hl_cli_filter *filter)
{
    if (!hl_cli_session_has_sidecar(session))
        return hl_cli_fail(cli, "no hookline is running here: nothing would arrive");
    struct following *f = calloc(1, sizeof(*f));
    json_t *rows = json_array();
    if (!f || !rows) {
        free(f);
        json_decref(rows);
        return hl_cli_fail(cli, "out of memory");
    }
    f->cli = cli;
    f->screen = hl_cli_screen_of(cli->out);
    f->is_json = filter->is_json;
    f->rows = rows;
    f->filter = filter;
    if (!f->is_json)
        print_head(f);
    int status = go_on(session, f, filter);
    json_decref(rows);
    free(f);
    return status;
}

/* ---- list ---- */

static int list(struct hl_cli_session *session, const struct hl_cli *cli,
    struct hl_cli_filter *filter, struct hl_cli_list_table *t)
{
    static const struct hl_cli_list all = {"/runs", "runs", hl_cli_list_table_add};
    hl_cli_list_table_init(t, cli->out);
    return hl_cli_filter_list(session, cli, filter, &all, &t->table);
}

int hl_cli_runs_list(const struct hl_cli *cli)
{
    struct hl_cli_filter filter = {.project = NULL};
    struct hl_cli_list_table table;
    const char *columns = NULL;
    bool goes_on = false;
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--app", .text = &filter.app}, {.name = "--state", .text = &filter.state},
        {.name = "--since", .text = &filter.since}, {.name = "--until", .text = &filter.until},
        {.name = "--limit", .text = &filter.limit},
        {.name = "--async", .is_given = &filter.is_async},
        {.name = "--sync", .is_given = &filter.is_sync}, {.name = "--path", .text = &filter.path},
        {.name = "--status", .text = &filter.status}, {.name = "--reason", .text = &filter.reason},
        {.name = "--webhook", .text = &filter.webhook}, {.name = "--error", .text = &filter.error},
        {.name = "--find", .text = &filter.find},
        {.name = "--tag", .text = filter.tags, .is_given = &filter.has_tags},
        {.name = "--columns", .text = &columns}, {.name = "--json", .is_given = &filter.is_json},
        {.name = "--follow", .is_given = &goes_on}};
    size_t count;
    struct hl_cli_session *session;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = hl_cli_filter_check(&filter, cli, status);
    if (goes_on && filter.until)
        status = hl_cli_usage_error(cli, "--until cannot be given with --follow, which has no end");
    status = hl_cli_list_table_choose(&table, cli, &hl_cli_run_columns, columns,
        goes_on          ? "--follow"
        : filter.is_json ? "--json"
                         : NULL,
        status);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status != HL_CLI_OK)
        return status;
    status = goes_on ? follow(session, cli, &filter) : list(session, cli, &filter, &table);
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
    status = hl_cli_ask_about(session, HL_CLI_RUN, "POST", id, what, answer);
    hl_cli_session_close(session);
    return status;
}

int hl_cli_runs_cancel(const struct hl_cli *cli)
{
    static const struct hl_cli_bulk all = {"cancel", "run", "runs", "cancelled"};
    if (hl_cli_is_bulk(cli))
        return hl_cli_run_bulk(cli, &all);
    json_t *answer;
    int status = post_to_run(cli, "/cancel", &answer);
    if (status == HL_CLI_OK)
        fputs("cancelled\n", cli->out);
    json_decref(answer);
    return status;
}

int hl_cli_runs_rerun(const struct hl_cli *cli)
{
    static const struct hl_cli_bulk all = {"rerun", "run", "runs", "run again"};
    if (hl_cli_is_bulk(cli))
        return hl_cli_run_bulk(cli, &all);
    json_t *answer;
    char id[HL_CLI_MEMBER_TEXT];
    int status = post_to_run(cli, "/rerun", &answer);
    if (status == HL_CLI_OK)
        hl_cli_print_line(cli->out, hl_cli_member(answer, "run_id", id, sizeof(id)));
    json_decref(answer);
    return status;
}
