/* settle.c - the last step of loading: settings that follow from others or from the machine. Runs
 * at start, when every setting has been parsed. */
#include "config/settle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "config/command.h"
#include "config/alert_setting.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "config/option.h"
#include "config/value.h"
#include "http/url.h"

#define OWN_DESCRIPTORS  128 /* listeners, loops, database, deliveries' first connections */
#define MOST_CONNECTIONS 1000000

/* A caller's call may take a second descriptor for its connection to the app and a third for a body
 * on disk, and a fourth for those who follow what is kept there. */
#define DESCRIPTORS_A_CALL 4

static uint32_t connections_by_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return MOST_CONNECTIONS;
    if (limit.rlim_cur < 2 * OWN_DESCRIPTORS)
        return limit.rlim_cur < 8 ? 1 : (uint32_t)limit.rlim_cur / 8;
    rlim_t n = (limit.rlim_cur - OWN_DESCRIPTORS) / DESCRIPTORS_A_CALL;
    return n > MOST_CONNECTIONS ? MOST_CONNECTIONS : (uint32_t)n;
}

static uint32_t default_connections(const struct hl_config *config)
{
    uint32_t n = connections_by_descriptors();
    bool is_tls = config->tls_cert_file.n > 0;
    return is_tls ? hl_connections_by_memory(n, hl_memory_limit("")) : n;
}

/* Where nothing is set. */
static enum hl_err settle_text(struct hl_str *field, struct hl_str text)
{
    if (field->n > 0)
        return HL_OK;
    char *copy = hl_str_dup(text);
    if (!copy)
        return HL_ERR_NOMEM;
    free((char *)field->p);
    *field = (struct hl_str){copy, text.n};
    return HL_OK;
}

static enum hl_err settle_data_dir(struct hl_config *config)
{
    return settle_text(&config->data_dir,
        geteuid() == 0 ? HL_STR("/var/lib/hookline") : HL_STR("./hookline-data"));
}

static enum hl_err settle_replica(struct hl_config *config)
{
    char name[HL_REPLICA_MAX + 1];
    char url[HL_REPLICA_URL_MAX + 1] = "";
    hl_replica_by_host(name);
    if (config->store == HL_STORE_POSTGRES)
        hl_replica_url_by_listener(&config->listen, config->tls_cert_file.n > 0, url);
    enum hl_err err = settle_text(&config->replica, hl_str_from(name));
    return err ? err : settle_text(&config->replica_url, hl_str_from(url));
}

/* Each start has another name. */
static void settle_via(struct hl_config *config)
{
    uint8_t bytes[4];
    char digits[2 * sizeof(bytes)];
    hl_random_fill(bytes, sizeof(bytes));
    hl_hex_write(digits, bytes, sizeof(bytes));
    int n = snprintf(
        config->via_room, sizeof(config->via_room), "hookline-%.*s", (int)sizeof(digits), digits);
    config->via = (struct hl_str){config->via_room, (size_t)n};
}

static enum hl_err check_ca_file(const struct hl_config *config, struct hl_buf *problems)
{
    if (config->webhook_ca_file.n == 0 || access(config->webhook_ca_file.p, R_OK) == 0)
        return HL_OK;
    const char *why = strerror(errno);
    enum hl_err err = hl_buf_printf(problems, "HOOKLINE_WEBHOOK_CA_FILE: ");
    if (!err)
        err = hl_value_append_quoted(problems, config->webhook_ca_file);
    return err ? err : hl_buf_printf(problems, " cannot be read: %s\n", why);
}

static enum hl_err report_user(
    const struct hl_config *config, struct hl_buf *problems, const char *what)
{
    enum hl_err err = hl_buf_printf(problems, "HOOKLINE_APP_USER: ");
    if (!err)
        err = hl_value_append_quoted(problems, config->app_user);
    return err ? err : hl_buf_printf(problems, " %s\n", what);
}

