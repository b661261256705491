/* own_store.c - see own_store.h. Owns: store, loop and interface, for the command's time.
 * Not here: what is asked (session.c), the interface (api/rest.c). */
#include "cli/own_store.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/control_path.h"
#include "api/json.h"
#include "api/rest.h"
#include "api/rest_call.h"
#include "auth/auth.h"
#include "base/log.h"
#include "body/body_reader.h"
#include "cli/cli.h"
#include "cli/server.h"
#include "config/config.h"
#include "http/url.h"
#include "store/store.h"

#define FOR_EVER_MS (UINT64_C(36500) * 24 * 3600 * 1000)

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
int hl_cli_become_owner(const struct hl_cli *cli, const struct hl_config *config)
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

/* ---- its time ---- */

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

int hl_cli_own_store_open(
    struct hl_cli_own_store *own, const struct hl_cli *cli, struct hl_config *config, bool adds)
{
    char why[512] = "out of memory";
    own->cli = cli;
    if (config->store == HL_STORE_MEMORY)
        return hl_cli_fail(cli,
            "no sidecar answers on %s/" HL_CONTROL_SOCKET
            ", and with HOOKLINE_STORE=memory nothing outlives one",
            config->data_dir.p);
    if (!adds && !has_store(config))
        return hl_cli_fail(cli,
            "no hookline runs on the data directory %s, and none ever did: there is nothing in it "
            "(HOOKLINE_DATA_DIR names another one)",
            config->data_dir.p);
    hl_log_setup(HL_LOG_ERROR, HL_LOG_PLAIN);
    leave_to_sidecar(config);
    if (hl_store_open(&own->store, config, why, sizeof(why)) != HL_OK)
        return hl_cli_fail(cli, "no sidecar answers on its control socket; %s", why);
    /* nobody's token is checked, no keys are fetched */
    config->auth = HL_AUTH_NONE;
    config->admin_auth = HL_ADMIN_AUTH_NONE;
    if (hl_auth_open(&own->auth, config, own->store, why, sizeof(why)) != HL_OK)
        return hl_cli_fail(cli, "%s", why);
    own->has_loop = uv_loop_init(&own->loop) == 0;
    struct hl_rest_parts parts = {.config = config, .store = own->store, .auth = own->auth};
    if (own->has_loop)
        own->rest = hl_rest_new(&own->loop, &parts);
    return own->rest ? HL_CLI_OK : hl_cli_fail(cli, "out of memory");
}

void hl_cli_own_store_close(struct hl_cli_own_store *own)
{
    hl_auth_stop(own->auth);
    if (own->store)
        hl_store_close(own->store);
    if (own->rest)
        hl_rest_close(own->rest);
    if (own->has_loop) {
        uv_run(&own->loop, UV_RUN_DEFAULT);
        hl_rest_free(own->rest);
        uv_loop_close(&own->loop);
    }
    hl_auth_free(own->auth);
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

static int read_file(struct hl_cli_own_store *own, struct hl_body *file, struct hl_cli_sink *sink,
    struct hl_buf *out)
{
    struct file_reading r = {.sink = sink, .out = out, .err = HL_ERR_NOMEM};
    struct hl_body_reader *reader =
        hl_body_reader_new(&own->loop, hl_store_data_dir(own->store), file, on_piece, &r);
    bool is_asked = reader != NULL;
    while (is_asked && !r.is_over) {
        r.is_given = false;
        is_asked = hl_body_reader_next(reader);
        while (is_asked && !r.is_given)
            uv_run(&own->loop, UV_RUN_ONCE);
    }
    hl_body_reader_free(reader);
    if (r.is_ended)
        return HL_CLI_FAILED;
    return is_asked && r.err == HL_OK
               ? HL_CLI_OK
               : hl_cli_fail(own->cli, "the kept body cannot be read: %s", hl_err_text(r.err));
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

int hl_cli_own_store_ask(struct hl_cli_own_store *own, const struct hl_cli_request *request,
    struct hl_cli_answer *answer)
{
    struct hl_target split;
    const char *method = request->method;
    if (!hl_target_split(hl_str_from(request->target), &split))
        return hl_cli_fail(own->cli, "\"%s\" is not a path that can be requested", request->target);
    struct store_call local = {.call = {.method = *method == 'G'   ? HL_METHOD_GET
                                                  : *method == 'P' ? HL_METHOD_POST
                                                                   : HL_METHOD_DELETE,
                                   .path = split.path,
                                   .query = split.query,
                                   .body = request->body,
                                   .is_operator = true,
                                   .asker = {.via = "command", .has_uid = true, .uid = getuid()},
                                   .on_reply = on_reply}};
    hl_rest_begin(own->rest, &local.call);
    hl_rest_keep_loop(own->rest, true);
    while (!local.is_done)
        uv_run(&own->loop, UV_RUN_ONCE);
    hl_rest_keep_loop(own->rest, false);
    struct hl_reply *reply = &local.call.reply;
    answer->status = reply->status;
    answer->body = reply->body;
    hl_buf_init(&reply->body, 0);
    int status = HL_CLI_OK;
    if (hl_reply_has_file(reply))
        status = read_file(own, &reply->file, hl_cli_is_good(answer->status) ? request->sink : NULL,
            &answer->body);
    else if (!*reply->content_type &&
             hl_json_write(json_pack("{s:s}", "detail", reply->detail), &answer->body))
        status = hl_cli_fail(own->cli, "out of memory");
    else
        status = pass_on(request->sink, answer);
    hl_reply_fini(reply);
    return status;
}
