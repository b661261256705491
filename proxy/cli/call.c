/* call.c - calls of the app through the run listener, with a token that the running sidecar gives to
 * whoever may use its control socket (for calls alone, good for an hour, kept nowhere), or with that of
 * --token-file. */
#include "cli/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auth/json_load.h"
#include "base/tag.h"
#include "cli/cli.h"
#include "cli/fetch.h"
#include "cli/outcome.h"
#include "cli/screen.h"
#include "cli/server.h"
#include "cli/session.h"
#include "config/config.h"
#include "http/field.h"
#include "net/address.h"
#include "store/record.h"

#define BODY_MAX ((size_t)1 << 30)

#define TAG_FIELD "X-Run-Tag: "

/* Of the options, which stand in one table. */
#define OWN_OF_CALL 2
#define OWN_OF_SEND 1

struct call {
    struct hl_cli_fetch fetch; /* first: it is what bytes come to */
    const struct hl_cli *cli;
    struct hl_cli_session *session;
    const char *json, *text, *method, *project, *webhook;
    bool is_async, waits, has_fields, has_tags;
    const char *fields[HL_CLI_TEXTS_MAX + 2]; /* and one for the tags */
    const char *tags[HL_CLI_TEXTS_MAX + 1];
    char tag_field[sizeof(TAG_FIELD) + HL_TAGS_TEXT];
    struct hl_buf body, url;
    json_t *grant; /* what holds the token */
    bool is_send;
    struct hl_buf answer; /* of runs send; else it goes straight to stdout */
    char last;            /* byte that was printed */
    struct hl_cli_text_check check;
};

/* ---- the body ---- */

static int read_file(struct call *c, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    char piece[16384];
    size_t n;
    if (!file)
        return hl_cli_fail(c->cli, "%s: %s", path, strerror(errno));
    enum hl_err err = HL_OK;
    while (err == HL_OK && (n = fread(piece, 1, sizeof(piece), file)) > 0)
        err = hl_buf_append(&c->body, piece, n);
    bool has_failed = ferror(file);
    int error = errno;
    if (!is_stdin)
        fclose(file);
    if (has_failed)
        return hl_cli_fail(c->cli, "%s: %s", path, strerror(error));
    return err == HL_OK ? HL_CLI_OK : hl_cli_fail(c->cli, "%s: it is too large", path);
}

static int check_json(struct call *c)
{
    json_error_t error;
    json_t *value = hl_json_load(hl_buf_str(&c->body), JSON_DECODE_ANY, &error);
    json_decref(value);
    if (value)
        return HL_CLI_OK;
    return hl_cli_usage_error(c->cli,
        "--json must be JSON: line %d, column %d: %s; --data takes anything", error.line,
        error.column, error.text);
}

/* `status` is what the arguments are worth: no file is read for such as are wrong. */
static int read_body(struct call *c, int status)
{
    const char *given = c->json ? c->json : c->text;
    bool is_file = given && *given == '@';
    int read = HL_CLI_OK;
    if (is_file && status != HL_CLI_OK)
        return status;
    if (is_file)
        read = read_file(c, given + 1);
    else if (given && hl_buf_append_str(&c->body, hl_str_from(given)) != HL_OK)
        read = hl_cli_fail(c->cli, "out of memory");
    if (read == HL_CLI_OK && c->json)
        read = check_json(c);
    return read == HL_CLI_OK ? status : read;
}

/* ---- the arguments ---- */

/* "Name: value"; curl would leave out what it takes for no field, and say nothing. */
static bool is_field(const char *text)
{
    const char *colon = strchr(text, ':');
    return colon && hl_str_is_token((struct hl_str){text, (size_t)(colon - text)}) &&
           !strpbrk(colon, "\r\n");
}

static bool is_method(const char *text)
{
    return *text && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(text);
}

/* They go as one field more. */
static int read_tags(struct call *c, int status)
{
    size_t n = sizeof(TAG_FIELD) - 1, count = 0;
    struct hl_tag_list list = {.text = c->tag_field + n};
    struct hl_str bad;
    memcpy(c->tag_field, TAG_FIELD, n);
    for (const char **tag = c->tags; *tag; tag++)
        if (hl_tags_add(&list, hl_str_from(*tag), &bad) != HL_TAG_GOOD)
            status = hl_cli_usage_error(c->cli,
                "--tag takes name=value, each name once, at most %d, not \"%s\": a name is 1 to %d "
                "of A-Z a-z 0-9 . _ - /, a value 1 to %d characters without comma, quotation mark "
                "or backslash",
                HL_TAGS_MAX, *tag, HL_TAG_MAX, HL_TAG_MAX);
    c->tag_field[n + list.n] = '\0';
    while (c->fields[count])
        count++;
    if (list.n > 0)
        c->fields[count] = c->tag_field;
    return status;
}