static enum hl_err check_app_user(const struct hl_config *config, struct hl_buf *problems)
{
    struct hl_user user;
    char why[64];
    if (config->app_user.n == 0)
        return HL_OK;
    if (config->app_command.n == 0)
        return report_user(config, problems,
            "has no effect without HOOKLINE_APP_COMMAND: hookline does not start the app");
    if (hl_user_find(config->app_user, &user, why, sizeof(why)) != HL_OK)
        return report_user(config, problems, why);
    if (geteuid() != 0)
        return report_user(config, problems,
            "needs root: run hookline as root, or leave HOOKLINE_APP_USER out, so that the app "
            "runs as hookline's own user");
    return HL_OK;
}

/* Without a path there is nothing that could close the gate. */
static enum hl_err check_gate(const struct hl_config *config, struct hl_buf *problems)
{
    if (config->app_health_gate != HL_APP_GATE_ALWAYS || config->app_health_path.n > 0)
        return HL_OK;
    return hl_buf_printf(problems,
        "HOOKLINE_APP_HEALTH_GATE: \"always\" has no effect without HOOKLINE_APP_HEALTH_PATH: set "
        "that, or leave HOOKLINE_APP_HEALTH_GATE out\n");
}

/* What hookline did not start it cannot start again. */
static enum hl_err check_restarts(const struct hl_config *config, struct hl_buf *problems)
{
    bool has_command = config->app_command.n > 0;
    enum hl_err err = HL_OK;
    if (config->app_start_limit_ms > 0 && !has_command)
        err = hl_buf_printf(problems, "HOOKLINE_APP_START_LIMIT: needs HOOKLINE_APP_COMMAND: "
                                      "hookline does not start the app; set that, or leave "
                                      "HOOKLINE_APP_START_LIMIT out\n");
    if (!err && config->app_restart_after_ms > 0 &&
        (!has_command || config->app_health_path.n == 0))
        err = hl_buf_printf(problems,
            "HOOKLINE_APP_RESTART_AFTER: needs %s: set that, or leave HOOKLINE_APP_RESTART_AFTER "
            "out\n",
            has_command ? "HOOKLINE_APP_HEALTH_PATH, which says whether the app is well"
                        : "HOOKLINE_APP_COMMAND: hookline does not start the app");
    return err;
}

/* Who sleeps must be able to wake; and what is stopped cannot be asked to sleep. */
static enum hl_err check_sleep(const struct hl_config *config, struct hl_buf *problems)
{
    bool has_call = config->app_sleep_call.n > 0, has_wake = config->app_wake_call.n > 0;
    bool sleeps = config->app_idle_sleep_ms > 0;
    enum hl_err err = HL_OK;
    if (config->app_idle_stop_ms > 0 && config->app_command.n == 0)
        err =
            hl_buf_printf(problems, "HOOKLINE_APP_IDLE_STOP: needs HOOKLINE_APP_COMMAND: hookline "
                                    "does not start the app; set that, or leave "
                                    "HOOKLINE_APP_IDLE_STOP out\n");
    if (!err && sleeps && !(has_call && has_wake))
        err = hl_buf_printf(problems,
            "HOOKLINE_APP_IDLE_SLEEP: needs %s, such as \"POST /%s\": set that, or leave "
            "HOOKLINE_APP_IDLE_SLEEP out\n",
            has_call ? "HOOKLINE_APP_WAKE_CALL" : "HOOKLINE_APP_SLEEP_CALL",
            has_call ? "wake_up" : "sleep");
    if (!err && !sleeps && (has_call || has_wake))
        err = hl_buf_printf(problems,
            "%s: has no effect without HOOKLINE_APP_IDLE_SLEEP, such as 10m: set that, or leave "
            "it out\n",
            has_call ? "HOOKLINE_APP_SLEEP_CALL" : "HOOKLINE_APP_WAKE_CALL");
    if (!err && sleeps && config->app_idle_stop_ms > 0 &&
        config->app_idle_sleep_ms >= config->app_idle_stop_ms)
        err = hl_buf_printf(problems, "HOOKLINE_APP_IDLE_SLEEP: must be shorter than "
                                      "HOOKLINE_APP_IDLE_STOP, or the app is stopped before it "
                                      "sleeps\n");
    return err;
}

