/* outcome.c - what came of a run: its response, its end.
 * Not here: its lines in the log (logs.c). */
#include "cli/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/lookup.h"
#include "cli/screen.h"
#include "cli/server.h"
#include "cli/session.h"
#include "cli/table.h"
#include "config/value.h"

#define WAIT_S  "20" /* that one question waits for the end */
#define WAIT_MS 20000

/* ---- waiting ---- */

static bool is_over(const json_t *run)
{
    const char *state = json_string_value(json_object_get(run, "state"));
    return state && strcmp(state, "queued") != 0 && strcmp(state, "running") != 0;
}

static int ask_run(struct hl_cli_session *session, const char *id, uint64_t left_ms, json_t **run)
{
    struct hl_cli_target target;
    *run = NULL;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, "/v2/runs/");
    hl_cli_target_segment(&target, id);
    if (left_ms > 0)
        hl_cli_target_query(&target, "wait", left_ms < WAIT_MS ? "1" : WAIT_S);
    int status = hl_cli_ask_target(session, "GET", &target, NULL, run);
    return status;
}

int hl_cli_await(struct hl_cli_session *session, const struct hl_cli *cli, const char *id,
    uint64_t limit_ms, json_t **run)
{
    const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000}; /* not every run is waited for */
    uint64_t end = hl_clock_mono_ms() + limit_ms;
    for (;;) {
        uint64_t now = hl_clock_mono_ms();
        bool is_late = limit_ms > 0 && now >= end;
        uint64_t left_ms = limit_ms == 0 ? UINT64_MAX : is_late ? 0 : end - now;
        int status = ask_run(session, id, left_ms, run);
        if (status != HL_CLI_OK || is_over(*run))
            return status;
        const char *state = json_string_value(json_object_get(*run, "state"));
        if (!state)
            return hl_cli_fail(cli, "the answer is not hookline's: it has no state");
        if (is_late)
            status = hl_cli_fail(cli, "the run is still %s", state);
        else if (!hl_cli_session_has_sidecar(session))
            status =
                hl_cli_fail(cli, "the run is %s, and no hookline is running here to end it", state);
        json_decref(*run);
        *run = NULL;
        if (status != HL_CLI_OK)
            return status;
        nanosleep(&pause, NULL);
    }
}

static int open_session(
    const struct hl_cli *cli, const char *typed, struct hl_cli_session **session, char *id)
{
    int status = hl_cli_session_open(session, cli);
    return status == HL_CLI_OK ? hl_cli_find(*session, cli, HL_CLI_RUN, typed, id) : status;
}

static int say_end(const struct hl_cli *cli, const json_t *run)
{
    const char *state = json_string_value(json_object_get(run, "state"));
    const char *reason = json_string_value(json_object_get(run, "reason"));
    const char *error = json_string_value(json_object_get(run, "error"));
    hl_cli_print(cli->out, state);
    fputs(reason ? ": " : "", cli->out);
    hl_cli_print(cli->out, reason ? reason : "");
    fputs(error ? ": " : "", cli->out);
    hl_cli_print_line(cli->out, error ? error : "");
    return strcmp(state, "success") == 0 ? HL_CLI_OK : HL_CLI_FAILED;
}

int hl_cli_runs_wait(const struct hl_cli *cli)
{
    char id[HL_CLI_ID_MAX];
    const char *typed, *timeout = NULL;
    uint64_t limit_ms = 0;
    struct hl_cli_session *session = NULL;
    json_t *run = NULL;
    const struct hl_cli_option options[] = {{.name = "--timeout", .text = &timeout}};
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_RUN, &typed);
    if (timeout && !hl_value_parse_duration(hl_str_from(timeout), &limit_ms))
        status = hl_cli_usage_error(
            cli, "--timeout takes a duration such as 90s or 10m, not \"%s\"", timeout);
    if (timeout && limit_ms == 0)
        limit_ms = 1; /* 0 stands for no limit behind here */
    if (status == HL_CLI_OK)
        status = open_session(cli, typed, &session, id);
    if (status == HL_CLI_OK)
        status = hl_cli_await(session, cli, id, limit_ms, &run);
    if (status == HL_CLI_OK)
        status = say_end(cli, run);
    json_decref(run);
    hl_cli_session_close(session);
    return status;
}

/* ---- the response ---- */