/* What both take, and one word: `what` is said of it if it is missing. */
static int read_arguments(struct call *c, const char **word, const char *what)
{
    const struct hl_cli_option options[] = {{.name = "--method", .text = &c->method},
        {.name = "--async", .is_given = &c->is_async}, {.name = "--json", .text = &c->json},
        {.name = "--data", .text = &c->text},
        {.name = "--header", .text = c->fields, .is_given = &c->has_fields},
        {.name = "--tag", .text = c->tags, .is_given = &c->has_tags},
        {.name = "--webhook", .text = &c->webhook}, {.name = "--project", .text = &c->project},
        {.name = "--wait", .is_given = &c->waits}};
    size_t first = c->is_send ? OWN_OF_CALL : 0;
    size_t last = c->is_send ? 0 : OWN_OF_SEND;
    int status =
        hl_cli_read_word(c->cli, options + first, HL_ARRAY_LEN(options) - first - last, word, what);
    for (const char **field = c->fields; *field; field++)
        if (!is_field(*field))
            status = hl_cli_usage_error(c->cli,
                "--header takes a field such as \"X-Run-Priority: high\", not \"%s\"", *field);
    status = read_tags(c, status);
    if (c->method && !is_method(c->method))
        status = hl_cli_usage_error(
            c->cli, "--method takes a method in capitals such as PUT, not \"%s\"", c->method);
    if (c->json && c->text)
        return hl_cli_usage_error(c->cli, "--json and --data are mutually exclusive");
    return read_body(c, status);
}

/* ---- where to ---- */

/* `body` is taken, or NULL. */
static int ask_project(
    struct call *c, const char *method, const char *rest, json_t *body, json_t **out)
{
    struct hl_cli_target target;
    hl_cli_target_init(&target);
    hl_cli_target_of(&target, c->project, rest);
    int status = hl_cli_ask_target(c->session, method, &target, body, out);
    return status;
}

/* The address of the run listener here, and a token for it where one is asked for. */
static int find_here(struct call *c)
{
    char host[HL_ADDRESS_HOST];
    const struct hl_config *config = hl_cli_session_config(c->session);
    json_t *project;
    if (!hl_cli_session_has_sidecar(c->session))
        return hl_cli_fail(c->cli,
            "no hookline is running here (HOOKLINE_DATA_DIR says where; --url asks another one)");
    int status = ask_project(c, "GET", "", NULL, &project);
    if (status == HL_CLI_OK)
        status = ask_project(c, "POST", "/dashboard-sessions",
            json_pack("{s:s}", "role", hl_role_text(HL_ROLE_INVOKE)), &c->grant);
    c->fetch.is_here = true;
    c->fetch.is_believed = true; /* its certificate is for names that callers elsewhere use */
    struct sockaddr_storage here = hl_address_reach(&config->listen.items[0].addr);
    hl_address_write_host(&here, host);
    const char *scheme = json_string_value(json_object_get(project, "run_scheme"));
    c->fetch.token = json_string_value(json_object_get(c->grant, "token"));
    if (status == HL_CLI_OK &&
        hl_buf_printf(&c->url, "%s://%s:%lld", scheme ? scheme : "http", host,
            (long long)json_integer_value(json_object_get(project, "run_port"))) != HL_OK)
        status = hl_cli_fail(c->cli, "out of memory");
    json_decref(project);
    return status;
}

static int find_there(struct call *c, const struct hl_cli_server *remote)
{
    c->fetch.token = remote->token;
    return hl_buf_append_str(&c->url, hl_str_from(remote->url)) == HL_OK
               ? HL_CLI_OK
               : hl_cli_fail(c->cli, "out of memory");
}

