/* remote.c - the REST interface of a hookline on another machine.
 * Not here: the request itself (fetch.c). */
#include "cli/remote.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "auth/json_load.h"
#include "base/base64.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/fetch.h"
#include "cli/origin.h"

#define LIMIT_MS  60000
#define TOKEN_MAX (1024 * 1024) /* as long as a head may ever be */

#define GIVE_TOKEN "give --token-file FILE, with what `hookline token create` printed there in FILE"

/* ---- opening ---- */

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
                cli, "%s: it is to hold one token, as `hookline token create` prints it", path);
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
        fputs("hookline: warning: over http the token can be read on its way\n", cli->err);
}

static int read_origin(const struct hl_cli *cli, const char *url, struct hl_cli_origin *origin)
{
    bool is_http = strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
    if (!is_http || !hl_cli_origin_read(url, origin) || (origin->has_query && !origin->has_user))
        return hl_cli_usage_error(
            cli, "--url is an address such as https://hookline.example:8080, not \"%s\"", url);
    if (origin->has_user)
        return hl_cli_usage_error(
            cli, "--url has no name and no password in it: a token goes by --token-file");
    return HL_CLI_OK;
}

int hl_cli_far_open(struct hl_cli_far *far, const struct hl_cli *cli)
{
    const char *url = cli->remote->url, *token_file = cli->remote->token_file;
    *far = (struct hl_cli_far){.url = NULL};
    struct hl_cli_origin origin;
    int status = read_origin(cli, url, &origin);
    if (status != HL_CLI_OK)
        return status;
    if (token_file && !(far->token = read_token(cli, token_file)))
        return HL_CLI_FAILED;
    far->project = project_of_environment(cli->environ);
    if (!far->project && far->token)
        far->project = project_of_token(far->token);
    far->url = strdup(url);
    if (!far->url) {
        hl_cli_far_close(far);
        return hl_cli_fail(cli, "out of memory");
    }
    size_t n = strlen(far->url);
    while (n > 0 && far->url[n - 1] == '/')
        far->url[--n] = '\0';
    if (far->token)
        warn_of_plain(cli, &origin);
    return HL_CLI_OK;
}

void hl_cli_far_close(struct hl_cli_far *far)
{
    if (far->token)
        explicit_bzero(far->token, strlen(far->token));
    free(far->token);
    free(far->project);
    free(far->url);
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
    if (r->sink && fetch->status >= 200 && fetch->status <= 299)
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
static bool is_list_of_all(const struct hl_cli_far *far, const char *target)
{
    if (far->project || !is_of_all(target))
        return false;
    const char *name = target + strlen("/v2/");
    return name[strcspn(name, "/?")] != '/';
}

const char *hl_cli_far_advice(const struct hl_cli_far *far, const char *target, unsigned status)
{
    if (!far || far->token)
        return NULL;
    if (status == 404 && is_list_of_all(far, target))
        return GIVE_TOKEN ", or the address of an admin listener that is open";
    return status == 401 ? GIVE_TOKEN : NULL;
}

static enum hl_err write_url(const struct hl_cli_far *far, const char *target, struct hl_buf *url)
{
    if (!is_of_all(target) || !far->project)
        return hl_buf_printf(url, "%s%s%c", far->url, target, '\0');
    return hl_buf_printf(
        url, "%s/v2/projects/%s%s%c", far->url, far->project, target + strlen("/v2"), '\0');
}

int hl_cli_far_ask(const struct hl_cli_far *far, const struct hl_cli *cli, const char *method,
    const char *target, struct hl_str text, struct hl_cli_sink *sink, unsigned *status,
    struct hl_buf *body)
{
    struct hl_buf url;
    if (is_of_all(target) && far->token && !far->project)
        return hl_cli_usage_error(
            cli, "which project? HOOKLINE_PROJECT_ID is not set, and the token does not say");
    hl_buf_init(&url, 0);
    struct reading r = {.fetch = {.method = method,
                            .token = far->token,
                            .content_type = text.n > 0 ? "application/json" : NULL,
                            .body = text,
                            .limit_ms = LIMIT_MS,
                            .is_long = sink != NULL,
                            .on_bytes = on_bytes},
        .sink = sink,
        .body = body};
    int result = write_url(far, target, &url) == HL_OK ? HL_CLI_OK : hl_cli_fail(cli, "no memory");
    r.fetch.url = url.p;
    if (result == HL_CLI_OK)
        result = hl_cli_fetch(cli, &r.fetch);
    if (r.is_too_long)
        result = hl_cli_fail(cli, "%s: the answer is longer than any of hookline's", far->url);
    *status = r.fetch.status;
    hl_buf_fini(&url);
    return result;
}