static enum hl_err check_warmup_body(const struct hl_config *config, struct hl_buf *problems)
{
    struct hl_buf body;
    hl_buf_init(&body, HL_WARMUP_BODY_MAX);
    enum hl_err err = hl_file_append(config->app_warmup_body_file.p, &body);
    hl_buf_fini(&body);
    if (err == HL_OK)
        return HL_OK;
    return hl_buf_printf(problems, "HOOKLINE_APP_WARMUP_BODY_FILE: %s: %s\n",
        config->app_warmup_body_file.p,
        err == HL_ERR_NO_FILE     ? "is not a regular file"
        : err == HL_ERR_TOO_LARGE ? "is larger than 16 MiB"
                                  : "cannot be read: is it there, and may this user read it?");
}

/* Calls that do not wait for the gate would come before it. */
static enum hl_err check_warmup(const struct hl_config *config, struct hl_buf *problems)
{
    if (config->app_warmup.n == 0 && config->app_warmup_body_file.n > 0)
        return hl_buf_printf(problems,
            "HOOKLINE_APP_WARMUP_BODY_FILE: has no effect without HOOKLINE_APP_WARMUP, such as "
            "\"POST /run\": set that, or leave HOOKLINE_APP_WARMUP_BODY_FILE out\n");
    if (config->app_warmup.n > 0 && config->app_health_gate == HL_APP_GATE_OFF)
        return hl_buf_printf(problems,
            "HOOKLINE_APP_WARMUP: calls are to wait for it, and do not with "
            "HOOKLINE_APP_HEALTH_GATE=off: leave one of them out\n");
    return config->app_warmup_body_file.n > 0 ? check_warmup_body(config, problems) : HL_OK;
}

/* Whether it was said, rightly or wrongly: what is wrong with it is reported once. */
static bool is_given(const struct hl_config *config, struct hl_str name)
{
    const struct hl_config_source *source = &config->sources[hl_option_find(name) - hl_options];
    return source->text || source->file;
}

/* Given as something else than it would be without: a list of all settings, as `config show` prints it, asks for nothing. */
static bool is_chosen(const struct hl_config *config, struct hl_str name)
{
    const struct hl_option *option = hl_option_find(name);
    const struct hl_config_source *source = &config->sources[option - hl_options];
    return source->file || (source->text && strcmp(source->text, option->initial) != 0);
}

static enum hl_err check_postgres(const struct hl_config *config, struct hl_buf *problems)
{
    enum hl_err err = HL_OK;
    if (!is_given(config, HL_STR("HOOKLINE_POSTGRES_URL")))
        err = hl_buf_printf(problems,
            "HOOKLINE_POSTGRES_URL: not set, and HOOKLINE_STORE=postgres needs it: set it, or "
            "HOOKLINE_POSTGRES_URL_FILE, to the database, such as "
            "postgres://hookline@db.example/hookline?sslmode=verify-full\n");
    if (!err && !is_given(config, HL_STR("HOOKLINE_KEY")) &&
        !is_given(config, HL_STR("HOOKLINE_KEY_FILE")))
        err = hl_buf_printf(problems,
            "HOOKLINE_KEY: not set, and HOOKLINE_STORE=postgres needs it: set it, or "
            "HOOKLINE_KEY_FILE, to the key that all replicas share; hookline key create prints a "
            "new one\n");
    return err;
}

/* A key that is passed over in silence would be taken for the one in use. */
static enum hl_err check_sqlite(const struct hl_config *config, struct hl_buf *problems)
{
    static const char *const names[] = {"HOOKLINE_KEY", "HOOKLINE_PREVIOUS_KEY"};
    enum hl_err err = HL_OK;
    for (size_t i = 0; i < HL_ARRAY_LEN(names) && !err; i++) {
        if (is_given(config, hl_str_from(names[i])))
            err = hl_buf_printf(problems,
                "%s: has no effect with HOOKLINE_STORE=sqlite, whose key is in a file: name that "
                "with HOOKLINE_KEY_FILE, or leave %s out\n",
                names[i], names[i]);
    }
    return err;
}

