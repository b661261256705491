#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/config.h"
#include "config/endpoint.h"

static struct hl_config *config;
static struct hl_buf problems, warnings;

static enum hl_err load(char *const *variables)
{
    return hl_config_load(&config, variables, &problems, &warnings);
}

#define LOAD(...) load((char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void end(void)
{
    hl_config_free(config);
    hl_buf_fini(&problems);
    hl_buf_fini(&warnings);
}

TestSuite(config, .fini = end);

static size_t count_lines(const struct hl_buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->p[i] == '\n';
    return n;
}

static bool has(const struct hl_buf *b, const char *needle)
{
    return b->n > 0 && memmem(b->p, b->n, needle, strlen(needle)) != NULL;
}

Test(config, has_the_defaults_of_the_specification)
{
    cr_assert_eq(LOAD("PATH=/bin"), HL_OK);
    cr_assert_eq(problems.n + warnings.n, 0);
    cr_assert_eq(config->listen.n, 1);
    cr_assert_str_eq(config->listen.items[0].text, "0.0.0.0:8080");
    cr_assert_str_eq(config->admin_listen.items[0].text, "127.0.0.1:9090");
    cr_assert_str_eq(config->app_run_path.p, "/run");
    cr_assert_str_eq(config->service_name.p, "Service");
    cr_assert_str_eq(config->project_id.p, "");
    cr_assert_eq(config->passthrough, true);
    cr_assert_eq(config->webhook_https_only, false);
    cr_assert_eq(config->trusted_proxies.n + config->webhook_allow.n, 0);
    cr_assert_eq(config->store, HL_STORE_SQLITE);
    cr_assert_eq(config->log_level, HL_LOG_INFO);
    cr_assert_eq(config->response_grace_period_ms, 15 * 60 * 1000);
    cr_assert_eq(config->retention_ms, 72 * 3600 * 1000);
    cr_assert_eq(config->sse_heartbeat_ms, 15000);
    cr_assert_eq(config->connect_timeout_ms, 10000);
    cr_assert_eq(config->app_start_timeout_ms, 1800000);
    cr_assert_eq(config->head_timeout_ms, 10000);
    cr_assert_eq(config->body_timeout_ms, 60000);
    cr_assert_eq(config->keepalive_timeout_ms, 75000);
    cr_assert_eq(config->write_timeout_ms, 60000);
    cr_assert_eq(config->app_idle_timeout_ms, 0);
    cr_assert_eq(config->shutdown_delay_ms, 5000);
    cr_assert_eq(config->app_queue_timeout_ms, 30000);
    cr_assert_eq(config->webhook_timeout_ms, 30000);
    cr_assert_eq(config->max_head, 65536);
    cr_assert_eq(config->max_request_body, 64 << 20);
    cr_assert_eq(config->max_sync_body, 0);
    cr_assert_eq(config->max_kept_response, 64 << 20);
    cr_assert_eq(config->store_max_bytes.percent, 80);
    cr_assert_eq(config->store_max_bytes.bytes, 0);
    cr_assert_eq(config->app_concurrency, 0);
    cr_assert_eq(config->app_queue, 1000);
    cr_assert_eq(config->async_concurrency, 64);
    cr_assert_eq(config->run_attempts, 1);
    cr_assert_eq(config->max_queued_runs, 100000);
    cr_assert_eq(config->max_pending_deliveries, 100000);
    cr_assert_eq(config->webhook_attempts, 3);
    cr_assert_eq(config->webhook_concurrency, 256);
    cr_assert_eq(config->webhook_per_host, 0);
    cr_assert_eq(config->key.n + config->previous_key.n + config->postgres_url.n, 0);
    cr_assert_str_eq(config->postgres_schema.p, "hookline");
    cr_assert_eq(config->replica_ttl_ms, 60000);
    cr_assert_eq(config->replica_url.n, 0);
    cr_assert_eq(config->stream_keep, HL_STREAM_KEEP_ASK);
    cr_assert_eq(config->stream_keep_max_bytes.percent, 10);
    cr_assert_eq(config->stream_retention_ms, 3600 * 1000);
    cr_assert_eq(config->max_followers, 1000);
    cr_assert_eq(config->postgres_unsafe, false);
    cr_assert_eq(config->postgres_prepare, true);
}

