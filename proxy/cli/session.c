/* session.c - the REST interface for commands, through the control socket or on the store itself.
 * Owns: the settings, for the command's time. Not here: what is asked (token.c, runs.c). */
#include "cli/session.h"

#include <errno.h>
#include <stdlib.h>

#include "api/json.h"
#include "auth/json_load.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/fetch.h"
#include "cli/own_store.h"
#include "cli/own_words.h"
#include "cli/server.h"
#include "config/config.h"

struct hl_cli_session {
    const struct hl_cli *cli;
    bool adds;                   /* what is new: a store is made where there is none */
    bool has_server;             /* false: none runs here, or it is not found out yet */
    struct hl_cli_server server; /* with --url nothing of this machine is in use */
    struct hl_config *config;    /* NULL: it is another machine's */
    char *project; /* the running sidecar's HOOKLINE_PROJECT_ID, once asked for; owned */
    struct hl_cli_own_store own; /* no sidecar runs */
};

/* A shell's environment is seldom the sidecar's. */
static const char *ask_project(struct hl_cli_session *session)
{
    json_t *now = NULL;
    if (session->has_server && hl_cli_ask(session, "GET", "/v2/now", NULL, &now) == HL_CLI_OK) {
        const char *project = json_string_value(json_object_get(now, "project_id"));
        session->project = project ? strdup(project) : NULL;
    }
    json_decref(now);
    return session->project;
}

const char *hl_cli_session_project(
    struct hl_cli_session *session, const struct hl_cli *cli, const char *asked)
{
    if (!session->config)
        asked = asked ? asked : session->server.project;
    else if (!asked && session->config->project_id.n > 0)
        asked = session->config->project_id.p;
    else if (!asked)
        asked = ask_project(session);
    if (!asked)
        hl_cli_usage_error(cli, "--project is needed: HOOKLINE_PROJECT_ID is %s",
            !session->has_server ? "not set"
            : session->config    ? "set neither here nor in the running hookline"
            : !session->server.token
                ? "not set, and there is no token (--token-file FILE) to say it"
                : "not set, and the token does not say it");
    return asked;
}

static int find_sidecar(struct hl_cli_session *session)
{
    const char *dir = session->config->data_dir.p;
    struct hl_cli_fetch connecting;
    session->has_server = hl_cli_server_open_here(&session->server, dir, &connecting);
    if (session->has_server)
        return HL_CLI_OK;
    if (connecting.error == ENOENT || connecting.error == ECONNREFUSED)
        return hl_cli_own_store_open(&session->own, session->cli, session->config, session->adds);
    if (connecting.error == EACCES || connecting.error == EPERM)
        return hl_cli_fail(session->cli,
            "the data directory %s belongs to another user: run this as that user, or as root",
            dir);
    return hl_cli_fail(session->cli, "the control socket in %s cannot be asked: %s", dir,
        hl_cli_fetch_error(&connecting));
}

static int open_here(struct hl_cli_session *session, const struct hl_cli *cli)
{
    int status = hl_cli_load_config(cli, &session->config);
    if (status == HL_CLI_OK)
        status = hl_cli_become_owner(cli, session->config);
    if (status == HL_CLI_OK)
        status = find_sidecar(session);
    return status;
}

static int open_remote(struct hl_cli_session *session, const struct hl_cli *cli)
{
    int status = hl_cli_server_open_remote(&session->server, cli);
    session->has_server = status == HL_CLI_OK;
    return status;
}

static int open_session(struct hl_cli_session **out, const struct hl_cli *cli, bool adds)
{
    *out = NULL;
    struct hl_cli_session *session = calloc(1, sizeof(*session));
    if (!session)
        return hl_cli_fail(cli, "out of memory");
    session->cli = cli;
    session->adds = adds;
    bool is_remote = cli->remote && cli->remote->url;
    int status = is_remote ? open_remote(session, cli) : open_here(session, cli);
    if (status == HL_CLI_OK)
        *out = session;
    else
        hl_cli_session_close(session);
    return status;
}

int hl_cli_session_open(struct hl_cli_session **out, const struct hl_cli *cli)
{
    return open_session(out, cli, false);
}

int hl_cli_session_open_to_add(struct hl_cli_session **out, const struct hl_cli *cli)
{
    return open_session(out, cli, true);
}

void hl_cli_session_close(struct hl_cli_session *session)
{
    if (!session)
        return;
    if (session->has_server)
        hl_cli_server_close(&session->server);
    hl_cli_own_store_close(&session->own);
    hl_config_free(session->config);
    free(session->project);
    free(session);
}

const struct hl_cli *hl_cli_session_call(const struct hl_cli_session *session)
{
    return session->cli;
}

bool hl_cli_session_has_sidecar(const struct hl_cli_session *session)
{
    return session->has_server;
}

const struct hl_cli_server *hl_cli_session_remote(const struct hl_cli_session *session)
{
    return session->has_server && session->server.is_remote ? &session->server : NULL;
}

const struct hl_config *hl_cli_session_config(const struct hl_cli_session *session)
{
    return session->config;
}

/* ---- asking ---- */