static enum hl_err check_store(const struct hl_config *config, struct hl_buf *problems)
{
    if (is_given(config, HL_STR("HOOKLINE_KEY")) && is_given(config, HL_STR("HOOKLINE_KEY_FILE")))
        return hl_buf_printf(problems,
            "HOOKLINE_KEY: **** and HOOKLINE_KEY_FILE are both set; allowed: one of them\n");
    if (config->store == HL_STORE_POSTGRES)
        return check_postgres(config, problems);
    return config->store == HL_STORE_SQLITE ? check_sqlite(config, problems) : HL_OK;
}

/* The halves meet in a queue that both reach. */
static enum hl_err check_role(const struct hl_config *config, struct hl_buf *problems)
{
    const char *role = hl_replica_role_words[config->role];
    if (config->role != HL_REPLICA_FRONT && is_chosen(config, HL_STR("HOOKLINE_FRONT_TIMEOUT")))
        return hl_buf_printf(problems,
            "HOOKLINE_FRONT_TIMEOUT: has no effect without HOOKLINE_ROLE=front: set that, or leave "
            "HOOKLINE_FRONT_TIMEOUT out\n");
    if (config->role == HL_REPLICA_ALL)
        return HL_OK;
    if (config->store != HL_STORE_POSTGRES)
        return hl_buf_printf(problems,
            "HOOKLINE_ROLE: \"%s\" needs HOOKLINE_STORE=postgres, which fronts and workers share: "
            "set that, or leave HOOKLINE_ROLE out\n",
            role);
    if (config->role == HL_REPLICA_FRONT && config->app_command.n > 0)
        return hl_buf_printf(problems,
            "HOOKLINE_APP_COMMAND: has no effect with HOOKLINE_ROLE=front, which has no app: leave "
            "one of them out\n");
    return HL_OK;
}

static enum hl_err settle_retries(struct hl_config *config, struct hl_buf *problems)
{
    bool has_list = config->run_retry_on.n > 0;
    if (!hl_retry_on_parse(config->run_retry_on, &config->retry_on))
        return HL_OK; /* that was reported */
    if (!has_list)
        config->retry_on.interrupted = true;
    if (!has_list || config->run_attempts != 1 || hl_retry_on_is_shutdown(&config->retry_on))
        return HL_OK;
    return hl_buf_printf(problems, "HOOKLINE_RUN_RETRY_ON: has no effect with "
                                   "HOOKLINE_RUN_ATTEMPTS=1: set that to the number of "
                                   "attempts, such as 3, or leave HOOKLINE_RUN_RETRY_ON out\n");
}

/* A list that cannot be read was reported. */
static void settle_webhook_policy(struct hl_config *config)
{
    if (!hl_schedule_parse(config->webhook_schedule, &config->schedule))
        config->schedule = (struct hl_schedule){.n = 1};
    if (!hl_webhook_retry_on_parse(config->webhook_retry_on, &config->retried))
        config->retried = (struct hl_webhook_retry_on){.network = true};
    if (config->webhook_attempts == 0)
        config->webhook_attempts = config->schedule.n + 1;
}

/* Callers choose URLs: credentials go to named hosts alone. */
static enum hl_err check_trusted(const struct hl_config *config, struct hl_buf *problems)
{
    static const char *const names[] = {
        "HOOKLINE_WEBHOOK_HEADERS", "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE"};
    enum hl_err err = HL_OK;
    if (is_given(config, HL_STR("HOOKLINE_WEBHOOK_TRUSTED_HOSTS")))
        return HL_OK;
    for (size_t i = 0; i < HL_ARRAY_LEN(names) && !err; i++) {
        if (is_given(config, hl_str_from(names[i])))
            err = hl_buf_printf(problems,
                "%s: needs HOOKLINE_WEBHOOK_TRUSTED_HOSTS, the hosts that may get it, such as "
                "hooks.example.com,*.corp.example; * for all\n",
                names[i]);
    }
    return err;
}