static int write_url(struct call *c, const char *path)
{
    struct hl_cli_target target;
    const struct hl_cli_server *remote = hl_cli_session_remote(c->session);
    int status = remote ? find_there(c, remote) : find_here(c);
    if (status != HL_CLI_OK)
        return status;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, path);
    target.has_query = strchr(path, '?') != NULL;
    hl_cli_target_query(&target, "async", c->is_async ? "true" : NULL);
    hl_cli_target_query(&target, "webhookEndpoint", c->webhook);
    const char *text = hl_cli_target_text(&target);
    if (!text || hl_buf_append(&c->url, text, strlen(text) + 1) != HL_OK)
        status = hl_cli_fail(c->cli, "out of memory");
    hl_cli_target_fini(&target);
    return status;
}

/* ---- calling ---- */

static bool keep(struct call *c, struct hl_str bytes)
{
    if (c->answer.n + bytes.n <= HL_CLI_ANSWER_MAX && hl_buf_append_str(&c->answer, bytes) == HL_OK)
        return true;
    hl_cli_fail(c->cli, "the answer is longer than any of hookline's");
    return false;
}

static bool on_bytes(struct hl_cli_fetch *fetch, struct hl_str bytes)
{
    struct call *c = HL_CONTAINER_OF(fetch, struct call, fetch);
    if (c->is_send)
        return keep(c, bytes);
    if (hl_cli_screen_of(c->cli->out).is_terminal && !hl_cli_is_text(&c->check, bytes)) {
        hl_cli_fail(c->cli, "the answer is not text: redirect it to a file");
        return false;
    }
    if (bytes.n > 0)
        c->last = bytes.p[bytes.n - 1];
    return fwrite(bytes.p, 1, bytes.n, c->cli->out) == bytes.n && fflush(c->cli->out) == 0;
}

/* Where it is followed by what goes to stderr: on a terminal, or where both go the same way. */
static void end_line(const struct call *c)
{
    struct stat out, err;
    bool is_shared = fstat(fileno(c->cli->out), &out) == 0 &&
                     fstat(fileno(c->cli->err), &err) == 0 && out.st_dev == err.st_dev &&
                     out.st_ino == err.st_ino;
    if (is_shared && c->last && c->last != '\n') {
        fputc('\n', c->cli->out);
        fflush(c->cli->out);
    }
}

static int send_call(struct call *c, const char *path)
{
    int status = write_url(c, path);
    if (status != HL_CLI_OK)
        return status;
    c->fetch.method = c->method ? c->method : "POST";
    c->fetch.url = c->url.p;
    c->fetch.content_type = c->json ? "application/json" : NULL;
    c->fetch.body = hl_buf_str(&c->body);
    c->fetch.fields = c->fields;
    c->fetch.on_bytes = on_bytes;
    if (hl_cli_fetch_try(&c->fetch) ||
        (c->fetch.is_ended && c->fetch.status > 0 && ferror(c->cli->out)))
        return HL_CLI_OK;
    if (c->fetch.is_ended)
        return HL_CLI_FAILED;
    end_line(c); /* of an answer that broke off */
    return hl_cli_fail(c->cli, "%s: %s", c->fetch.url, c->fetch.why);
}

static void init_call(struct call *c, const struct hl_cli *cli)
{
    *c = (struct call){.cli = cli};
    hl_buf_init(&c->url, 0);
    hl_buf_init(&c->answer, 0);
    hl_buf_init(&c->body, BODY_MAX);
}

static void close_call(struct call *c)
{
    hl_cli_session_close(c->session);
    hl_buf_fini(&c->url);
    hl_buf_fini(&c->answer);
    hl_buf_fini(&c->body);
    json_decref(c->grant);
}

/* "demo" of "/v4/demo/words/run": owned, or NULL. */
static char *project_of_path(const char *path)
{
    if (strncmp(path, "/v4/", 4) != 0)
        return NULL;
    return strndup(path + 4, strcspn(path + 4, "/?"));
}

/* NULL: none. */
static const char *advice(const struct call *c)
{
    return hl_cli_server_advice(hl_cli_session_remote(c->session), "", c->fetch.status);
}

static void say_run(const struct call *c, const struct hl_cli_screen *screen)
{
    fprintf(c->cli->err, "%s%u, run ", hl_cli_color_faint(screen), c->fetch.status);
    hl_cli_print(c->cli->err, c->fetch.run_id);
    fprintf(c->cli->err, "%s\n", hl_cli_color_end(screen));
}

