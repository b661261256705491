/* logs.c - `hookline runs logs`, what was logged about a run, and `hookline logs`, the log of all runs as it goes on.
 * Not here: what becomes of a line that is not read in time (api/rest_tail.c). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/json_load.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/lookup.h"
#include "cli/screen.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"

#define WAIT_S "10" /* that one question waits for a line */

/* ---- lines ---- */

/* What is not said before the members that are a line's own. */
static bool is_said(const char *name)
{
    static const char *const said[] = {"ts", "time", "level", "msg", "run_id"};
    for (size_t i = 0; i < HL_ARRAY_LEN(said); i++)
        if (strcmp(name, said[i]) == 0)
            return true;
    return false;
}

static void print_member(FILE *out, const char *name, const json_t *value)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    fputs("  ", out);
    hl_cli_print(out, name);
    fputc('=', out);
    hl_cli_print(out, json_is_string(value) ? json_string_value(value) : text ? text : "");
    free(text);
}

static void print_entry(const struct hl_cli *cli, const struct hl_cli_screen *screen, json_t *entry)
{
    const char *level = json_string_value(json_object_get(entry, "level")), *name;
    const char *msg = json_string_value(json_object_get(entry, "msg"));
    const char *time = json_string_value(json_object_get(entry, "ts"));
    const char *color = hl_cli_color_of(screen, level ? level : "");
    json_t *value;
    if (!time)
        time = json_string_value(json_object_get(entry, "time"));
    hl_cli_print(cli->out, time ? time : "-");
    fprintf(cli->out, "  %s", color);
    hl_cli_print(cli->out, level ? level : "-");
    fprintf(cli->out, "%s  ", *color ? hl_cli_color_end(screen) : "");
    hl_cli_print(cli->out, msg ? msg : "");
    json_object_foreach(entry, name, value) if (!is_said(name)) print_member(cli->out, name, value);
    fputc('\n', cli->out);
}

static void print_entries(const struct hl_cli *cli, struct hl_str lines)
{
    const struct hl_cli_screen screen = hl_cli_screen_of(cli->out);
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.p) : lines.n;
        json_t *entry = hl_json_load((struct hl_str){lines.p, n}, 0, NULL);
        if (entry)
            print_entry(cli, &screen, entry);
        json_decref(entry);
        n += end ? 1 : 0;
        lines.p += n;
        lines.n -= n;
    }
}

/* ---- of a run ---- */

static int read_part(
    struct hl_cli_session *session, const char *id, const char *part, struct hl_buf *out)
{
    struct hl_cli_target target;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, "/v2/runs/");
    hl_cli_target_segment(&target, id);
    hl_cli_target_path(&target, part);
    const char *text = hl_cli_target_text(&target);
    int status = text ? hl_cli_read(session, text, out) : HL_CLI_FAILED;
    hl_cli_target_fini(&target);
    return status;
}

int hl_cli_runs_logs(const struct hl_cli *cli)
{
    char id[HL_CLI_ID_MAX];
    const char *typed;
    bool is_json = false;
    struct hl_cli_session *session = NULL;
    struct hl_buf lines;
    const struct hl_cli_option options[] = {{.name = "--json", .is_given = &is_json}};
    hl_buf_init(&lines, 0);
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_RUN, &typed);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&session, cli);
    if (status == HL_CLI_OK)
        status = hl_cli_find(session, cli, HL_CLI_RUN, typed, id);
    if (status == HL_CLI_OK)
        status = read_part(session, id, "/logs", &lines);
    if (status == HL_CLI_OK && !is_json && hl_cli_screen_of(cli->out).is_terminal)
        print_entries(cli, hl_buf_str(&lines));
    else if (status == HL_CLI_OK && hl_cli_screen_of(cli->out).is_terminal)
        hl_cli_print_each_line(cli->out, hl_buf_str(&lines));
    else if (status == HL_CLI_OK)
        fwrite(lines.p, 1, lines.n, cli->out);
    hl_buf_fini(&lines);
    hl_cli_session_close(session);
    return status;
}

/* ---- of all runs, and those that come ---- */

struct tail {
    const struct hl_cli *cli;
    struct hl_cli_session *session;
    struct hl_cli_screen screen;
    const struct hl_cli_filter *filter;
    const char *level;
    char run[HL_CLI_ID_MAX]; /* empty: any */
    char next[64];           /* empty: from the last ones on */
    bool has_more;
};