Test(config, decides_what_was_left_to_it)
{
    cr_assert_eq(LOAD("HOOKLINE_RESPONSE_GRACE_PERIOD=1h", "HOOKLINE_APP_CONCURRENCY=4"), HL_OK);
    cr_assert_eq(config->app_head_timeout_ms, 3600000);
    cr_assert_eq(config->drain_timeout_ms, 3600000);
    cr_assert_eq(config->async_concurrency, 4);
    cr_assert_geq(config->workers, 1);
    cr_assert_geq(config->max_connections, 1);
    cr_assert_str_eq(config->data_dir.p, geteuid() == 0 ? "/var/lib/hookline" : "./hookline-data");
    cr_assert(config->log_format == HL_LOG_JSON || config->log_format == HL_LOG_PLAIN);
    char host[HL_REPLICA_MAX + 1];
    hl_replica_by_host(host);
    cr_assert_str_eq(config->replica.p, host);
}

Test(config, keeps_what_was_set)
{
    cr_assert_eq(LOAD("HOOKLINE_DRAIN_TIMEOUT=30s", "HOOKLINE_APP_HEAD_TIMEOUT=5s",
                     "HOOKLINE_WORKERS=3", "HOOKLINE_MAX_CONNECTIONS=7", "HOOKLINE_DATA_DIR=/data",
                     "HOOKLINE_LOG_FORMAT=text", "HOOKLINE_STORE=memory",
                     "HOOKLINE_WEBHOOK_ALLOW=10.0.0.0/8,::1", "HOOKLINE_STORE_MAX_BYTES=2GiB",
                     "HOOKLINE_APP_URL=unix:/run/a.sock", "HOOKLINE_PASSTHROUGH=off"),
        HL_OK);
    cr_assert_eq(config->drain_timeout_ms, 30000);
    cr_assert_eq(config->app_head_timeout_ms, 5000);
    cr_assert_eq(config->workers, 3);
    cr_assert_eq(config->max_connections, 7);
    cr_assert_str_eq(config->data_dir.p, "/data");
    cr_assert_eq(config->log_format, HL_LOG_PLAIN);
    cr_assert_eq(config->store, HL_STORE_MEMORY);
    cr_assert_eq(config->webhook_allow.n, 2);
    cr_assert_eq(config->store_max_bytes.bytes, UINT64_C(2) << 30);
    cr_assert_eq(config->store_max_bytes.percent, 0);
    cr_assert_str_eq(config->app_url.path, "/run/a.sock");
    cr_assert_eq(config->passthrough, false);
}

Test(config, takes_webhooks_of_a_preset_for_what_nobody_says)
{
    cr_assert_eq(LOAD("HOOKLINE_WEBHOOK_PRESET=production"), HL_OK);
    cr_assert_str_eq(config->webhook_schedule.p, "5s,1m,10m,1h,6h");
    cr_assert_str_eq(config->webhook_retry_on.p, "network,404,408,425,429,5xx");
    cr_assert_eq(config->schedule.n, 5);
    cr_assert_eq(config->schedule.longest_ms, 6 * 3600 * 1000);
    cr_assert_eq(config->webhook_attempts, 6);
    cr_assert_not(config->retried.other);
    cr_assert_eq(config->webhook_timeout_ms, 30000);
}