int hl_cli_refuse(const struct hl_cli_session *session, const char *target, unsigned answered,
    const json_t *answer)
{
    const char *detail = json_string_value(json_object_get(answer, "detail"));
    const struct hl_cli_server *remote = hl_cli_session_remote(session);
    const char *advice = hl_cli_server_advice(remote, target, answered);
    if (advice)
        return hl_cli_fail(session->cli, "%s requires a token: %s", remote->url, advice);
    if (!detail)
        return hl_cli_fail(session->cli, "the answer was %u", answered);
    struct hl_buf room;
    hl_buf_init(&room, 0);
    const char *said = hl_cli_own_words(session->cli, detail, &room);
    int status = answered == 400 ? hl_cli_usage_error(session->cli, "%s", said)
                                 : hl_cli_fail(session->cli, "%s", said);
    hl_buf_fini(&room);
    return status;
}

static int ask(
    struct hl_cli_session *session, const struct hl_cli_request *request, struct hl_cli_answer *a)
{
    *a = (struct hl_cli_answer){.status = 0};
    hl_buf_init(&a->body, 0);
    return session->has_server ? hl_cli_server_ask(&session->server, session->cli, request, a)
                               : hl_cli_own_store_ask(&session->own, request, a);
}

static json_t *parse(const struct hl_cli_answer *a)
{
    return hl_json_load(hl_buf_str(&a->body), 0, NULL);
}

int hl_cli_expect(const struct hl_cli *cli, const json_t *answer, const char *member)
{
    return json_object_get(answer, member)
               ? HL_CLI_OK
               : hl_cli_fail(cli, "the answer is not hookline's: it has no %s", member);
}

/* A web server that is another one, or a page to sign in at, answers 200 to anything. */
static int check_kind(const struct hl_cli_session *session, unsigned answered, const json_t *answer)
{
    if (!hl_cli_is_good(answered) || answered == 204 || json_is_object(answer))
        return HL_CLI_OK;
    return hl_cli_fail(
        session->cli, "the answer is not hookline's: it is no JSON (the status was %u)", answered);
}

/* An answer that is not good is nobody's. */
static int keep_good(int status, json_t **answer)
{
    if (status != HL_CLI_OK) {
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}

int hl_cli_ask_any(struct hl_cli_session *session, const char *method, const char *target,
    json_t *body, unsigned *answered, json_t **out)
{
    struct hl_cli_answer a = {.status = 0};
    struct hl_buf text;
    *out = NULL;
    hl_buf_init(&text, 0);
    int status = HL_CLI_OK;
    if (body && hl_json_write(body, &text) != HL_OK)
        status = hl_cli_fail(session->cli, "out of memory");
    const struct hl_cli_request request = {
        .method = method, .target = target, .body = hl_buf_str(&text)};
    if (status == HL_CLI_OK)
        status = ask(session, &request, &a);
    if (status == HL_CLI_OK) {
        *out = parse(&a);
        status = keep_good(check_kind(session, a.status, *out), out);
    }
    *answered = a.status;
    hl_buf_fini(&text);
    hl_buf_fini(&a.body);
    return status;
}

int hl_cli_ask(struct hl_cli_session *session, const char *method, const char *target, json_t *body,
    json_t **out)
{
    unsigned answered;
    int status = hl_cli_ask_any(session, method, target, body, &answered, out);
    if (status == HL_CLI_OK && !hl_cli_is_good(answered))
        status = keep_good(hl_cli_refuse(session, target, answered, *out), out);
    return status;
}

int hl_cli_ask_target(struct hl_cli_session *session, const char *method,
    struct hl_cli_target *target, json_t *body, json_t **out)
{
    const char *text = hl_cli_target_text(target);
    int status = HL_CLI_OK;
    *out = NULL;
    if (text) {
        status = hl_cli_ask(session, method, text, body, out);
    } else {
        status = hl_cli_fail(session->cli, "out of memory");
        json_decref(body);
    }
    hl_cli_target_fini(target);
    return status;
}

int hl_cli_ask_for(struct hl_cli_session *session, const char *method, struct hl_cli_target *target,
    json_t *body, const char *member, json_t **out)
{
    int status = hl_cli_ask_target(session, method, target, body, out);
    return status == HL_CLI_OK ? keep_good(hl_cli_expect(session->cli, *out, member), out) : status;
}

static int read_all(struct hl_cli_session *session, const char *target, struct hl_cli_sink *sink,
    struct hl_buf *out)
{
    const struct hl_cli_request request = {.method = "GET", .target = target, .sink = sink};
    struct hl_cli_answer a;
    int status = ask(session, &request, &a);
    if (status == HL_CLI_OK && !hl_cli_is_good(a.status)) {
        json_t *problem = parse(&a);
        status = hl_cli_refuse(session, target, a.status, problem);
        json_decref(problem);
    } else if (status == HL_CLI_OK) {
        *out = a.body;
        return status;
    }
    hl_buf_fini(&a.body);
    return status;
}

int hl_cli_read(struct hl_cli_session *session, const char *target, struct hl_buf *out)
{
    return read_all(session, target, NULL, out);
}

int hl_cli_read_to(struct hl_cli_session *session, const char *target, struct hl_cli_sink *sink)
{
    struct hl_buf none;
    hl_buf_init(&none, 0);
    int status = read_all(session, target, sink, &none);
    hl_buf_fini(&none);
    return status;
}
