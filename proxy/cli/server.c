/* server.c - see server.h; and the path and query of what it is asked for.
 * Promise: of an answer no more than a piece is held where it goes to a sink, and no more than hookline ever
 * answers where it does not.
 * Not here: the request itself (fetch.c), what is asked without a hookline (own_store.c). */
#include "cli/server.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "auth/json_load.h"
#include "base/base64.h"
#include "cli/cli.h"
#include "cli/fetch.h"

#define LIMIT_MS      60000
#define LIMIT_HERE_MS 30000 /* of an answer, or of silence in one that is written as it comes */
#define TOKEN_MAX     (1024 * 1024) /* as long as a head may ever be */

#define GIVE_TOKEN "give --token-file FILE, with what `hookline token create` printed there in FILE"

/* ---- another machine's ---- */

static int read_whole(const struct hl_cli *cli, const char *path, struct hl_buf *text)
{
    char piece[4096];
    size_t n;
    FILE *file = fopen(path, "re");
    enum hl_err err = HL_OK;
    while (file && !err && (n = fread(piece, 1, sizeof(piece), file)) > 0)
        err = hl_buf_append(text, piece, n);
    bool has_failed = !file || ferror(file);
    if (has_failed)
        hl_cli_fail(cli, "%s: %s", path, strerror(errno));
    else if (err)
        hl_cli_fail(cli, "%s: it is longer than any token", path);
    if (file)
        fclose(file);
    explicit_bzero(piece, sizeof(piece));
    return has_failed || err ? HL_CLI_FAILED : HL_CLI_OK;
}

/* NULL: it has said why. */
static char *read_token(const struct hl_cli *cli, const char *path)
{
    struct hl_buf text;
    char *token = NULL;
    hl_buf_init(&text, TOKEN_MAX);
    if (read_whole(cli, path, &text) == HL_CLI_OK) {
        struct hl_str one = hl_str_trim(hl_str_unframe(hl_buf_str(&text)));
        token = one.n > 0 ? hl_str_dup(one) : NULL;
        if (!token || token[strcspn(token, " \t\r\n")] || strlen(token) != one.n) {
            hl_cli_fail(
                cli, "%s: it must hold one token, as `hookline token create` prints it", path);
            free(token);
            token = NULL;
        }
    }
    if (text.p)
        explicit_bzero(text.p, text.n);
    hl_buf_fini(&text);
    return token;
}

/* Of a token of hookline's own; what other issuers call it is known to the sidecar alone. */
static char *project_of_token(const char *token)
{
    const char *begin = strchr(token, '.'), *end = begin ? strchr(begin + 1, '.') : NULL;
    if (!end)
        return NULL;
    struct hl_str part = {begin + 1, (size_t)(end - begin - 1)};
    uint8_t *bytes = malloc(part.n + 1);
    ptrdiff_t n = bytes ? hl_base64url_decode(part, bytes) : -1;
    json_t *claims =
        n > 0 ? hl_json_load((struct hl_str){(const char *)bytes, (size_t)n}, 0, NULL) : NULL;
    const char *project = json_string_value(json_object_get(claims, "project_id"));
    char *copy = project ? strdup(project) : NULL;
    json_decref(claims);
    free(bytes);
    return copy;
}

static char *project_of_environment(char *const *environ)
{
    static const char name[] = "HOOKLINE_PROJECT_ID=";
    for (; *environ; environ++)
        if (strncmp(*environ, name, sizeof(name) - 1) == 0 && (*environ)[sizeof(name) - 1])
            return strdup(*environ + sizeof(name) - 1);
    return NULL;
}

/* Said, not refused: a tunnel or a network of one's own may be in between. */
static void warn_of_plain(const struct hl_cli *cli, const struct hl_cli_origin *origin)
{
    if (origin->is_plain && !origin->is_loopback)
        fputs("hookline: warning: over http the token can be read in transit\n", cli->err);
}

static int read_origin(const struct hl_cli *cli, const char *url, struct hl_cli_origin *origin)
{
    bool is_http = strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
    if (!is_http || !hl_cli_origin_read(url, origin) || (origin->has_query && !origin->has_user))
        return hl_cli_usage_error(
            cli, "--url takes an address such as https://hookline.example:8080, not \"%s\"", url);
    if (origin->has_user)
        return hl_cli_usage_error(
            cli, "--url must not contain a name or a password: give a token with --token-file");
    return HL_CLI_OK;
}