Test(config, lets_what_is_said_win_over_a_preset)
{
    cr_assert_eq(LOAD("HOOKLINE_WEBHOOK_SCHEDULE=2s", "HOOKLINE_WEBHOOK_PRESET=production",
                     "HOOKLINE_WEBHOOK_RETRY_ON="),
        HL_OK);
    cr_assert_str_eq(config->webhook_schedule.p, "2s");
    cr_assert_str_eq(config->webhook_retry_on.p, "network,404,408,425,429,5xx");
    cr_assert_eq(config->webhook_attempts, 2);
    hl_config_free(config);
    cr_assert_eq(LOAD("HOOKLINE_WEBHOOK_PRESET=production", "HOOKLINE_WEBHOOK_ATTEMPTS=9",
                     "HOOKLINE_WEBHOOK_RETRY_ON=network,404,other"),
        HL_OK);
    cr_assert_eq(config->schedule.n, 5);
    cr_assert_eq(config->webhook_attempts, 9);
    cr_assert(config->retried.other);
    cr_assert_not(config->retried.statuses[503]);
}

Test(config, refuses_a_preset_that_there_is_not_with_the_list)
{
    cr_assert_eq(LOAD("HOOKLINE_WEBHOOK_PRESET=staging"), HL_ERR_INVALID);
    cr_assert_eq(count_lines(&problems), 1);
    cr_assert(has(&problems, "HOOKLINE_WEBHOOK_PRESET: \"staging\" is not allowed; allowed: "));
    cr_assert(has(&problems, "contract") && has(&problems, "production"));
}

Test(config, counts_an_empty_value_as_not_set)
{
    cr_assert_eq(LOAD("HOOKLINE_DRAIN_TIMEOUT=", "HOOKLINE_LISTEN=", "HOOKLINE_MAX_HEAD="), HL_OK);
    cr_assert_str_eq(config->listen.items[0].text, "0.0.0.0:8080");
    cr_assert_eq(config->max_head, 65536);
}

Test(config, reports_every_wrong_variable_on_a_line_of_its_own)
{
    cr_assert_eq(LOAD("HOOKLINE_HEAD_TIMEOUT=10", "HOOKLINE_WORKERS=many", "HOOKLINE_RETENTION=72h",
                     "HOOKLINE_STORE=disk\nHOOKLINE_FORGED: x"),
        HL_ERR_INVALID);
    cr_assert_null(config);
    cr_assert_eq(count_lines(&problems), 3);
    cr_assert(has(&problems,
        "HOOKLINE_HEAD_TIMEOUT: \"10\" is not allowed; allowed: a duration from 1ms to 1h"));
    cr_assert(has(&problems,
        "HOOKLINE_WORKERS: \"many\" is not allowed; allowed: a whole number from 0 to 256\n"));
    cr_assert(has(&problems, "HOOKLINE_STORE: \"disk\\x0aHOOKLINE_FORGED: x\" is not allowed; "
                             "allowed: sqlite, memory or postgres\n"));
}

Test(config, cuts_a_long_wrong_value)
{
    static char entry[5000];
    int n = snprintf(entry, sizeof(entry), "HOOKLINE_WORKERS=");
    memset(entry + n, 'x', sizeof(entry) - (size_t)n - 1);
    cr_assert_eq(LOAD(entry), HL_ERR_INVALID);
    cr_assert_lt(problems.n, 400);
}

Test(config, never_shows_a_wrong_secret)
{
    cr_assert_eq(LOAD("HOOKLINE_WEBHOOK_SECRET=whsec_geheim!"), HL_ERR_INVALID);
    cr_assert(has(&problems, "HOOKLINE_WEBHOOK_SECRET: **** is not allowed; allowed: 1 to 1024"));
    cr_assert_not(has(&problems, "geheim"));
}

Test(config, never_shows_a_password_in_a_wrong_url)
{
    cr_assert_eq(LOAD("HOOKLINE_APP_URL=http://me:geheim@127.0.0.1:8000",
                     "HOOKLINE_JWT_JWKS_URL=https://me:ge/heim@keys.test/jwks",
                     "HOOKLINE_CORS_ORIGINS=https://app.test,https://me:geheim@b.test"),
        HL_ERR_INVALID);
    cr_assert(has(&problems, "HOOKLINE_APP_URL: \"http://****@127.0.0.1:8000\" is not allowed"));
    cr_assert(has(&problems, "HOOKLINE_JWT_JWKS_URL: \"https://****@keys.test/jwks\" is not"));
    cr_assert(has(&problems, "HOOKLINE_CORS_ORIGINS: \"https://****@b.test\" is not allowed"));
    cr_assert_not(has(&problems, "heim"));
}

