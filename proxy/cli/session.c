/* session.c - the REST interface for commands, through the control socket or on the store itself.
 * Owns: the settings, and without a sidecar store, loop and interface, for the command's time.
 * Not here: what is asked (token.c, runs.c), the interface (api/rest.c). */
#include "cli/session.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/json.h"
#include "api/rest.h"
#include "api/rest_call.h"
#include "auth/auth.h"
#include "auth/json_load.h"
#include "base/log.h"
#include "body/body_reader.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/fetch.h"
#include "cli/own_words.h"
#include "cli/server.h"
#include "config/config.h"
#include "http/url.h"
#include "store/store.h"

#define FOR_EVER_MS (UINT64_C(36500) * 24 * 3600 * 1000)

struct hl_cli_session {
    const struct hl_cli *cli;
    bool adds;                   /* what is new: a store is made where there is none */
    bool has_server;             /* false: none runs here, or it is not found out yet */
    struct hl_cli_server server; /* with --url nothing of this machine is in use */
    struct hl_config *config;    /* NULL: it is another machine's */
    char *project; /* the running sidecar's HOOKLINE_PROJECT_ID, once asked for; owned */
    /* no sidecar runs: the rest is in use */
    bool has_loop;
    uv_loop_t loop;
    struct hl_store *store;
    struct hl_auth *auth;
    struct hl_rest *rest;
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

/* ---- who we are ---- */

/* Of what root may only this is left: to pass folders above the data directory that are closed to its owner, as systemd's
 * /var/lib/private is (DynamicUser=). libc has no function for it (capset(2)). */
static bool keep_passage(bool is_needed)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, words) != 0)
        return false;
    uint32_t kept = is_needed ? words[0].permitted & (1U << CAP_DAC_READ_SEARCH) : 0;
    memset(words, 0, sizeof(words));
    words[0].permitted = words[0].effective = kept;
    return syscall(SYS_capset, &header, words) == 0;
}

/* Root makes no files in a directory of somebody else's, and nobody a store where there is none: a
 * token of that one would be good nowhere. With postgres the store is elsewhere. */
static int become_owner(const struct hl_cli *cli, const struct hl_config *config)
{
    struct stat dir;
    const char *data_dir = config->data_dir.p;
    bool exists = stat(data_dir, &dir) == 0;
    bool is_root = geteuid() == 0;
    if (!exists && config->store == HL_STORE_POSTGRES)
        return HL_CLI_OK;
    if (!exists && !is_root && errno != ENOENT)
        return HL_CLI_OK; /* connecting says what is wrong */
    if (!exists)
        return hl_cli_fail(cli,
            "there is no data directory %s: start hookline first, or create it, owned by the user "
            "who will run hookline (HOOKLINE_DATA_DIR names it)",
            data_dir);
    if (!is_root || dir.st_uid == 0)
        return HL_CLI_OK;
    if (prctl(PR_SET_KEEPCAPS, 1) != 0 || setgroups(1, &dir.st_gid) != 0 ||
        setgid(dir.st_gid) != 0 || setuid(dir.st_uid) != 0 ||
        !keep_passage(access(data_dir, X_OK) != 0))
        return hl_cli_fail(cli, "cannot become the owner of %s: %s", data_dir, strerror(errno));
    return HL_CLI_OK;
}

/* ---- the store itself ---- */

/* A shell's variables are seldom the sidecar's: what its settings decide about what is stored (how
 * long, how much, whether an interrupted run is run again, how often a webhook is tried) is left to
 * its next start. */
static void leave_to_sidecar(struct hl_config *config)
{
    config->retention_ms = FOR_EVER_MS;
    config->store_max_bytes.bytes = UINT64_MAX;
    config->run_attempts = 0;
    config->webhook_attempts = 0;
}

/* A store is made for what is put into it, not for a question. */
static bool has_store(const struct hl_config *config)
{
    char path[PATH_MAX];
    struct stat file;
    int n = snprintf(path, sizeof(path), "%s/hookline.db", config->data_dir.p);
    return config->store != HL_STORE_SQLITE || n < 0 || (size_t)n >= sizeof(path) ||
           stat(path, &file) == 0 || errno != ENOENT;
}

static int open_store(struct hl_cli_session *session)
{
    char why[512] = "out of memory";
    const struct hl_cli *cli = session->cli;
    if (session->config->store == HL_STORE_MEMORY)
        return hl_cli_fail(cli,
            "no sidecar answers on %s/" HL_CONTROL_SOCKET
            ", and with HOOKLINE_STORE=memory nothing outlives one",
            session->config->data_dir.p);
    if (!session->adds && !has_store(session->config))
        return hl_cli_fail(cli,
            "no hookline runs on the data directory %s, and none ever did: there is nothing in it "
            "(HOOKLINE_DATA_DIR names another one)",
            session->config->data_dir.p);
    hl_log_setup(HL_LOG_ERROR, HL_LOG_PLAIN);
    leave_to_sidecar(session->config);
    if (hl_store_open(&session->store, session->config, why, sizeof(why)) != HL_OK)
        return hl_cli_fail(cli, "no sidecar answers on its control socket; %s", why);
    /* nobody's token is checked, no keys are fetched */
    session->config->auth = HL_AUTH_NONE;
    session->config->admin_auth = HL_ADMIN_AUTH_NONE;
    if (hl_auth_open(&session->auth, session->config, session->store, why, sizeof(why)) != HL_OK)
        return hl_cli_fail(cli, "%s", why);
    session->has_loop = uv_loop_init(&session->loop) == 0;
    struct hl_rest_parts parts = {
        .config = session->config, .store = session->store, .auth = session->auth};
    if (session->has_loop)
        session->rest = hl_rest_new(&session->loop, &parts);
    return session->rest ? HL_CLI_OK : hl_cli_fail(cli, "out of memory");
}