int hl_cli_server_open_remote(struct hl_cli_server *server, const struct hl_cli *cli)
{
    const char *url = cli->remote->url, *token_file = cli->remote->token_file;
    *server = (struct hl_cli_server){.is_remote = true};
    struct hl_cli_origin origin;
    int status = read_origin(cli, url, &origin);
    if (status != HL_CLI_OK)
        return status;
    if (token_file && !(server->token = read_token(cli, token_file)))
        return HL_CLI_FAILED;
    server->project = project_of_environment(cli->environ);
    if (!server->project && server->token)
        server->project = project_of_token(server->token);
    server->url = strdup(url);
    if (!server->url) {
        hl_cli_server_close(server);
        return hl_cli_fail(cli, "out of memory");
    }
    size_t n = strlen(server->url);
    while (n > 0 && server->url[n - 1] == '/')
        server->url[--n] = '\0';
    if (server->token)
        warn_of_plain(cli, &origin);
    return HL_CLI_OK;
}

/* ---- the one that runs here ---- */

bool hl_cli_server_open_here(
    struct hl_cli_server *server, const char *data_dir, struct hl_cli_fetch *connecting)
{
    *server = (struct hl_cli_server){.is_remote = false};
    *connecting = (struct hl_cli_fetch){.url = "http://localhost", .limit_ms = LIMIT_HERE_MS};
    if (!hl_control_path_init(&server->control, data_dir)) {
        connecting->error = errno;
        return false;
    }
    connecting->socket_path = server->control.text;
    bool is_there = hl_cli_fetch_try(connecting);
    server->url = is_there ? strdup(connecting->url) : NULL;
    if (server->url)
        return true;
    connecting->error = is_there ? ENOMEM : connecting->error;
    hl_cli_server_close(server);
    return false;
}

bool hl_cli_server_runs(const char *data_dir)
{
    struct hl_cli_server server;
    struct hl_cli_fetch connecting;
    bool runs = hl_cli_server_open_here(&server, data_dir, &connecting);
    if (runs)
        hl_cli_server_close(&server);
    return runs;
}

void hl_cli_server_close(struct hl_cli_server *server)
{
    if (server->token)
        explicit_bzero(server->token, strlen(server->token));
    free(server->token);
    free(server->project);
    free(server->url);
    if (!server->is_remote)
        hl_control_path_fini(&server->control);
}

/* ---- asking ---- */

struct reading {
    struct hl_cli_fetch fetch;
    struct hl_cli_sink *sink;
    struct hl_buf *body;
    bool is_too_long; /* or for the memory that there is */
};

/* A page of a list has 200 rows; what is longer than this was not written by a hookline. */
static bool on_bytes(struct hl_cli_fetch *fetch, struct hl_str bytes)
{
    struct reading *r = HL_CONTAINER_OF(fetch, struct reading, fetch);
    if (r->sink && hl_cli_is_good(fetch->status))
        return r->sink->on_bytes(r->sink, bytes);
    r->is_too_long =
        r->body->n + bytes.n > HL_CLI_ANSWER_MAX || hl_buf_append_str(r->body, bytes) != HL_OK;
    return !r->is_too_long;
}

static bool is_of_all(const char *target)
{
    static const char *const lists[] = {
        "/v2/runs", "/v2/deliveries", "/v2/destinations", "/v2/service-accounts", "/v2/replicas"};
    for (size_t i = 0; i < HL_ARRAY_LEN(lists); i++)
        if (strncmp(target, lists[i], strlen(lists[i])) == 0)
            return true;
    return false;
}

/* Not there at a run listener, where a list is of one project: without a token nobody may say which. */
static bool is_list_of_all(const struct hl_cli_server *server, const char *target)
{
    if (server->project || !is_of_all(target))
        return false;
    const char *name = target + strlen("/v2/");
    return name[strcspn(name, "/?")] != '/';
}

const char *hl_cli_server_advice(
    const struct hl_cli_server *server, const char *target, unsigned status)
{
    if (!server || server->token)
        return NULL;
    if (status == 404 && is_list_of_all(server, target))
        return GIVE_TOKEN ", or the address of an admin listener that is open";
    return status == 401 ? GIVE_TOKEN : NULL;
}