/* A setting that does nothing without another one. */
static enum hl_err check_need(const struct hl_config *config, struct hl_buf *problems, bool is_used,
    const char *name, const char *needed, const char *advice)
{
    if (!is_used || is_given(config, hl_str_from(needed)))
        return HL_OK;
    return hl_buf_printf(problems, "%s: needs %s: %s\n", name, needed, advice);
}

static enum hl_err check_webhooks(const struct hl_config *config, struct hl_buf *problems)
{
    static const char url[] = "HOOKLINE_PUBLIC_URL";
    static const char cert[] = "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE";
    static const char key[] = "HOOKLINE_WEBHOOK_CLIENT_KEY_FILE";
    static const char previous[] = "HOOKLINE_WEBHOOK_PREVIOUS_SECRET";
    static const char alerts[] = "HOOKLINE_ALERT_URL";
    const struct {
        bool is_used;
        const char *name, *needed, *advice;
    } needs[] = {
        {is_given(config, HL_STR("HOOKLINE_WEBHOOK_CLIENT_CERT_FILE")), cert, key,
            "the file of its private key"},
        {is_given(config, HL_STR("HOOKLINE_WEBHOOK_CLIENT_KEY_FILE")), key, cert,
            "the file of its certificate"},
        {is_given(config, HL_STR("HOOKLINE_WEBHOOK_PREVIOUS_SECRET")), previous,
            "HOOKLINE_WEBHOOK_SECRET", "set that to the new secret"},
        {config->webhook_proxy_resolve == HL_PROXY_RESOLVE_PROXY, "HOOKLINE_WEBHOOK_PROXY_RESOLVE",
            "HOOKLINE_WEBHOOK_PROXY", "set that, or leave it out"},
        {config->webhook_payload == HL_WEBHOOK_PAYLOAD_THIN, "HOOKLINE_WEBHOOK_PAYLOAD", url,
            "where receivers reach hookline, such as https://runs.example.com"},
        {config->webhook_max_body > 0, "HOOKLINE_WEBHOOK_MAX_BODY", url,
            "where receivers reach hookline, such as https://runs.example.com"},
        {is_chosen(config, HL_STR("HOOKLINE_ALERT_QUEUE_AGE")), "HOOKLINE_ALERT_QUEUE_AGE", alerts,
            "where alerts are sent"},
        {is_chosen(config, HL_STR("HOOKLINE_ALERT_APP_AFTER")), "HOOKLINE_ALERT_APP_AFTER", alerts,
            "where alerts are sent"},
    };
    enum hl_err err = check_trusted(config, problems);
    for (size_t i = 0; i < HL_ARRAY_LEN(needs) && !err; i++)
        err = check_need(
            config, problems, needs[i].is_used, needs[i].name, needs[i].needed, needs[i].advice);
    return err;
}

/* A URL that a discovery document can stand below (RFC 8414 2: no query, no fragment). */
static bool is_issuer_url(struct hl_str issuer)
{
    struct hl_url url;
    return issuer.n > 0 && hl_url_parse(issuer, &url) && !url.has_userinfo && url.port != 0 &&
           !memchr(issuer.p, '?', issuer.n) && !memchr(issuer.p, '#', issuer.n);
}

static enum hl_err settle_keys(struct hl_config *config, struct hl_buf *problems)
{
    bool has_keys =
        config->jwt_jwks_file.n > 0 || config->jwt_jwks_url.n > 0 || config->jwt_secret.n > 0;
    config->jwt_finds_keys = !has_keys && is_issuer_url(config->jwt_issuer);
    static const char advice[] = "what is fetched; or HOOKLINE_JWT_ISSUER alone, as a URL";
    bool is_idle = !config->jwt_finds_keys;
    enum hl_err err = check_need(config, problems, is_idle && config->jwt_ca_file.n > 0,
        "HOOKLINE_JWT_CA_FILE", "HOOKLINE_JWT_JWKS_URL", advice);
    if (!err)
        err = check_need(config, problems, is_idle && config->jwt_keys_token_file.n > 0,
            "HOOKLINE_JWT_KEYS_TOKEN_FILE", "HOOKLINE_JWT_JWKS_URL", advice);
    return err;
}