/* What comes after `next`; `*out` is the caller's. */
static int ask(struct tail *t, bool waits, json_t **out)
{
    struct hl_cli_target target;
    *out = NULL;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, t->filter->project, "/logs");
    hl_cli_target_query(&target, "app", t->filter->app);
    hl_cli_target_query(&target, "run_id", *t->run ? t->run : NULL);
    hl_cli_target_query(&target, "level", t->level);
    hl_cli_target_query(&target, "limit", *t->next ? "200" : t->filter->limit);
    hl_cli_target_query(&target, "after", *t->next ? t->next : NULL);
    hl_cli_target_query(&target, "wait", waits ? WAIT_S : NULL);
    int status = hl_cli_ask_target(t->session, "GET", &target, NULL, out);
    if (status != HL_CLI_OK)
        return status;
    const char *next = json_string_value(json_object_get(*out, "next"));
    json_int_t missed = json_integer_value(json_object_get(*out, "missed"));
    if (!next || strlen(next) >= sizeof(t->next))
        return hl_cli_fail(t->cli, "the answer is not hookline's: it has no next");
    hl_str_put(t->next, sizeof(t->next), next);
    t->has_more = json_is_true(json_object_get(*out, "has_more"));
    if (missed > 0)
        fprintf(t->cli->err,
            "hookline logs: %" JSON_INTEGER_FORMAT " lines went by before they could be read\n",
            missed);
    return HL_CLI_OK;
}

/* On a terminal with the app and the end of the run's id, by which lists know it. */
static void show(const struct tail *t, const json_t *row)
{
    const char *id = json_string_value(json_object_get(row, "run_id"));
    const char *app = json_string_value(json_object_get(row, "app_name"));
    if (t->filter->is_json || !t->screen.is_terminal) {
        hl_cli_print_json(t->cli, row);
        return;
    }
    if (id || app) {
        size_t n = id ? strlen(id) : 0;
        hl_cli_print(t->cli->out, app ? app : "-");
        fputc(' ', t->cli->out);
        hl_cli_print(t->cli->out, n > HL_CLI_TAIL ? id + n - HL_CLI_TAIL : "-");
        fputs("  ", t->cli->out);
    }
    print_entry(t->cli, &t->screen, json_object_get(row, "line"));
}

static void show_last(const struct tail *t, const json_t *rows, size_t most)
{
    size_t n = json_array_size(rows);
    for (size_t i = n > most ? n - most : 0; i < n; i++)
        show(t, json_array_get(rows, i));
}

/* Of one app more are looked through than are wanted: what came last is what counts. */
static int begin(struct tail *t)
{
    json_t *rows = json_array();
    int status = rows ? HL_CLI_OK : hl_cli_fail(t->cli, "out of memory");
    do {
        json_t *answer = NULL;
        if (status == HL_CLI_OK)
            status = ask(t, false, &answer);
        if (status == HL_CLI_OK)
            json_array_extend(rows, json_object_get(answer, "lines"));
        json_decref(answer);
    } while (status == HL_CLI_OK && t->has_more);
    show_last(t, rows, (size_t)t->filter->left);
    json_decref(rows);
    return status;
}

static int follow(struct tail *t)
{
    const struct timespec pause = {
        .tv_nsec = 250 * 1000 * 1000}; /* not every reader is waited with */
    for (;;) {
        json_t *answer;
        int status = ask(t, true, &answer);
        if (status == HL_CLI_OK)
            show_last(t, json_object_get(answer, "lines"), SIZE_MAX);
        json_decref(answer);
        if (status != HL_CLI_OK)
            return status;
        if (fflush(t->cli->out) != 0)
            return HL_CLI_FAILED;
        if (!t->has_more)
            nanosleep(&pause, NULL);
    }
}

int hl_cli_logs(const struct hl_cli *cli)
{
    struct hl_cli_filter filter = {.project = NULL};
    struct tail t = {.cli = cli, .screen = hl_cli_screen_of(cli->out), .filter = &filter};
    bool follows = false;
    const struct hl_cli_option options[] = {{.name = "--project", .text = &filter.project},
        {.name = "--app", .text = &filter.app}, {.name = "--run", .text = &filter.run},
        {.name = "--level", .text = &t.level}, {.name = "--limit", .text = &filter.limit},
        {.name = "--follow", .is_given = &follows},
        {.name = "--json", .is_given = &filter.is_json}};
    size_t count;
    int status = hl_cli_read_arguments(cli, options, HL_ARRAY_LEN(options), NULL, 0, &count);
    status = hl_cli_filter_check(&filter, cli, status);
    if (status == HL_CLI_OK && filter.left > 200)
        status = hl_cli_usage_error(cli, "--limit takes a number from 1 to 200");
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&t.session, cli);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_filter_settle_project(&filter, t.session);
    if (!hl_cli_session_has_sidecar(t.session))
        status = hl_cli_fail(cli, "no hookline is running here: it has no log");
    if (status == HL_CLI_OK && filter.run)
        status = hl_cli_find(t.session, cli, HL_CLI_RUN, filter.run, t.run);
    if (status == HL_CLI_OK)
        status = begin(&t);
    if (status == HL_CLI_OK && fflush(cli->out) != 0)
        status = HL_CLI_FAILED;
    if (status == HL_CLI_OK && follows)
        status = follow(&t);
    hl_cli_session_close(t.session);
    return status;
}