static int say_answer(const struct call *c)
{
    const char *more = advice(c);
    const struct hl_cli_screen screen = hl_cli_screen_of(c->cli->out);
    bool is_good = c->fetch.status >= 200 && c->fetch.status < 400;
    if (screen.is_terminal && c->last && c->last != '\n')
        fputc('\n', c->cli->out);
    else if (!is_good)
        end_line(c);
    if (!is_good)
        return hl_cli_fail(c->cli, "the answer was %u%s%s%s%s", c->fetch.status,
            *c->fetch.run_id ? ", of run " : "", c->fetch.run_id, more ? ": " : "",
            more ? more : "");
    if (screen.is_terminal && *c->fetch.run_id)
        say_run(c, &screen);
    return HL_CLI_OK;
}

int hl_cli_call(const struct hl_cli *cli)
{
    struct call c;
    const char *path;
    char *project = NULL;
    init_call(&c, cli);
    int status = read_arguments(&c, &path, "a path such as /v4/demo/words/run");
    if (path && *path != '/')
        status = hl_cli_usage_error(cli,
            "\"%s\" is not a path such as /v4/demo/words/run; \"runs send\" takes an app's name",
            path);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&c.session, cli);
    if (status == HL_CLI_OK && !c.project)
        c.project = project = project_of_path(path);
    if (status == HL_CLI_OK) {
        c.project = hl_cli_session_project(c.session, cli, c.project);
        status = c.project ? send_call(&c, path) : HL_CLI_USAGE;
    }
    if (status == HL_CLI_OK)
        status = say_answer(&c);
    close_call(&c);
    free(project);
    return status;
}

/* ---- runs send ---- */

/* What the 202 says, or why there is none. */
static int read_accepted(const struct call *c, char *run_id, size_t cap)
{
    json_t *answer = hl_json_load(hl_buf_str(&c->answer), 0, NULL);
    const char *id = json_string_value(json_object_get(answer, "run_id"));
    const char *more = advice(c);
    int status = HL_CLI_OK;
    if (!more)
        more = json_string_value(json_object_get(answer, "detail"));
    if (c->fetch.status == 202 && id)
        snprintf(run_id, cap, "%s", id);
    else
        status = hl_cli_fail(
            c->cli, "the answer was %u%s%s", c->fetch.status, more ? ": " : "", more ? more : "");
    json_decref(answer);
    return status;
}

static int await_result(struct call *c, const char *id)
{
    json_t *run = NULL;
    int status = hl_cli_await(c->session, c->cli, id, 0, &run);
    if (status == HL_CLI_OK)
        status = hl_cli_print_result(c->session, c->cli, id, NULL);
    const char *state = json_string_value(json_object_get(run, "state"));
    if (status == HL_CLI_OK && strcmp(state ? state : "", "success") != 0)
        status = hl_cli_fail(c->cli, "the run %s ended as %s", id, state);
    json_decref(run);
    return status;
}

static int send_run(struct call *c, const char *app)
{
    struct hl_cli_target target;
    char id[64];
    c->project = hl_cli_session_project(c->session, c->cli, c->project);
    if (!c->project)
        return HL_CLI_USAGE;
    hl_cli_target_init(&target);
    hl_cli_target_path(&target, "/v4/");
    hl_cli_target_segment(&target, c->project);
    hl_cli_target_path(&target, "/");
    hl_cli_target_segment(&target, app);
    hl_cli_target_path(&target, "/run");
    const char *path = hl_cli_target_text(&target);
    int status = path ? send_call(c, path) : HL_CLI_FAILED;
    hl_cli_target_fini(&target);
    if (status == HL_CLI_OK)
        status = read_accepted(c, id, sizeof(id));
    if (status != HL_CLI_OK)
        return status;
    if (c->waits)
        return await_result(c, id);
    hl_cli_print_line(c->cli->out, id);
    return HL_CLI_OK;
}

int hl_cli_runs_send(const struct hl_cli *cli)
{
    struct call c;
    const char *app;
    init_call(&c, cli);
    c.is_async = c.is_send = true;
    int status = read_arguments(
        &c, &app, "an app's name, such as words, which is that of /v4/demo/words/run");
    if (app && strchr(app, '/'))
        status = hl_cli_usage_error(
            cli, "\"%s\" is not an app's name; \"call --async\" takes a path", app);
    if (status == HL_CLI_OK)
        status = hl_cli_session_open(&c.session, cli);
    if (status == HL_CLI_OK)
        status = send_run(&c, app);
    close_call(&c);
    return status;
}