static enum hl_err write_url(
    const struct hl_cli_server *server, const char *target, struct hl_buf *url)
{
    if (!server->is_remote || !is_of_all(target) || !server->project)
        return hl_buf_printf(url, "%s%s%c", server->url, target, '\0');
    return hl_buf_printf(
        url, "%s/v2/projects/%s%s%c", server->url, server->project, target + strlen("/v2"), '\0');
}

static int fetch_answer(
    const struct hl_cli_server *server, const struct hl_cli *cli, struct reading *r)
{
    const char *whose = server->is_remote ? server->url : "the sidecar's control socket";
    int result = HL_CLI_OK;
    if (server->is_remote)
        result = hl_cli_fetch_run(cli, &r->fetch);
    else if (!hl_cli_fetch_try(&r->fetch))
        result = r->fetch.is_ended
                     ? HL_CLI_FAILED
                     : hl_cli_fail(cli, "%s: %s", whose, hl_cli_fetch_error(&r->fetch));
    if (r->is_too_long)
        result = hl_cli_fail(cli, "%s: the answer is longer than any of hookline's", whose);
    return result;
}

int hl_cli_server_ask(const struct hl_cli_server *server, const struct hl_cli *cli,
    const struct hl_cli_request *request, struct hl_cli_answer *answer)
{
    struct hl_buf url;
    if (server->is_remote && is_of_all(request->target) && server->token && !server->project)
        return hl_cli_usage_error(
            cli, "which project? HOOKLINE_PROJECT_ID is not set, and the token does not say");
    hl_buf_init(&url, 0);
    struct reading r = {.fetch = {.method = request->method,
                            .socket_path = server->is_remote ? NULL : server->control.text,
                            .token = server->token,
                            .content_type = request->body.n > 0 ? "application/json" : NULL,
                            .body = request->body,
                            .limit_ms = server->is_remote ? LIMIT_MS : LIMIT_HERE_MS,
                            .is_long = request->sink != NULL,
                            .on_bytes = on_bytes},
        .sink = request->sink,
        .body = &answer->body};
    int result =
        write_url(server, request->target, &url) ? hl_cli_fail(cli, "no memory") : HL_CLI_OK;
    r.fetch.url = url.p;
    if (result == HL_CLI_OK)
        result = fetch_answer(server, cli, &r);
    answer->status = r.fetch.status;
    hl_buf_fini(&url);
    return result;
}

/* ---- paths and queries ---- */

void hl_cli_target_init(struct hl_cli_target *t)
{
    *t = (struct hl_cli_target){.has_failed = false};
}

void hl_cli_target_fini(struct hl_cli_target *t)
{
    hl_buf_fini(&t->text);
}

static void append_text(struct hl_cli_target *t, struct hl_str s)
{
    if (hl_buf_append_str(&t->text, s) != HL_OK)
        t->has_failed = true;
}

void hl_cli_target_path(struct hl_cli_target *t, const char *piece)
{
    append_text(t, hl_str_from(piece));
}

/* All but RFC 3986's unreserved characters is escaped. */
static void append_encoded(struct hl_cli_target *t, const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    if (escaped)
        append_text(t, hl_str_from(escaped));
    else
        t->has_failed = true;
    curl_free(escaped);
}

void hl_cli_target_segment(struct hl_cli_target *t, const char *text)
{
    append_encoded(t, text);
}

void hl_cli_target_of(struct hl_cli_target *t, const char *project, const char *rest)
{
    hl_cli_target_path(t, project ? "/v2/projects/" : "/v2");
    if (project)
        hl_cli_target_segment(t, project);
    hl_cli_target_path(t, rest);
}

void hl_cli_target_query(struct hl_cli_target *t, const char *name, const char *value)
{
    if (!value)
        return;
    append_text(t, t->has_query ? HL_STR("&") : HL_STR("?"));
    t->has_query = true;
    append_text(t, hl_str_from(name));
    append_text(t, HL_STR("="));
    append_encoded(t, value);
}

void hl_cli_target_query_time(struct hl_cli_target *t, const char *name, int64_t wall_ms)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, wall_ms);
    hl_cli_target_query(t, name, text);
}

const char *hl_cli_target_text(struct hl_cli_target *t)
{
    append_text(t, (struct hl_str){"", 1});
    return t->has_failed ? NULL : t->text.p;
}
