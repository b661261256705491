/* config.c - the settings, for a command: what is wrong with them goes to stderr; and `hookline config show`, `table` and
 * `check`. The check looks at all that a start would open, by the functions that the start calls or that share
 * their rules with those.
 * Promise: the check changes and leaves nothing; a sidecar that runs on the data directory is not in the
 * way. Every fault is said, not only the first.
 * Not here: what is a setting (config/option.c), what is wrong with what (the folders'). */
#include "cli/config.h"

#include "api/admin.h"
#include "app/launch.h"
#include "auth/auth.h"
#include "base/buf.h"
#include "base/log.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/server.h"
#include "config/choice.h"
#include "config/config.h"
#include "config/option.h"
#include "config/option_value.h"
#include "config/endpoint.h"
#include "dns/trust.h"
#include "run/service.h"
#include "store/key.h"
#include "store/store.h"
#include "tls/tls.h"
#include "webhook/certificate.h"

void hl_cli_print_lines(const struct hl_cli *cli, const char *before, struct hl_str lines)
{
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.p) : lines.n;
        fprintf(cli->err, "hookline: %s%.*s\n", before, (int)n, lines.p);
        n += end ? 1 : 0;
        lines.p += n;
        lines.n -= n;
    }
}

int hl_cli_load_config(const struct hl_cli *cli, struct hl_config **out)
{
    struct hl_buf problems, warnings;
    hl_buf_init(&problems, 0);
    hl_buf_init(&warnings, 0);
    enum hl_err err = hl_config_load(out, cli->environ, &problems, &warnings);
    hl_cli_print_lines(cli, "warning: ", hl_buf_str(&warnings));
    hl_cli_print_lines(cli, "", hl_buf_str(&problems));
    hl_buf_fini(&problems);
    hl_buf_fini(&warnings);
    if (err == HL_ERR_NOMEM)
        fprintf(cli->err, "hookline: %s\n", hl_err_text(err));
    return err == HL_OK ? HL_CLI_OK : err == HL_ERR_INVALID ? HL_CLI_USAGE : HL_CLI_FAILED;
}

/* ---- show and table ---- */

static int show_option(
    const struct hl_cli *cli, const struct hl_config *config, const struct hl_option *option)
{
    const struct hl_config_source *source = &config->sources[option - hl_options];
    struct hl_buf value;
    hl_buf_init(&value, 0);
    enum hl_err err = hl_option_show(option, config, &value);
    const char *why = source->text ? "" : "  # default";
    if (!source->text && hl_option_initial(option, config) != option->initial)
        why = "  # HOOKLINE_WEBHOOK_PRESET";
    if (!err && source->file)
        fprintf(cli->out, "%s_FILE=%s\n", option->name, source->file);
    else if (!err)
        fprintf(cli->out, "%s=%.*s%s\n", option->name, HL_STR_ARG(hl_buf_str(&value)), why);
    hl_buf_fini(&value);
    return err ? HL_CLI_FAILED : HL_CLI_OK;
}

int hl_cli_config_show(const struct hl_cli *cli)
{
    struct hl_config *config;
    int status = hl_cli_load_config(cli, &config);
    for (size_t i = 0; i < hl_option_count && status == HL_CLI_OK; i++)
        status = show_option(cli, config, &hl_options[i]);
    hl_config_free(config);
    return status;
}

static void print_default(FILE *out, const struct hl_option *option)
{
    if (option->shown)
        fprintf(out, " %s |", option->shown);
    else if (*option->initial)
        fprintf(out, " `%s` |", option->initial);
    else
        fputs(" not set |", out);
}

static enum hl_err print_row(FILE *out, const struct hl_option *option)
{
    struct hl_buf words;
    hl_buf_init(&words, 0);
    enum hl_err err = option->type == HL_OPTION_WORD ? hl_option_describe(option, &words) : HL_OK;
    fprintf(out, "| `%s` |", option->name);
    print_default(out, option);
    fprintf(out, " %s", option->help);
    if (words.n > 0)
        fprintf(out, " (%.*s)", HL_STR_ARG(hl_buf_str(&words)));
    if (option->is_secret)
        fprintf(out, "; or in a file: `%s_FILE`", option->name);
    fputs(" |\n", out);
    hl_buf_fini(&words);
    return err;
}

int hl_cli_config_table(const struct hl_cli *cli)
{
    enum hl_err err = HL_OK;
    fputs("| variable | default | meaning |\n| --- | --- | --- |\n", cli->out);
    for (size_t i = 0; i < hl_option_count && !err; i++)
        err = print_row(cli->out, &hl_options[i]);
    return err ? HL_CLI_FAILED : HL_CLI_OK;
}

/* ---- check ---- */

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
    return hl_launch_check(c->config, c->environ, why, sizeof(why)) ? HL_OK : report(c, why);
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
    if (hl_trust_init(&trust, "HOOKLINE_WEBHOOK_CA_FILE", c->config->webhook_ca_file, why,
            sizeof(why)) != HL_OK)
        return report(c, why);
    hl_trust_fini(&trust);
    return HL_OK;
}

static enum hl_err check_tls(struct check *c)
{
    char why[WHY_MAX] = "";
    struct hl_tls_files own = hl_service_tls_files(c->config);
    struct hl_tls_files app = hl_service_app_tls_files(c->config);
    enum hl_err err = HL_OK;
    if (hl_service_speaks_tls(c->config) && hl_tls_check(&own, why, sizeof(why)) != HL_OK)
        err = report(c, why);
    if (!err && c->config->app_url.is_tls && hl_tls_check(&app, why, sizeof(why)) != HL_OK)
        err = report(c, why);
    return err;
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
        err = check_tls(c);
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
static int say_result(const struct hl_cli *cli, const struct check *c, bool is_running)
{
    hl_cli_print_lines(cli, "", hl_buf_str(&c->problems));
    hl_cli_print_lines(
        cli, is_running ? "note: a hookline is running here: " : "", hl_buf_str(&c->taken));
    if (c->problems.n > 0 || (c->taken.n > 0 && !is_running))
        return HL_CLI_USAGE;
    if (c->config->webhook_preset != HL_WEBHOOK_PRESET_CONTRACT)
        fprintf(cli->out, "note: a webhook is tried %u times, with delays of %.*s, after %.*s\n",
            c->config->webhook_attempts, HL_STR_ARG(c->config->webhook_schedule),
            HL_STR_ARG(c->config->webhook_retry_on));
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
    status = err ? HL_CLI_FAILED : say_result(cli, &c, is_running);
    hl_buf_fini(&c.problems);
    hl_buf_fini(&c.taken);
    hl_config_free(config);
    return status;
}