static int find_sidecar(struct hl_cli_session *session)
{
    const char *dir = session->config->data_dir.p;
    struct hl_cli_fetch connecting;
    session->has_server = hl_cli_server_open_here(&session->server, dir, &connecting);
    if (session->has_server)
        return HL_CLI_OK;
    if (connecting.error == ENOENT || connecting.error == ECONNREFUSED)
        return open_store(session);
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
        status = become_owner(cli, session->config);
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
    hl_auth_stop(session->auth);
    if (session->store)
        hl_store_close(session->store);
    if (session->rest)
        hl_rest_close(session->rest);
    if (session->has_loop) {
        uv_run(&session->loop, UV_RUN_DEFAULT);
        hl_rest_free(session->rest);
        uv_loop_close(&session->loop);
    }
    hl_auth_free(session->auth);
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

struct store_call {
    struct hl_rest_call call;
    bool is_done;
};

static void on_reply(struct hl_rest_call *call)
{
    HL_CONTAINER_OF(call, struct store_call, call)->is_done = true;
}

/* A body that is not in memory, on its way to the sink or, without one, to `out`. */
struct file_reading {
    struct hl_cli_sink *sink;
    struct hl_buf *out;
    enum hl_err err;
    bool is_given, is_over, is_ended;
};

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last)
{
    struct file_reading *r = owner;
    r->err = err;
    r->is_given = true;
    if (err == HL_OK && r->sink)
        r->is_ended = !r->sink->on_bytes(r->sink, piece);
    else if (err == HL_OK)
        r->err = hl_buf_append_str(r->out, piece);
    r->is_over = is_last || r->is_ended || r->err != HL_OK;
}

static int read_file(struct hl_cli_session *session, struct hl_body *file, struct hl_cli_sink *sink,
    struct hl_buf *out)
{
    struct file_reading r = {.sink = sink, .out = out, .err = HL_ERR_NOMEM};
    struct hl_body_reader *reader =
        hl_body_reader_new(&session->loop, hl_store_data_dir(session->store), file, on_piece, &r);
    bool is_asked = reader != NULL;
    while (is_asked && !r.is_over) {
        r.is_given = false;
        is_asked = hl_body_reader_next(reader);
        while (is_asked && !r.is_given)
            uv_run(&session->loop, UV_RUN_ONCE);
    }
    hl_body_reader_free(reader);
    if (r.is_ended)
        return HL_CLI_FAILED;
    return is_asked && r.err == HL_OK
               ? HL_CLI_OK
               : hl_cli_fail(session->cli, "the kept body cannot be read: %s", hl_err_text(r.err));
}

/* What is in memory goes to the sink, too, if it is what was asked for. */
static int pass_on(struct hl_cli_sink *sink, struct hl_cli_answer *a)
{
    if (!sink || !hl_cli_is_good(a->status))
        return HL_CLI_OK;
    bool goes_on = sink->on_bytes(sink, hl_buf_str(&a->body));
    hl_buf_fini(&a->body);
    return goes_on ? HL_CLI_OK : HL_CLI_FAILED;
}

static int ask_store(
    struct hl_cli_session *session, const struct hl_cli_request *request, struct hl_cli_answer *a)
{
    struct hl_target split;
    const char *method = request->method;
    if (!hl_target_split(hl_str_from(request->target), &split))
        return hl_cli_fail(
            session->cli, "\"%s\" is not a path that can be requested", request->target);
    struct store_call local = {.call = {.method = *method == 'G'   ? HL_METHOD_GET
                                                  : *method == 'P' ? HL_METHOD_POST
                                                                   : HL_METHOD_DELETE,
                                   .path = split.path,
                                   .query = split.query,
                                   .body = request->body,
                                   .is_operator = true,
                                   .asker = {.via = "command", .has_uid = true, .uid = getuid()},
                                   .on_reply = on_reply}};
    hl_rest_begin(session->rest, &local.call);
    hl_rest_keep_loop(session->rest, true);
    while (!local.is_done)
        uv_run(&session->loop, UV_RUN_ONCE);
    hl_rest_keep_loop(session->rest, false);
    struct hl_reply *reply = &local.call.reply;
    a->status = reply->status;
    a->body = reply->body;
    hl_buf_init(&reply->body, 0);
    int status = HL_CLI_OK;
    if (hl_reply_has_file(reply))
        status = read_file(
            session, &reply->file, hl_cli_is_good(a->status) ? request->sink : NULL, &a->body);
    else if (!*reply->content_type &&
             hl_json_write(json_pack("{s:s}", "detail", reply->detail), &a->body))
        status = hl_cli_fail(session->cli, "out of memory");
    else
        status = pass_on(request->sink, a);
    hl_reply_fini(reply);
    return status;
}

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
                               : ask_store(session, request, a);
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