Test(config, warns_of_names_that_are_not_in_capitals)
{
    cr_assert_eq(LOAD("hookline_listen=x", "Hookline_Webhook_Secret_File=geheim",
                     "hookline_root=/x", "hooklin=x"),
        HL_OK);
    cr_assert_eq(count_lines(&warnings), 2);
    cr_assert(has(&warnings, "hookline_listen has no effect: settings are written in capitals, "
                             "HOOKLINE_LISTEN\n"));
    cr_assert(has(&warnings, "Hookline_Webhook_Secret_File has no effect"));
    cr_assert_not(has(&warnings, "geheim"));
}

Test(config, warns_of_unknown_names_with_the_nearest_known_one)
{
    cr_assert_eq(LOAD("HOOKLINE_WEBHOK_SECRET=geheim", "HOOKLINE_WORKERS_FILE=/x"), HL_OK);
    cr_assert_eq(count_lines(&warnings), 2);
    cr_assert(has(&warnings, "HOOKLINE_WEBHOK_SECRET is unknown and has no effect; the nearest "
                             "name is HOOKLINE_WEBHOOK_SECRET\n"));
    cr_assert(has(&warnings, "HOOKLINE_WORKERS_FILE is unknown"));
    cr_assert_not(has(&warnings, "geheim"));
}

Test(config, passes_over_what_kubernetes_injects_and_what_is_not_its_own)
{
    cr_assert_eq(LOAD("HOOKLINE_SERVICE_HOST=10.0.0.1", "HOOKLINE_SERVICE_PORT=80",
                     "HOOKLINE_SERVICE_PORT_HTTP=80", "HOOKLINE_PORT=tcp://10.0.0.1:80",
                     "HOOKLINE_PORT_80_TCP=tcp://10.0.0.1:80", "HOOKLINE_PORT_80_TCP_ADDR=10.0.0.1",
                     "HOOKLINEX=1", "HOOKLINE_NO_EQUALS", "MY_HOOKLINE_WORKERS=bad"),
        HL_OK);
    cr_assert_eq(warnings.n, 0);
}

static char secret_path[] = "/tmp/hookline-secret-XXXXXX";
static char secret_entry[128];

static void write_secret(const char *content, size_t n)
{
    int fd = mkstemp(secret_path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, content, n), (ssize_t)n);
    close(fd);
    snprintf(secret_entry, sizeof(secret_entry), "HOOKLINE_WEBHOOK_SECRET_FILE=%s", secret_path);
}

Test(config, reads_a_secret_from_a_file_without_its_newline)
{
    write_secret("from a file \r\n", 14);
    cr_assert_eq(LOAD(secret_entry), HL_OK);
    unlink(secret_path);
    cr_assert_str_eq(config->webhook_secret.p, "from a file ");
    cr_assert_eq(config->webhook_secret.n, 12);
}

static void expect_secret(const char *variable, const char *content, const char *secret)
{
    char entry[256];
    snprintf(entry, sizeof(entry), "HOOKLINE_%s_SECRET=%s", variable, content);
    cr_assert_eq(LOAD(entry), HL_OK, "%s", content);
    cr_expect_str_eq(*variable == 'J' ? config->jwt_secret.p : config->webhook_secret.p, secret);
    end();
    write_secret(content, strlen(content));
    snprintf(entry, sizeof(entry), "HOOKLINE_%s_SECRET_FILE=%s", variable, secret_path);
    cr_assert_eq(LOAD(entry), HL_OK, "%s", content);
    unlink(secret_path);
    cr_expect_str_eq(*variable == 'J' ? config->jwt_secret.p : config->webhook_secret.p, secret);
    strcpy(secret_path + strlen(secret_path) - 6, "XXXXXX");
    end();
    config = NULL;
}