static enum hl_err check_tls(const struct hl_config *config, struct hl_buf *problems)
{
    static const char cert[] = "HOOKLINE_TLS_CERT_FILE", key[] = "HOOKLINE_TLS_KEY_FILE";
    bool has_cert = is_given(config, HL_STR("HOOKLINE_TLS_CERT_FILE"));
    enum hl_err err =
        check_need(config, problems, has_cert, cert, key, "the file of its private key");
    if (!err)
        err = check_need(config, problems, is_given(config, HL_STR("HOOKLINE_TLS_KEY_FILE")), key,
            cert, "the file of its certificate");
    if (!err)
        err = check_need(config, problems, config->tls_client_ca_file.n > 0,
            "HOOKLINE_TLS_CLIENT_CA_FILE", cert, "certificates are shown over TLS alone");
    if (!err)
        err = check_need(config, problems, config->admin_tls, "HOOKLINE_ADMIN_TLS", cert,
            "it is shown to admins, too");
    bool is_https = hl_str_starts_with(config->replica_url, HL_STR("https:"));
    if (!err && config->replica_url.n > 0 && is_https != has_cert)
        err = hl_buf_printf(problems,
            "HOOKLINE_REPLICA_URL: it begins with https:// where the run listener speaks TLS, "
            "else with http://\n");
    return err;
}

static enum hl_err check_app_tls(const struct hl_config *config, struct hl_buf *problems)
{
    static const char cert[] = "HOOKLINE_APP_CLIENT_CERT_FILE",
                      key[] = "HOOKLINE_APP_CLIENT_KEY_FILE";
    static const char url[] = "an https:// HOOKLINE_APP_URL",
                      advice[] = "an app without TLS is shown nothing";
    enum hl_err err = check_need(config, problems, config->app_client_cert_file.n > 0, cert, key,
        "the file of its private key");
    if (!err)
        err = check_need(config, problems, config->app_client_key_file.n > 0, key, cert,
            "the file of its certificate");
    if (!err && !config->app_url.is_tls && config->app_client_cert_file.n > 0)
        err = hl_buf_printf(problems, "%s: it needs %s: %s\n", cert, url, advice);
    if (!err && !config->app_url.is_tls && config->app_ca_file.n > 0)
        err = hl_buf_printf(problems, "HOOKLINE_APP_CA_FILE: it needs %s: %s\n", url, advice);
    return err;
}

enum hl_err hl_config_settle(struct hl_config *config, struct hl_buf *problems)
{
    if (config->app_head_timeout_ms == 0)
        config->app_head_timeout_ms = config->response_grace_period_ms;
    if (config->drain_timeout_ms == 0)
        config->drain_timeout_ms = config->response_grace_period_ms;
    if (config->app_concurrency > 0 && config->async_concurrency > config->app_concurrency)
        config->async_concurrency = config->app_concurrency;
    if (config->max_connections == 0)
        config->max_connections = default_connections(config);
    if (config->workers == 0)
        config->workers = hl_cpu_count();
    settle_webhook_policy(config);
    settle_via(config);
    if ((unsigned)config->log_format == HL_LOG_FORMAT_AUTO)
        config->log_format = isatty(STDERR_FILENO) ? HL_LOG_PLAIN : HL_LOG_JSON;
    enum hl_err err = settle_data_dir(config);
    if (!err)
        err = settle_replica(config);
    if (!err)
        err = check_store(config, problems);
    if (!err)
        err = check_role(config, problems);
    if (!err)
        err = check_ca_file(config, problems);
    if (!err)
        err = check_gate(config, problems);
    if (!err)
        err = check_restarts(config, problems);
    if (!err)
        err = check_warmup(config, problems);
    if (!err)
        err = check_sleep(config, problems);
    if (!err)
        err = settle_keys(config, problems);
    if (!err)
        err = check_tls(config, problems);
    if (!err)
        err = check_app_tls(config, problems);
    if (!err)
        err = check_webhooks(config, problems);
    if (!err)
        err = hl_alert_check(config, problems);
    if (!err)
        err = settle_retries(config, problems);
    return err ? err : check_app_user(config, problems);
}