/* As whoever called: as root the session becomes the data directory's owner, who may not write here. What
 * is in the file stays until there is something to write. */
static int open_file(const struct hl_cli *cli, const char *path, FILE **file)
{
    *file = path ? fopen(path, "ae") : NULL;
    return !path || *file ? HL_CLI_OK : hl_cli_fail(cli, "%s: %s", path, strerror(errno));
}

/* Where a response goes, piece by piece as it comes. */
struct outlet {
    struct hl_cli_sink sink;
    const struct hl_cli *cli;
    FILE *file; /* NULL: cli->out */
    bool is_terminal, is_no_text, has_failed;
    struct hl_cli_text_check check;
    uint64_t n;
    char last;
};

/* What is no regular file has nothing in it that could go. */
static bool has_emptied(FILE *file)
{
    struct stat st;
    return (fstat(fileno(file), &st) == 0 && !S_ISREG(st.st_mode)) ||
           ftruncate(fileno(file), 0) == 0;
}

/* What was in a file goes when there is something to write. A terminal would act on what is no text. */
static bool on_piece(struct hl_cli_sink *sink, struct hl_str bytes)
{
    struct outlet *o = HL_CONTAINER_OF(sink, struct outlet, sink);
    FILE *out = o->file ? o->file : o->cli->out;
    o->is_no_text = o->is_terminal && !hl_cli_is_text(&o->check, bytes);
    if (o->file && o->n == 0 && !has_emptied(o->file))
        o->has_failed = true;
    o->n += bytes.n;
    if (bytes.n == 0 || o->is_no_text || o->has_failed)
        return !o->is_no_text && !o->has_failed;
    o->last = bytes.p[bytes.n - 1];
    o->has_failed = fwrite(bytes.p, 1, bytes.n, out) != bytes.n;
    return !o->has_failed;
}

static int end_outlet(struct outlet *o, int status)
{
    if (o->is_no_text)
        return hl_cli_fail(o->cli, "the response is not text: --output FILE saves it");
    if (o->file && status == HL_CLI_OK && o->n == 0 && !has_emptied(o->file))
        o->has_failed = true;
    if (o->file && (o->has_failed || fflush(o->file) != 0))
        return hl_cli_fail(o->cli, "the file cannot be written: %s", strerror(errno));
    if (status == HL_CLI_OK && o->is_terminal && o->n > 0 && o->last != '\n')
        fputc('\n', o->cli->out);
    return status;
}

int hl_cli_print_result(
    struct hl_cli_session *session, const struct hl_cli *cli, const char *id, FILE *file)
{
    struct hl_cli_target target;
    struct outlet o = {.sink.on_bytes = on_piece,
        .cli = cli,
        .file = file,
        .is_terminal = !file && hl_cli_screen_of(cli->out).is_terminal};
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, "/v2/runs/");
    hl_cli_target_segment(&target, id);
    hl_cli_target_path(&target, "/result");
    const char *text = hl_cli_target_text(&target);
    int status = text ? hl_cli_read_to(session, text, &o.sink) : HL_CLI_FAILED;
    hl_cli_target_fini(&target);
    return end_outlet(&o, status);
}

int hl_cli_runs_result(const struct hl_cli *cli)
{
    char id[HL_CLI_ID_MAX];
    const char *typed, *path = NULL;
    bool waits = false;
    struct hl_cli_session *session = NULL;
    json_t *run = NULL;
    FILE *file = NULL;
    const struct hl_cli_option options[] = {
        {.name = "--output", .text = &path}, {.name = "--wait", .is_given = &waits}};
    int status = hl_cli_read_id(cli, options, HL_ARRAY_LEN(options), HL_CLI_RUN, &typed);
    bool is_new = path && access(path, F_OK) != 0;
    if (status == HL_CLI_OK)
        status = open_file(cli, path, &file);
    if (status == HL_CLI_OK)
        status = open_session(cli, typed, &session, id);
    if (status == HL_CLI_OK && waits)
        status = hl_cli_await(session, cli, id, 0, &run);
    if (status == HL_CLI_OK)
        status = hl_cli_print_result(session, cli, id, file);
    if (file && fclose(file) != 0 && status == HL_CLI_OK)
        status = hl_cli_fail(cli, "%s: %s", path, strerror(errno));
    if (status != HL_CLI_OK && file && is_new)
        unlink(path);
    json_decref(run);
    hl_cli_session_close(session);
    return status;
}