Test(config, takes_off_what_editors_and_shells_put_around_a_secret)
{
    const char *const frames[][2] = {{"", ""}, {"", "\n"}, {"", "\r\n"}, {"", "\n\n"},
        {"\xef\xbb\xbf", ""}, {"\xef\xbb\xbf", "\r\n\r\n"}};
    static const char secret[] = "  thirty-two bytes, at \t least, and an umlaut: \xc3\xbc  ";
    char text[128];
    for (size_t i = 0; i < HL_ARRAY_LEN(frames); i++) {
        snprintf(text, sizeof(text), "%s%s%s", frames[i][0], secret, frames[i][1]);
        expect_secret("JWT", text, secret);
        expect_secret("WEBHOOK", text, secret);
    }
}

Test(config, says_where_in_a_secret_is_what_nobody_means)
{
#define LONG "thirty-two bytes without a secret in them"
    static const struct {
        char *entry;
        const char *fault;
    } cases[] = {{"HOOKLINE_JWT_SECRET=\n" LONG, "JWT_SECRET: **** (byte 1 is a line break)"},
        {"HOOKLINE_JWT_SECRET=" LONG "\n" LONG "\n", "(byte 42 is a line break)"},
        {"HOOKLINE_JWT_SECRET=" LONG "\xef\xbb\xbf", "(byte 42 is a byte order mark)"},
        {"HOOKLINE_JWT_SECRET=" LONG "\x1b[0m", "(byte 42 is a control character)"},
        {"HOOKLINE_JWT_SECRET=\xff\xfe" LONG, "(bytes 1 and 2 are the mark of UTF-16"},
        {"HOOKLINE_JWT_SECRET=\n\n", "JWT_SECRET: **** is not allowed"},
        {"HOOKLINE_WEBHOOK_SECRET=a\rb", "WEBHOOK_SECRET: **** (byte 2 is a line break)"},
        {"HOOKLINE_WEBHOOK_SECRET=a\xef\xbb\xbf", "(byte 2 is a byte order mark)"},
        {"HOOKLINE_KEY=0123\n4567", "KEY: **** (byte 5 is a line break)"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert_eq(LOAD(cases[i].entry), HL_ERR_INVALID, "%s", cases[i].fault);
        cr_expect(has(&problems, cases[i].fault), "%s", cases[i].fault);
        cr_expect_not(has(&problems, "thirty"));
    }
    cr_assert_eq(LOAD("HOOKLINE_JWT_SECRET=" LONG "\xff\n\x01"), HL_OK, "bytes that are no text");
}

Test(config, refuses_files_that_hold_no_secret)
{
    write_secret("a\0b\n", 4);
    cr_assert_eq(LOAD(secret_entry), HL_ERR_INVALID);
    cr_assert(has(&problems, "HOOKLINE_WEBHOOK_SECRET_FILE: **** (byte 2 is NUL) is not allowed"));
    cr_assert_eq(truncate(secret_path, 0), 0);
    cr_assert_eq(LOAD(secret_entry), HL_ERR_INVALID);
    cr_assert(has(&problems, "\" is empty\n"));
    cr_assert_eq(truncate(secret_path, 100000), 0);
    cr_assert_eq(LOAD(secret_entry), HL_ERR_INVALID);
    cr_assert(has(&problems, "too large"));
    unlink(secret_path);
    cr_assert_eq(LOAD(secret_entry), HL_ERR_INVALID);
    cr_assert(has(&problems, "\" cannot be read\n"));
    cr_assert_eq(count_lines(&problems), 4);
}

Test(config, refuses_a_secret_that_is_given_twice)
{
    cr_assert_eq(LOAD("HOOKLINE_WEBHOOK_SECRET=geheim", "HOOKLINE_WEBHOOK_SECRET_FILE=/dev/null"),
        HL_ERR_INVALID);
    cr_assert(has(&problems, "are both set"));
    cr_assert_not(has(&problems, "geheim"));
}

#define KEY "HOOKLINE_KEY=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define URL "HOOKLINE_POSTGRES_URL=postgres://me:geheim@db/hookline"

Test(config, takes_what_replicas_share)
{
    cr_assert_eq(LOAD("HOOKLINE_STORE=postgres", URL, KEY, "HOOKLINE_REPLICA=words-0",
                     "HOOKLINE_REPLICA_TTL=3s"),
        HL_OK);
    cr_assert_eq(problems.n + warnings.n, 0);
    cr_assert_eq(config->store, HL_STORE_POSTGRES);
    cr_assert_str_eq(config->postgres_url.p, "postgres://me:geheim@db/hookline");
    cr_assert_str_eq(config->key.p, &KEY[strlen("HOOKLINE_KEY=")]);
    cr_assert_str_eq(config->replica.p, "words-0");
    cr_assert_eq(config->replica_ttl_ms, 3000);
}

Test(config, leaves_the_shared_key_in_its_file)
{
    cr_assert_eq(LOAD("HOOKLINE_STORE=postgres", URL, "HOOKLINE_KEY_FILE=/no/key"), HL_OK);
    cr_assert_str_eq(config->key_file.p, "/no/key");
    cr_assert_eq(config->key.n, 0);
}

Test(config, says_what_postgres_needs_on_a_line_each)
{
    cr_assert_eq(LOAD("HOOKLINE_STORE=postgres"), HL_ERR_INVALID);
    cr_assert_eq(count_lines(&problems), 2);
    cr_assert(has(&problems, "HOOKLINE_POSTGRES_URL: not set"));
    cr_assert(has(&problems, "HOOKLINE_KEY: not set"));
    cr_assert(has(&problems, "hookline key create prints a new one\n"));
}

Test(config, says_once_what_is_wrong_with_what_postgres_needs)
{
    cr_assert_eq(LOAD("HOOKLINE_STORE=postgres", "HOOKLINE_POSTGRES_URL=geheim", "HOOKLINE_KEY=1"),
        HL_ERR_INVALID);
    cr_assert_eq(count_lines(&problems), 2);
    cr_assert(has(&problems, "HOOKLINE_POSTGRES_URL: **** is not allowed; allowed: "));
    cr_assert(has(&problems, "HOOKLINE_KEY: **** is not allowed; allowed: 64 hexadecimal digits"));
    cr_assert_not(has(&problems, "geheim"));
    problems.n = 0;
    cr_assert_eq(
        LOAD("HOOKLINE_STORE=postgres", KEY, "HOOKLINE_POSTGRES_URL_FILE=/no/url"), HL_ERR_INVALID);
    cr_assert_eq(count_lines(&problems), 1);
    cr_assert(has(&problems, "HOOKLINE_POSTGRES_URL_FILE: \"/no/url\" cannot be read\n"));
}

Test(config, refuses_a_key_that_is_given_twice)
{
    cr_assert_eq(
        LOAD("HOOKLINE_STORE=postgres", URL, KEY, "HOOKLINE_KEY_FILE=/no/key"), HL_ERR_INVALID);
    cr_assert_eq(count_lines(&problems), 1);
    cr_assert(has(&problems, "HOOKLINE_KEY: **** and HOOKLINE_KEY_FILE are both set"));
}

Test(config, refuses_a_key_that_the_embedded_store_would_pass_over)
{
    cr_assert_eq(LOAD(KEY), HL_ERR_INVALID);
    cr_assert_eq(count_lines(&problems), 1);
    cr_assert(has(&problems, "HOOKLINE_KEY: has no effect with HOOKLINE_STORE=sqlite"));
    problems.n = 0;
    cr_assert_eq(LOAD(KEY, "HOOKLINE_STORE=memory"), HL_OK);
}

Test(config, asks_nothing_of_the_database_for_another_store)
{
    cr_assert_eq(LOAD(URL, "HOOKLINE_POSTGRES_PREPARE=off"), HL_OK);
    cr_assert_eq(problems.n + warnings.n, 0);
}

Test(config, refuses_a_ca_file_that_it_cannot_read)
{
    cr_assert_eq(LOAD("HOOKLINE_WEBHOOK_CA_FILE=/nonexistent/ca.pem"), HL_ERR_INVALID);
    cr_assert(has(&problems, "HOOKLINE_WEBHOOK_CA_FILE: \"/nonexistent/ca.pem\" cannot be read"));
}

Test(config, reports_on_one_line_whatever_is_in_a_name_or_path)
{
    cr_assert_eq(LOAD("HOOKLINE_A\x1b[31m\nHOOKLINE_B=1", "HOOKLINE_WEBHOOK_CA_FILE=/a\n\x1b"),
        HL_ERR_INVALID);
    cr_assert_eq(count_lines(&warnings), 1);
    cr_assert(has(&warnings, "HOOKLINE_A\\x1b[31m\\x0aHOOKLINE_B is unknown"));
    cr_assert_eq(count_lines(&problems), 1);
    cr_assert(has(&problems, "HOOKLINE_WEBHOOK_CA_FILE: \"/a\\x0a\\x1b\" cannot be read"));
}

Test(config, leaves_settings_of_function_hosts_alone)
{
    cr_assert_eq(LOAD("HOOKLINE_FUNCTION_CONCURRENCY=2", "HOOKLINE_FUNCTION_ENVELOPE=on"), HL_OK);
    cr_assert_eq(warnings.n, 0);
}

Test(config, refuses_a_user_that_cannot_be_used)
{
    cr_assert_eq(LOAD("HOOKLINE_APP_USER=daemon"), HL_ERR_INVALID);
    cr_assert(has(&problems, "HOOKLINE_APP_USER: \"daemon\" has no effect"));
    problems.n = 0;
    cr_assert_eq(
        LOAD("HOOKLINE_APP_COMMAND=true", "HOOKLINE_APP_USER=no-such-user"), HL_ERR_INVALID);
    cr_assert(has(&problems, "is not a user of this system"));
    cr_assert_eq(count_lines(&problems), 1);
    problems.n = 0;
    if (geteuid() == 0)
        cr_assert_eq(setresuid(1, 1, 1), 0);
    cr_assert_eq(LOAD("HOOKLINE_APP_COMMAND=true", "HOOKLINE_APP_USER=daemon"), HL_ERR_INVALID);
    cr_assert(has(&problems, "needs root"));
}

Test(config, says_where_others_reach_a_replica_unless_it_is_told)
{
    cr_assert_eq(LOAD("HOOKLINE_STORE=postgres", URL, KEY, "HOOKLINE_LISTEN=10.1.2.3:8081"), HL_OK);
    cr_assert_str_eq(config->replica_url.p, "http://10.1.2.3:8081");
    hl_config_free(config);
    cr_assert_eq(LOAD("HOOKLINE_STORE=postgres", URL, KEY, "HOOKLINE_LISTEN=10.1.2.3:8081",
                     "HOOKLINE_REPLICA_URL=http://words-0:80"),
        HL_OK);
    cr_assert_str_eq(config->replica_url.p, "http://words-0:80");
}

Test(config, says_what_settings_of_streams_may_be)
{
    static const struct {
        const char *variable, *said;
    } cases[] = {
        {"HOOKLINE_STREAM_KEEP=some", "ask, all or off"},
        {"HOOKLINE_STREAM_KEEP_MAX_BYTES=0", "HOOKLINE_STREAM_KEEP_MAX_BYTES"},
        {"HOOKLINE_STREAM_RETENTION=1ms", "from 1s to 3650d"},
        {"HOOKLINE_MAX_FOLLOWERS=1000001", "from 0 to 1000000"},
        {"HOOKLINE_REPLICA_URL=ftp://a:1", "https://, a host and a port, and nothing after them"},
        {"HOOKLINE_REPLICA_URL=https://a:1", "https:// where the run listener speaks TLS"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert_eq(LOAD((char *)cases[i].variable), HL_ERR_INVALID, "%s", cases[i].variable);
        cr_assert_eq(count_lines(&problems), 1);
        cr_assert(has(&problems, cases[i].said), "%.*s", HL_STR_ARG(hl_buf_str(&problems)));
        hl_buf_drop(&problems, problems.n);
    }
}
