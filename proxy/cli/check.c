/* check.c - `hookline config check`: all that a start would open is looked at, by the functions
 * that the start calls or that share their rules with those.
 * Promise: nothing is changed or left; a sidecar that runs on the data directory is not in the
 * way. Every fault is said, not only the first.
 * Not here: what is wrong with what (the folders'). */
#include "cli/check.h"

#include "api/admin.h"
#include "app/supervisor.h"
#include "auth/auth.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/server.h"
#include "cli/settings.h"
#include "config/choice.h"
#include "config/config.h"
#include "config/port.h"
#include "store/key.h"
#include "store/store.h"
#include "webhook/certificate.h"
#include "webhook/trust.h"

#define WHY_MAX 512

struct check {
    const struct hl_config *config;
    char *const *environ;
    struct hl_buf problems, taken; /* lines */
};

static enum hl_err report(struct check *c, const char *why)
{
    return hl_buf_printf(&c->problems, "%s\n", why);
}

static enum hl_err check_app(struct check *c)
{
    char why[WHY_MAX] = "";
    return hl_supervisor_check(c->config, c->environ, why, sizeof(why)) ? HL_OK : report(c, why);
}

/* A file of its own: it can be looked at whether the database answers or not. */
static enum hl_err check_key(struct check *c)
{
    struct hl_shared_keys keys;
    char why[WHY_MAX] = "";
    if (c->config->store != HL_STORE_POSTGRES)
        return HL_OK;
    enum hl_err failed = hl_shared_keys_open(&keys, c->config, why, sizeof(why));
    hl_shared_keys_wipe(&keys);
    return failed ? report(c, why) : HL_OK;
}

static enum hl_err check_auth(struct check *c)
{
    char why[WHY_MAX] = "";
    return hl_auth_check_settings(c->config, why, sizeof(why)) == HL_OK ? HL_OK : report(c, why);
}

static enum hl_err check_certificate(struct check *c)
{
    struct hl_certificate certificate;
    char why[WHY_MAX] = "";
    enum hl_err failed = hl_certificate_init(&certificate, c->config->webhook_client_cert_file,
        c->config->webhook_client_key_file, why, sizeof(why));
    hl_certificate_fini(&certificate);
    return failed ? report(c, why) : HL_OK;
}

static enum hl_err check_trust(struct check *c)
{
    struct hl_trust trust;
    char why[WHY_MAX] = "";
    if (hl_trust_init(&trust, c->config->webhook_ca_file, why, sizeof(why)) != HL_OK)
        return report(c, why);
    hl_trust_fini(&trust);
    return HL_OK;
}

static enum hl_err check_webhooks(struct check *c)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    enum hl_err err = check_trust(c);
    if (!err)
        err = check_certificate(c);
    curl_global_cleanup();
    return err;
}

static enum hl_err check_control(struct check *c)
{
    char why[WHY_MAX] = "";
    return hl_admin_check(c->config, why, sizeof(why)) ? HL_OK : report(c, why);
}

/* In the order of the start. */
static enum hl_err check_all(struct check *c, bool is_running)
{
    enum hl_err err = hl_ports_probe(c->config, &c->taken, &c->problems);
    if (!err)
        err = check_app(c);
    if (!err)
        err = check_key(c);
    if (!err)
        err = hl_store_check(c->config, &c->problems);
    if (!err)
        err = check_auth(c);
    if (!err)
        err = check_webhooks(c);
    if (!err && !is_running)
        err = check_control(c);
    return err;
}

/* What a running sidecar has is taken by right. */
static int say(const struct hl_cli *cli, const struct check *c, bool is_running)
{
    hl_cli_print_lines(cli, "", hl_buf_str(&c->problems));
    hl_cli_print_lines(
        cli, is_running ? "note: a hookline runs here: " : "", hl_buf_str(&c->taken));
    if (c->problems.n > 0 || (c->taken.n > 0 && !is_running))
        return HL_CLI_USAGE;
    fputs("all settings are valid\n", cli->out);
    return HL_CLI_OK;
}

int hl_cli_config_check(const struct hl_cli *cli)
{
    struct hl_config *config;
    int status = hl_cli_load_config(cli, &config);
    if (status != HL_CLI_OK)
        return status;
    struct check c = {.config = config, .environ = cli->environ};
    hl_buf_init(&c.problems, 0);
    hl_buf_init(&c.taken, 0);
    hl_log_setup(HL_LOG_WARN, HL_LOG_PLAIN);
    bool is_running = hl_cli_server_runs(config->data_dir.p);
    enum hl_err err = check_all(&c, is_running);
    if (err)
        fprintf(cli->err, "hookline: %s\n", hl_err_text(err));
    status = err ? HL_CLI_FAILED : say(cli, &c, is_running);
    hl_buf_fini(&c.problems);
    hl_buf_fini(&c.taken);
    hl_config_free(config);
    return status;
}
