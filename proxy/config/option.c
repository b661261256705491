/* option.c - the one table of settings, and the rules for those that are texts.
 * A new setting is a field in config.h and a row here; nothing else names it. */
#include "config/option.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "config/access.h"
#include "config/command.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "config/postgres_url.h"
#include "config/secret.h"
#include "config/webhook_setting.h"
#include "http/byte.h"
#include "http/url.h"

#define SECOND 1000
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (UINT64_C(24) * HOUR)
#define KIB    (UINT64_C(1) << 10)
#define MIB    (UINT64_C(1) << 20)
#define TIB    (UINT64_C(1) << 40)

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Part of a field name: tchar of RFC 9110 5.6.2. */
static bool is_service_name(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!is_letter_or_digit(text.p[i]) && !memchr("!#$%&'*+-.^_`|~", text.p[i], 15))
            return false;
    }
    return text.n >= 1 && text.n <= 64;
}

static bool is_readable_name(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return false;
    return text.n <= 128 && hl_utf8_is_valid(text);
}

static bool is_target(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] <= ' ' || text.p[i] > '~' || text.p[i] == '#')
            return false;
    }
    return text.n >= 1 && text.n <= 1024 && text.p[0] == '/';
}

/* Of a server that is asked to do something: GET and HEAD promise that they do nothing (RFC 9110 9.2.1), but not every server
 * keeps that. */
static bool is_request(struct hl_str text)
{
    static const char *const methods[] = {"POST ", "GET ", "PUT ", "PATCH "};
    for (size_t i = 0; i < HL_ARRAY_LEN(methods); i++) {
        struct hl_str method = hl_str_from(methods[i]);
        if (hl_str_starts_with(text, method))
            return is_target((struct hl_str){text.p + method.n, text.n - method.n});
    }
    return false;
}

static bool is_path_target(struct hl_str text)
{
    return is_target(text) && !memchr(text.p, '?', text.n);
}

static bool is_public_url(struct hl_str text)
{
    struct hl_url url;
    return text.n <= HL_PUBLIC_URL_MAX && hl_url_parse(text, &url) && !url.has_userinfo &&
           !memchr(text.p, '?', text.n) && !memchr(text.p, '#', text.n);
}

static bool is_replica_url(struct hl_str text)
{
    struct hl_url url;
    return text.n <= HL_REPLICA_URL_MAX && hl_url_parse(text, &url) && !url.has_userinfo &&
           url.port != 0 && !memchr(text.p, '#', text.n) &&
           (url.path_and_query.n == 0 || hl_str_eq(url.path_and_query, HL_STR("/")));
}

static bool is_file_path(struct hl_str text)
{
    return text.n >= 1 && text.n < 4096;
}

static bool is_command(struct hl_str text)
{
    struct hl_command command;
    enum hl_err err = hl_command_parse(text, &command);
    hl_command_fini(&command);
    return err != HL_ERR_INVALID;
}

static bool is_user(struct hl_str text)
{
    return text.n < HL_USER_TEXT && !memchr(text.p, '\0', text.n);
}

static bool is_webhook_secret(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return hl_secret_text_is_sound(text) && hl_webhook_secret_is_valid(text);
}

#define LONGEST_URL 2048

/* The @ ends them: another one is written as %40. Controls stand for nothing that is typed. */
static bool has_sound_credentials(struct hl_str text)
{
    const char *at = memchr(text.p, '@', text.n);
    if (at && memchr(at + 1, '@', text.n - (size_t)(at + 1 - text.p)))
        return false;
    for (size_t i = 0; i + 2 < text.n; i++)
        if (text.p[i] == '%' && (text.p[i + 1] < '2' || memcmp(text.p + i + 1, "7f", 2) == 0 ||
                                    memcmp(text.p + i + 1, "7F", 2) == 0))
            return false;
    return true;
}

static bool is_proxy_url(struct hl_str text)
{
    struct hl_url url;
    return has_sound_credentials(text) && text.n <= LONGEST_URL && hl_url_parse(text, &url) &&
           url.port != 0 && !memchr(text.p, '#', text.n) &&
           (url.path_and_query.n == 0 || hl_str_eq(url.path_and_query, HL_STR("/")));
}

static bool is_keys_url(struct hl_str text)
{
    struct hl_url url;
    return text.n <= LONGEST_URL && hl_url_parse(text, &url) && !url.has_userinfo && url.port != 0;
}

/* RFC 7518 3.2: a key of the same size as the hash output or larger. */
static bool is_jwt_secret(struct hl_str text)
{
    return text.n >= 32 && text.n <= 4096 && hl_secret_text_is_sound(text);
}

static bool is_claim_text(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return false;
    }
    return text.n <= 1024;
}

static bool is_limit_list(struct hl_str text)
{
    struct hl_limits limits = HL_LIMITS_NONE;
    return hl_limits_parse(text, &limits);
}

static bool is_limit_claim_list(struct hl_str text)
{
    struct hl_str claims[HL_LIMIT_COUNT];
    return is_claim_text(text) && hl_limit_names_parse(text, claims);
}

/* Of 32 bytes. */
static bool is_key(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!hl_byte_is(text.p[i], HL_BYTE_HEX))
            return false;
    }
    return text.n == 64;
}

/* One that needs no quotes, and that PostgreSQL does not keep for itself (its manual, "System
 * Catalogs": pg_). */
static bool is_schema(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        bool is_digit = hl_byte_is(text.p[i], HL_BYTE_DIGIT);
        if (!(text.p[i] >= 'a' && text.p[i] <= 'z') && text.p[i] != '_' && !(is_digit && i > 0))
            return false;
    }
    return text.n <= 63 && !hl_str_starts_with(text, HL_STR("pg_"));
}

/* In the order of the enums that they stand for. */
static const char *const auth_words[] = {[HL_AUTH_JWT] = "jwt", [HL_AUTH_NONE] = "none", NULL};
static const char *const admin_auth_words[] = {[HL_ADMIN_AUTH_AUTO] = "auto",
    [HL_ADMIN_AUTH_TOKEN] = "token",
    [HL_ADMIN_AUTH_NONE] = "none",
    NULL};
static const char *const caller_gone_words[] = {
    [HL_CALLER_GONE_CANCEL] = "cancel", [HL_CALLER_GONE_FINISH] = "finish", NULL};
const char *const hl_replica_role_words[] = {
    [HL_REPLICA_ALL] = "all", [HL_REPLICA_FRONT] = "front", [HL_REPLICA_WORKER] = "worker", NULL};
static const char *const gate_words[] = {[HL_APP_GATE_START] = "start",
    [HL_APP_GATE_ALWAYS] = "always",
    [HL_APP_GATE_OFF] = "off",
    NULL};
static const char *const keep_words[] = {[HL_KEEP_REQUESTS_FAILED] = "failed",
    [HL_KEEP_REQUESTS_ALL] = "all",
    [HL_KEEP_REQUESTS_NONE] = "none",
    NULL};
static const char *const stream_words[] = {
    [HL_STREAM_KEEP_ASK] = "ask", [HL_STREAM_KEEP_ALL] = "all", [HL_STREAM_KEEP_OFF] = "off", NULL};
const char *const hl_store_words[] = {[HL_STORE_SQLITE] = "sqlite",
    [HL_STORE_MEMORY] = "memory",
    [HL_STORE_POSTGRES] = "postgres",
    NULL};
static const char *const preset_words[] = {
    [HL_WEBHOOK_PRESET_CONTRACT] = "contract", [HL_WEBHOOK_PRESET_PRODUCTION] = "production", NULL};
static const char *const payload_words[] = {
    [HL_WEBHOOK_PAYLOAD_FULL] = "full", [HL_WEBHOOK_PAYLOAD_THIN] = "thin", NULL};
static const char *const resolve_words[] = {
    [HL_PROXY_RESOLVE_HOOKLINE] = "hookline", [HL_PROXY_RESOLVE_PROXY] = "proxy", NULL};
static const char *const level_words[] = {[HL_LOG_DEBUG] = "debug",
    [HL_LOG_INFO] = "info",
    [HL_LOG_WARN] = "warn",
    [HL_LOG_ERROR] = "error",
    NULL};
static const char *const format_words[] = {
    [HL_LOG_JSON] = "json", [HL_LOG_PLAIN] = "text", [HL_LOG_FORMAT_AUTO] = "auto", NULL};

#define PATH_NAME_ALLOWED "1 to 128 of A-Z a-z 0-9 . _ - but not . or .."
#define FILE_ALLOWED      "a path of at most 4095 bytes"
#define KEY_ALLOWED       "64 hexadecimal digits"
#define CLAIM_ALLOWED     "at most 1024 bytes without control characters"
#define REQUEST_ALLOWED   "POST, GET, PUT or PATCH and a path of at most 1024 bytes, such as "
#define SHARE_ALLOWED(of) "1% to 100% of " of ", or a size from 1MiB on, such as 16MiB or 20GiB"

/* HOOKLINE_WEBHOOK_PRESET=production */
#define PRODUCTION_SCHEDULE "5s,1m,10m,1h,6h"
#define PRODUCTION_RETRY_ON "network,404,408,425,429,5xx"

#define ROW(kind, variable, field, value)                                                          \
    .name = "HOOKLINE_" variable, .type = HL_OPTION_##kind,                                        \
    .offset = offsetof(struct hl_config, field), .initial = (value)

/* clang-format off */
const struct hl_option hl_options[] = {
    /* listeners and routes */
    {ROW(LISTEN, "LISTEN", listen, "0.0.0.0:8080"),
        .help = "where calls are accepted"},
    {ROW(LISTEN, "ADMIN_LISTEN", admin_listen, "127.0.0.1:9090"),
        .help = "where health, metrics, the REST interface and the dashboard are served"},
    {ROW(TEXT, "TLS_CERT_FILE", tls_cert_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "the run listener speaks TLS with this certificate (PEM, its chain behind it); read again when it changes"},
    {ROW(TEXT, "TLS_KEY_FILE", tls_key_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "its private key (PEM, not encrypted)"},
    {ROW(TEXT, "TLS_CLIENT_CA_FILE", tls_client_ca_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "callers need a certificate that one of these CAs (PEM) has issued, or get 403, health checks excepted"},
    {ROW(SWITCH, "ADMIN_TLS", admin_tls, "off"),
        .help = "the admin listener speaks TLS, too, with HOOKLINE_TLS_CERT_FILE; it asks for no client certificates"},
    {ROW(TEXT, "PROJECT_ID", project_id, ""), .is_valid = hl_path_is_name, .allowed = PATH_NAME_ALLOWED,
        .help = "the only project served; calls to any other get 404"},
    {ROW(TEXT, "APP_NAME", app_name, ""), .is_valid = hl_path_is_name, .allowed = PATH_NAME_ALLOWED,
        .help = "the only app name served; calls to any other get 404"},
    {ROW(SWITCH, "PASSTHROUGH", passthrough, "on"),
        .help = "pass requests that are not runs through to the app"},
    {ROW(SWITCH, "OWN_PARAMETERS", own_parameters, "on"),
        .help = "refuse a parameter of a run whose name is async or webhookEndpoint but for case, _, - or one "
                "letter, as a mistake; off: it is passed to the app"},
    {ROW(TEXT, "PUBLIC_URL", public_url, ""), .is_valid = is_public_url,
        .allowed = "an absolute http or https URL without a query, of at most 1024 bytes",
        .help = "where callers reach hookline: makes the Location of a 202 absolute"},
    {ROW(TEXT, "PUBLIC_PATHS", public_paths, ""), .is_valid = hl_public_paths_are_valid,
        .allowed = "paths separated by commas, with * only at the end, such as /docs/*,/health; none below /v4, /v2/projects or /_hookline, none with // ; \\ a dot segment or an encoded / \\ . or NUL",
        .help = "the paths that are passed through without a token"},
    {ROW(RANGES, "TRUSTED_PROXIES", trusted_proxies, ""),
        .help = "peers whose X-Forwarded-*, Forwarded and X-Real-IP are kept and extended"},
    {ROW(ORIGINS, "CORS_ORIGINS", cors_origins, ""),
        .help = "web origins whose pages may call and read the answers"},

    /* who may call */
    {ROW(WORD, "AUTH", auth, "jwt"), .words = auth_words,
        .help = "how callers are authenticated; none: anyone who reaches the port may call"},
    {ROW(TEXT, "JWT_PROJECT_CLAIM", jwt_project_claim, "project_id"), .is_valid = is_claim_text, .has_empty = true,
        .allowed = CLAIM_ALLOWED,
        .help = "the claim that must equal the path's project; set and empty: tokens from outside reach every project"},
    {ROW(TEXT, "JWT_ROLE_CLAIM", jwt_role_claim, "role"), .is_valid = is_claim_text, .has_empty = true,
        .allowed = CLAIM_ALLOWED,
        .help = "the claim that may say admin or viewer; set and empty: tokens from outside are neither"},
    {ROW(TEXT, "JWT_JWKS_FILE", jwt_jwks_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "a file of the public keys (JWKS) that tokens from outside are signed with; read again when it changes"},
    {ROW(TEXT, "JWT_JWKS_URL", jwt_jwks_url, ""), .is_valid = is_keys_url,
        .allowed = "an absolute http or https URL without credentials, of at most 2048 bytes",
        .help = "the same from a URL, fetched every 5 minutes and when a token names an unknown key"},
    {ROW(TEXT, "JWT_CA_FILE", jwt_ca_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "certificate authorities (PEM) of the keys' server, besides the system's; read again when it changes"},
    {ROW(TEXT, "JWT_KEYS_TOKEN_FILE", jwt_keys_token_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "a bearer token that the keys' server wants to see, over https alone; read again for each fetch"},
    {ROW(TEXT, "JWT_SECRET", jwt_secret, ""), .is_valid = is_jwt_secret, .is_secret = true,
        .tell_fault = hl_secret_text_tell_fault, .allowed = "32 to 4096 bytes; no line breaks in a text",
        .help = "the secret that tokens from outside are signed with (HS256)"},
    {ROW(TEXT, "JWT_ISSUER", jwt_issuer, ""), .is_valid = is_claim_text, .allowed = CLAIM_ALLOWED,
        .help = "what the claim iss of tokens from outside must say; not set: anything; a URL without any other keys: they are found by its discovery document"},
    {ROW(TEXT, "JWT_AUDIENCE", jwt_audience, ""), .is_valid = is_claim_text, .allowed = CLAIM_ALLOWED,
        .help = "what the claim aud of tokens from outside must have; not set: anything"},
    {ROW(TEXT, "JWT_LIMITS", jwt_limits, ""), .is_valid = is_limit_list,
        .allowed = "limits of an account with commas between them, such as "
                   "max_running=4,max_queued=100,rate=100/m,max_priority=low",
        .help = "the limits of each subject of tokens from outside, as an account has them; not set: none"},
    {ROW(TEXT, "JWT_LIMIT_CLAIMS", jwt_limit_claims, ""), .is_valid = is_limit_claim_list,
        .allowed = "limits of an account and the claims that say them, such as max_running=app_running,rate=app_rate",
        .help = "the claims of tokens from outside that say a subject's limits, instead of HOOKLINE_JWT_LIMITS"},
    {ROW(SWITCH, "FORWARD_AUTHORIZATION", forward_authorization, "off"),
        .help = "pass the Authorization that was checked on to the app"},
    {ROW(WORD, "ADMIN_AUTH", admin_auth, "auto"), .words = admin_auth_words,
        .help = "whether the REST interface and the dashboard on the admin listener ask for a token; "
                "auto: unless HOOKLINE_AUTH is none and its address is a loopback one"},
    {ROW(TEXT, "ADMIN_HOSTS", admin_hosts, ""), .is_valid = hl_hookline_hosts_are_valid,
        .allowed = "names separated by commas, without ports, such as hookline.internal",
        .help = "names besides localhost that the admin listener answers to; others get 421"},

    {ROW(TEXT, "HOSTS", hosts, ""), .is_valid = hl_hookline_hosts_are_valid,
        .allowed = "names separated by commas, without ports, such as localhost or hookline.internal",
        .help = "names, besides addresses and localhost, that the run listener answers to (others: 421); cross-origin "
                "pages may then only read, unless HOOKLINE_CORS_ORIGINS allows more (403); not set: any name, any page"},

    /* the app */
    {ROW(APP_URL, "APP_URL", app_url, "http://127.0.0.1:8000"),
        .help = "where the app is"},
    {ROW(TEXT, "APP_CA_FILE", app_ca_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "the CAs (PEM) that the certificate of an https:// app must come from; read again when it changes; not set: the system's"},
    {ROW(TEXT, "APP_CLIENT_CERT_FILE", app_client_cert_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "the certificate (PEM, its chain behind it) that an https:// app is shown if it asks; read again when it changes"},
    {ROW(TEXT, "APP_CLIENT_KEY_FILE", app_client_key_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "its private key (PEM, not encrypted)"},
    {ROW(TEXT, "APP_RUN_PATH", app_run_path, "/run"), .is_valid = is_path_target,
        .allowed = "a path of at most 1024 bytes that begins with / and has no query",
        .help = "the app's path for its main function"},
    {ROW(TEXT, "APP_HEALTH_PATH", app_health_path, ""), .is_valid = is_target,
        .allowed = "a path of at most 1024 bytes that begins with /",
        .help = "the app is ready when this path answers 2xx; not set: when it takes connections"},
    {ROW(WORD, "APP_HEALTH_GATE", app_health_gate, "start"), .words = gate_words,
        .help = "with a health path: calls wait until it has answered 2xx once since the app's start; "
                "always: three bad checks in a row close the gate again; off: calls never wait for it"},
    {ROW(TEXT, "APP_WARMUP", app_warmup, ""), .is_valid = is_request,
        .allowed = REQUEST_ALLOWED "\"POST /run\"",
        .help = "asked once of each start of the app, after its first good check; calls wait until it is answered with 2xx"},
    {ROW(TEXT, "APP_WARMUP_BODY_FILE", app_warmup_body_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "the body that goes with HOOKLINE_APP_WARMUP"},
    {ROW(TEXT, "APP_COMMAND", app_command, ""), .is_valid = is_command,
        .allowed = "a line for /bin/sh, or a JSON array of strings, such as [\"python3\", \"app.py\"]",
        .help = "starts the app, and restarts it when it ends: a line for the shell, or a JSON array of words"},
    {ROW(TEXT, "APP_USER", app_user, ""), .is_valid = is_user, .allowed = "a user's name, or uid[:gid]",
        .help = "the user that HOOKLINE_APP_COMMAND runs as, a name or uid[:gid]; hookline must be root"},
    {ROW(SWITCH, "APP_LOG", app_log, "on"),
        .help = "log what the app of HOOKLINE_APP_COMMAND writes, whatever HOOKLINE_LOG_LEVEL is"},
    {ROW(DURATION, "APP_STOP_TIMEOUT", app_stop_timeout_ms, "10s"), .min = 1, .max = 12 * HOUR,
        .help = "from SIGTERM for the app of HOOKLINE_APP_COMMAND to SIGKILL"},
    {ROW(DURATION, "APP_START_LIMIT", app_start_limit_ms, "0"), .min = 1, .max = 12 * HOUR, .has_zero = true,
        .help = "an app of HOOKLINE_APP_COMMAND that is not ready so long after its start is killed and started again; 0: off"},
    {ROW(DURATION, "APP_RESTART_AFTER", app_restart_after_ms, "0"), .min = SECOND, .max = 12 * HOUR, .has_zero = true,
        .help = "an app of HOOKLINE_APP_COMMAND whose health path was bad for so long without a break is stopped and started "
                "again; never while it sends bytes; 0: off"},
    {ROW(DURATION, "APP_IDLE_STOP", app_idle_stop_ms, "0"), .min = 1, .max = 365 * DAY, .has_zero = true,
        .help = "an app of HOOKLINE_APP_COMMAND that nobody has used for so long is stopped, and started again by the next "
                "call or queued run; 0: off"},
    {ROW(DURATION, "APP_IDLE_SLEEP", app_idle_sleep_ms, "0"), .min = 1, .max = 365 * DAY, .has_zero = true,
        .help = "an app that nobody has used for so long is asked to sleep, and to wake by the next call or queued run; "
                "0: off"},
    {ROW(TEXT, "APP_SLEEP_CALL", app_sleep_call, ""), .is_valid = is_request,
        .allowed = REQUEST_ALLOWED "\"POST /sleep?level=1\"",
        .help = "what an app is asked to sleep with: HOOKLINE_APP_IDLE_SLEEP"},
    {ROW(TEXT, "APP_WAKE_CALL", app_wake_call, ""), .is_valid = is_request,
        .allowed = REQUEST_ALLOWED "\"POST /wake_up\"",
        .help = "what it is asked to wake with"},
    {ROW(DURATION, "APP_WAKE_TIMEOUT", app_wake_timeout_ms, "5m"), .min = 1, .max = 12 * HOUR,
        .help = "how long a synchronous call waits for an app that slept, instead of HOOKLINE_CONNECT_TIMEOUT; then 503"},
    {ROW(DURATION, "APP_START_TIMEOUT", app_start_timeout_ms, "30m"), .min = 1, .max = 12 * HOUR,
        .help = "how long an asynchronous run waits while the app accepts no calls at all (with postgres: no "
                "replica's app)"},
    {ROW(DURATION, "CONNECT_TIMEOUT", connect_timeout_ms, "10s"), .min = 1, .max = HOUR,
        .help = "getting a connection to the app, retries included; then 502; waiting for its health gate; then 503"},
    {ROW(DURATION, "APP_HEAD_TIMEOUT", app_head_timeout_ms, "0"), .min = 1, .max = 12 * HOUR, .has_zero = true,
        .help = "from request sent to response head; then 504; 0: the grace period"},
    {ROW(DURATION, "APP_IDLE_TIMEOUT", app_idle_timeout_ms, "0"), .min = 1, .max = 12 * HOUR, .has_zero = true,
        .help = "silence inside a response, event streams and tunnels excepted; then it is cut; 0: off"},
    {ROW(WORD, "ON_CALLER_GONE", on_caller_gone, "cancel"), .words = caller_gone_words,
        .help = "a caller leaves whose call is inside the app: cancel cuts that off, finish lets it end and throws its response away"},
    {ROW(SWITCH, "APP_KEEPALIVE", app_keepalive, "on"),
        .help = "reuse connections to the app; off: a new one for each call, for apps that serve "
                "one connection at a time"},
    {ROW(COUNT, "APP_CONCURRENCY", app_concurrency, "0"), .min = 0, .max = 1000000,
        .help = "requests inside the app at once; 0: no limit"},
    {ROW(COUNT, "APP_QUEUE", app_queue, "1000"), .min = 0, .max = 1000000,
        .help = "synchronous callers that wait for the app at once; beyond it 429"},
    {ROW(DURATION, "APP_QUEUE_TIMEOUT", app_queue_timeout_ms, "30s"), .min = 1, .max = 12 * HOUR,
        .help = "how long a synchronous caller waits for the app; then 429"},

    /* runs */
    {ROW(DURATION, "RESPONSE_GRACE_PERIOD", response_grace_period_ms, "15m"), .min = 1, .max = 12 * HOUR,
        .help = "how long an asynchronous run may take"},
    {ROW(DURATION, "SYNC_TIMEOUT", sync_timeout_ms, "0"), .min = 1, .max = 12 * HOUR, .has_zero = true,
        .help = "how long a synchronous call may be inside the app, streams too; then 504, or it is cut; 0: no limit"},
    {ROW(DURATION, "QUEUE_TIMEOUT", queue_timeout_ms, "0"), .min = 1, .max = 3650 * DAY, .has_zero = true,
        .help = "how long an asynchronous run waits for its start where the call has no X-Run-Start-Timeout; then it expires; 0: no limit"},
    {ROW(DURATION, "STREAM_IDLE_TIMEOUT", stream_idle_timeout_ms, "0"), .min = 1, .max = 12 * HOUR, .has_zero = true,
        .help = "silence of the app inside an event stream; then it is cut; 0: off"},
    {ROW(DURATION, "SSE_HEARTBEAT", sse_heartbeat_ms, "15s"), .min = 10, .max = HOUR, .has_zero = true,
        .help = "silence in an event stream after which a comment is sent; 0: off"},
    {ROW(DURATION, "RETENTION", retention_ms, "72h"), .min = SECOND, .max = 3650 * DAY,
        .help = "how long finished runs, their responses and deliveries are kept"},
    {ROW(COUNT, "RUN_ATTEMPTS", run_attempts, "1"), .min = 1, .max = 100,
        .help = "how many times an asynchronous run may call the app in total, see HOOKLINE_RUN_RETRY_ON; for runs "
                "that begin from then on"},
    {ROW(TEXT, "RUN_RETRY_ON", run_retry_on, ""), .is_valid = hl_retry_on_is_valid,
        .allowed = "unreachable, reset, timeout, interrupted, shutdown, statuses such as 503 and classes such as 5xx, separated by commas",
        .help = "the failures after which an asynchronous run is retried; not set: only when hookline was stopped "
                "during the run (interrupted); shutdown: what the end of a drain cuts goes back to the queue, uncounted"},
    {ROW(DURATION, "RUN_RETRY_DELAY", run_retry_delay_ms, "1s"), .min = 1, .max = 5 * 60 * SECOND,
        .help = "the delay before the second attempt of a run; doubled for each further one, at most 5m"},
    {ROW(WORD, "KEEP_REQUESTS", keep_requests, "failed"), .words = keep_words,
        .help = "which asynchronous runs' requests are kept after their end, for rerun and GET …/request: "
                "failed (all that did not succeed), all, none"},
    {ROW(WORD, "STREAM_KEEP", stream_keep, "ask"), .words = stream_words,
        .help = "which event streams of synchronous calls are kept, go on without their callers and can be read "
                "again (GET …/events): ask (those with X-Run-Keep: true), all, off; asynchronous runs' always are"},
    {ROW(STORE_LIMIT, "STREAM_KEEP_MAX_BYTES", stream_keep_max_bytes, "10%"),
        .allowed = SHARE_ALLOWED("HOOKLINE_STORE_MAX_BYTES"),
        .help = "the space for those streams, in bytes or of HOOKLINE_STORE_MAX_BYTES; then the oldest finished go, "
                "then new ones are not kept, and those that grow beyond it go on unkept"},
    {ROW(DURATION, "STREAM_RETENTION", stream_retention_ms, "1h"), .min = SECOND, .max = 3650 * DAY,
        .help = "how long those streams are kept after their end"},
    {ROW(COUNT, "MAX_FOLLOWERS", max_followers, "1000"), .min = 0, .max = 1000000,
        .help = "callers that follow event streams of runs at once (GET …/events), at most 100 per run and a quarter "
                "of all per subject; beyond it 429"},
    {ROW(COUNT, "ASYNC_CONCURRENCY", async_concurrency, "64"), .min = 1, .max = 100000,
        .help = "asynchronous runs inside the app at once, at most HOOKLINE_APP_CONCURRENCY"},
    {ROW(DURATION, "MAX_WAIT", max_wait_ms, "60s"), .min = SECOND, .max = HOUR,
        .help = "how long a caller may wait for a run's end (Prefer: wait=N, ?wait=N)"},
    {ROW(COUNT, "MAX_WAITERS", max_waiters, "10000"), .min = 0, .max = 1000000,
        .help = "callers that wait for a run's end at once, at most a quarter of them per subject; beyond it nobody "
                "waits"},
    {ROW(COUNT, "MAX_QUEUED_RUNS", max_queued_runs, "100000"), .min = 1, .max = 100000000,
        .help = "asynchronous runs that wait; beyond it 429"},

    /* webhooks */
    {ROW(TEXT, "WEBHOOK_SECRET", webhook_secret, ""), .is_valid = is_webhook_secret, .is_secret = true,
        .tell_fault = hl_secret_text_tell_fault, .allowed = "1 to 1024 bytes without control characters; after whsec_ base64",
        .help = "signs webhooks of calls that brought no X-Webhook-Secret"},
    {ROW(TEXT, "WEBHOOK_PREVIOUS_SECRET", webhook_previous_secret, ""), .is_valid = is_webhook_secret, .is_secret = true,
        .tell_fault = hl_secret_text_tell_fault, .allowed = "1 to 1024 bytes without control characters; after whsec_ base64",
        .help = "while HOOKLINE_WEBHOOK_SECRET is being changed: webhook-signature has a second signature, with this "
                "one"},
    {ROW(TEXT, "SERVICE_NAME", service_name, "Service"), .is_valid = is_service_name,
        .allowed = "1 to 64 characters of a header name",
        .help = "stands for Service in X-Service-Webhook-Signature and -Timestamp"},
    {ROW(WORD, "WEBHOOK_PRESET", webhook_preset, "contract"), .words = preset_words,
        .help = "when a delivery is tried again, where HOOKLINE_WEBHOOK_SCHEDULE and HOOKLINE_WEBHOOK_RETRY_ON say "
                "nothing; contract: by the defaults of these; production: for receivers that may be away for a while, "
                PRODUCTION_SCHEDULE " after " PRODUCTION_RETRY_ON},
    {ROW(TEXT, "WEBHOOK_SCHEDULE", webhook_schedule, "1s,4s"), .production = PRODUCTION_SCHEDULE, .is_valid = hl_schedule_is_valid,
        .allowed = "1 to 30 durations of at most 24h, separated by commas, such as 5s,1m,10m,1h",
        .help = "delays before the second, third … attempt of a delivery; there is one attempt more than delays"},
    {ROW(COUNT, "WEBHOOK_ATTEMPTS", webhook_attempts, "0"), .min = 1, .max = 31, .has_zero = true,
        .help = "attempts of a delivery in total: beyond the schedule its last delay repeats; 0: as the schedule says"},
    {ROW(TEXT, "WEBHOOK_RETRY_ON", webhook_retry_on, "network,404,other"), .production = PRODUCTION_RETRY_ON,
        .is_valid = hl_webhook_retry_on_is_valid,
        .allowed = "network, other, statuses such as 503 and classes such as 5xx, separated by commas; no 1xx, "
                   "which ends nothing, and no 2xx, which is delivered",
        .help = "after which outcomes a delivery is tried again: network (no answer), other (an answer that is neither "
                "2xx, 4xx nor 5xx), statuses, classes; the list replaces the default"},
    {ROW(DURATION, "WEBHOOK_TIMEOUT", webhook_timeout_ms, "30s"), .min = 1, .max = HOUR,
        .help = "how long one attempt may take"},
    {ROW(COUNT, "WEBHOOK_CONCURRENCY", webhook_concurrency, "256"), .min = 1, .max = 10000,
        .help = "deliveries at once, and as many retries"},
    {ROW(COUNT, "WEBHOOK_PER_HOST", webhook_per_host, "0"), .min = 1, .max = 10000, .has_zero = true,
        .help = "deliveries to one destination (scheme, host, port) at once, and as many retries; 0: as many as are "
                "free just then, and a quarter of all for those that answer at once"},
    {ROW(COUNT, "MAX_PENDING_DELIVERIES", max_pending_deliveries, "100000"), .min = 1, .max = 100000000,
        .help = "deliveries that wait; beyond it calls with a webhook get 429"},
    {ROW(RANGES, "WEBHOOK_ALLOW", webhook_allow, ""),
        .help = "private and other special addresses that webhooks may go to"},
    {ROW(SWITCH, "WEBHOOK_HTTPS_ONLY", webhook_https_only, "off"),
        .help = "refuse webhooks to http URLs"},
    {ROW(TEXT, "WEBHOOK_CA_FILE", webhook_ca_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "additional CA certificates (PEM) for webhook receivers; read again when it changes"},
    {ROW(TEXT, "WEBHOOK_TRUSTED_HOSTS", webhook_trusted_hosts, ""), .is_valid = hl_host_list_is_valid,
        .allowed = "names such as hooks.example.com or *.corp.example and addresses, without ports, separated by commas; or *",
        .help = "the only hosts whose webhooks carry HOOKLINE_WEBHOOK_HEADERS and the client certificate"},
    {ROW(TEXT, "WEBHOOK_HEADERS", webhook_headers, ""), .is_valid = hl_webhook_fields_are_valid, .is_secret = true,
        .tell_fault = hl_webhook_fields_tell_fault,
        .allowed = "one Name: value per line, each name once, at most 64; none that hookline sends itself (Host, "
                   "Content-*, Connection, User-Agent, Expect, X-Request-Id, traceparent, "
                   "webhook-*, X-*-Webhook-*) or that is for a proxy",
        .help = "fields added to webhooks to trusted hosts, one Name: value per line"},
    {ROW(TEXT, "WEBHOOK_CLIENT_CERT_FILE", webhook_client_cert_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "client certificate (PEM, with its chain) for trusted hosts; read again when it changes"},
    {ROW(TEXT, "WEBHOOK_CLIENT_KEY_FILE", webhook_client_key_file, ""), .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "its private key (PEM, not encrypted)"},
    {ROW(TEXT, "WEBHOOK_PROXY", webhook_proxy, ""), .is_valid = is_proxy_url, .is_secret = true,
        .tell_fault = hl_secret_text_tell_fault, .allowed = "http:// or https://, perhaps user:password@ (an @ in "
                                                            "them as %40), a host and a port, and nothing after them",
        .help = "the proxy that webhooks go out through (CONNECT), such as http://user:password@proxy.example:3128"},
    {ROW(WORD, "WEBHOOK_PROXY_RESOLVE", webhook_proxy_resolve, "hookline"), .words = resolve_words,
        .help = "who resolves receivers' names behind a proxy; proxy: then only addresses that are written out in a "
                "URL are checked"},
    {ROW(WORD, "WEBHOOK_PAYLOAD", webhook_payload, "full"), .words = payload_words,
        .help = "thin: webhooks have result_url in the place of the response; needs HOOKLINE_PUBLIC_URL"},
    {ROW(SIZE, "WEBHOOK_MAX_BODY", webhook_max_body, "0"), .min = 1, .max = TIB, .has_zero = true,
        .help = "a longer response is left out of its webhook, as with thin; needs HOOKLINE_PUBLIC_URL; 0: no limit"},

    /* alerts */
    {ROW(TEXT, "ALERT_URL", alert_url, ""), .is_valid = is_keys_url, .is_secret = true,
        .allowed = "http:// or https://, without user or password, of at most 2048 bytes",
        .help = "where alerts are sent, as webhooks signed with HOOKLINE_WEBHOOK_SECRET; empty: none"},
    {ROW(DURATION, "ALERT_QUEUE_AGE", alert_queue_age_ms, "5m"), .min = SECOND, .max = 7 * DAY,
        .help = "the oldest queued run has waited for longer: an alert"},
    {ROW(DURATION, "ALERT_APP_AFTER", alert_app_after_ms, "5m"), .min = SECOND, .max = DAY,
        .help = "the app is not ready for so long: an alert"},

    /* limits on callers */
    {ROW(SIZE, "MAX_HEAD", max_head, "64KiB"), .min = 4 * KIB, .max = MIB,
        .help = "a head, the caller's (then 431) or the app's (then 502)"},
    {ROW(SIZE, "MAX_REQUEST_BODY", max_request_body, "64MiB"), .min = 1, .max = TIB,
        .help = "the body of an asynchronous call; then 413"},
    {ROW(SIZE, "MAX_SYNC_BODY", max_sync_body, "0"), .min = 1, .max = TIB, .has_zero = true,
        .help = "the body of a synchronous call; then 413; 0: unlimited"},
    {ROW(SIZE, "MAX_KEPT_RESPONSE", max_kept_response, "64MiB"), .min = 1, .max = TIB,
        .help = "a response that is kept or forwarded; a longer one still reaches a synchronous caller"},
    {ROW(DURATION, "HEAD_TIMEOUT", head_timeout_ms, "10s"), .min = 1, .max = HOUR,
        .help = "from the first byte of a head to its end; then 408"},
    {ROW(DURATION, "BODY_TIMEOUT", body_timeout_ms, "60s"), .min = 1, .max = HOUR,
        .help = "silence of a caller that owes body bytes; then 408"},
    {ROW(DURATION, "KEEPALIVE_TIMEOUT", keepalive_timeout_ms, "75s"), .min = 1, .max = 12 * HOUR,
        .help = "an idle caller's connection; then it is closed"},
    {ROW(DURATION, "WRITE_TIMEOUT", write_timeout_ms, "60s"), .min = 1, .max = HOUR,
        .help = "a caller that reads no byte of what is waiting for it, at least 15s; then it is cut off"},
    {ROW(COUNT, "MAX_CONNECTIONS", max_connections, "0"), .min = 0, .max = 10000000,
        .help = "callers' connections at once; then the longest idle one is closed, or 503; 0: from the descriptor limit, with TLS at most 40 KiB each in a quarter of the cgroup's memory"},

    /* the store */
    {ROW(WORD, "STORE", store, "sqlite"), .words = hl_store_words,
        .help = "where runs and deliveries are kept; memory: only in the process; postgres: shared by replicas"},
    {ROW(TEXT, "DATA_DIR", data_dir, ""), .shown = "/var/lib/hookline, or ./hookline-data when not root",
        .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "the data directory; with postgres for what is not in the database yet"},
    {ROW(TEXT, "KEY", key, ""), .is_valid = is_key, .is_secret = true,
        .tell_fault = hl_secret_text_tell_fault, .allowed = KEY_ALLOWED,
        .help = "the key that secrets, webhook URLs and request headers are encrypted with; needed with "
                "postgres, the same for all replicas (hookline key create prints one)"},
    {ROW(TEXT, "KEY_FILE", key_file, ""), .shown = "a file in the data directory",
        .is_valid = is_file_path, .allowed = FILE_ALLOWED,
        .help = "the file of that key; with sqlite it is created if it is missing, with postgres never"},
    {ROW(TEXT, "PREVIOUS_KEY", previous_key, ""), .is_valid = is_key, .is_secret = true,
        .tell_fault = hl_secret_text_tell_fault, .allowed = KEY_ALLOWED,
        .help = "with postgres, while the key is being changed: the other key that values may be encrypted with"},
    {ROW(STORE_LIMIT, "STORE_MAX_BYTES", store_max_bytes, "80%"), .allowed = SHARE_ALLOWED("the volume"),
        .help = "the disk space to use, in bytes or of the volume; then the oldest finished bodies go, then "
                "the oldest finished runs (those with dead letters last, pending ones never), then 503"},

    /* replicas */
    {ROW(TEXT, "POSTGRES_URL", postgres_url, ""), .is_valid = hl_postgres_url_is_valid, .is_secret = true,
        .tell_fault = hl_secret_text_tell_fault, .allowed = "at most 4096 printable bytes: a URI such as postgres://user:password@host/database, what is "
                   "special in its parts percent-encoded (%40 for @), or keywords such as host=db dbname=hookline; "
                   "and only parameters that libpq knows",
        .help = "with postgres: the database, as a URI or as keywords of libpq's"},
    {ROW(TEXT, "POSTGRES_SCHEMA", postgres_schema, "hookline"), .is_valid = is_schema,
        .allowed = "1 to 63 of a-z 0-9 _, beginning with neither a digit nor pg_",
        .help = "with postgres: the schema that holds everything of hookline's"},
    {ROW(SWITCH, "POSTGRES_UNSAFE", postgres_unsafe, "off"),
        .help = "start on a server that may lose what it has acknowledged (fsync or synchronous_commit off)"},
    {ROW(SWITCH, "POSTGRES_PREPARE", postgres_prepare, "on"),
        .help = "use prepared statements; off: for poolers that lose them"},
    {ROW(TEXT, "REPLICA", replica, ""), .shown = "the host name", .is_valid = hl_replica_is_valid,
        .allowed = "1 to 128 printable ASCII characters without blanks",
        .help = "with postgres: this process's name in records, logs and metrics"},
    {ROW(TEXT, "REPLICA_URL", replica_url, ""), .shown = "the first address that is not a loopback one, and "
                                                         "HOOKLINE_LISTEN's port",
        .is_valid = is_replica_url,
        .allowed = "http:// or https://, a host and a port, and nothing after them",
        .help = "with postgres: where other replicas reach this one's run listener, to follow a stream that is here"},
    {ROW(WORD, "ROLE", role, "all"), .words = hl_replica_role_words,
        .help = "with postgres: front: takes calls and has no app, workers run them; worker: takes no calls and runs "
                "what is queued; all: both"},
    {ROW(DURATION, "FRONT_TIMEOUT", front_timeout_ms, "15m"), .min = 1, .max = 12 * HOUR,
        .help = "how long the caller of a synchronous call waits at a front; then 504, and its run is cancelled"},
    {ROW(DURATION, "REPLICA_TTL", replica_ttl_ms, "60s"), .min = 3 * SECOND, .max = HOUR,
        .help = "with postgres: how long a replica may be silent; then its runs end as interrupted and "
                "others send its webhooks; the same for all replicas"},

    /* the process */
    {ROW(COUNT, "WORKERS", workers, "0"), .min = 0, .max = 256,
        .help = "event loops; 0: the CPU quota rounded up, at most the cores"},
    {ROW(DURATION, "SHUTDOWN_DELAY", shutdown_delay_ms, "5s"), .min = 0, .max = HOUR,
        .help = "how long calls are still accepted after SIGTERM"},
    {ROW(DURATION, "DRAIN_TIMEOUT", drain_timeout_ms, "0"), .min = 1, .max = 12 * HOUR, .has_zero = true,
        .help = "how long running calls may go on after that; 0: the grace period"},
    {ROW(DURATION, "TUNNEL_DRAIN", tunnel_drain_ms, "30s"), .min = 0, .max = 12 * HOUR,
        .help = "how long WebSocket tunnels may go on after that; never longer than the calls"},
    {ROW(DURATION, "IDLE_EXIT", idle_exit_ms, "0"), .min = SECOND, .max = 365 * DAY, .has_zero = true,
        .help = "exit when no run has been in progress, queued or waiting for delivery for this long; 0: off"},
    {ROW(WORD, "LOG_LEVEL", log_level, "info"), .words = level_words,
        .help = "the lowest level that is logged"},
    {ROW(WORD, "LOG_FORMAT", log_format, "auto"), .words = format_words,
        .help = "the format of log lines; auto: text on a terminal, else json"},
    {ROW(SWITCH, "ACCESS_LOG", access_log, "off"),
        .help = "a log line for each call, whatever HOOKLINE_LOG_LEVEL is; health checks excepted"},
    {ROW(TEXT, "OTEL_SERVICE_NAME", otel_service_name, ""), .is_valid = is_readable_name,
        .allowed = "1 to 128 bytes of UTF-8 without control characters",
        .help = "service.name of its traces; empty: OTEL_SERVICE_NAME, as the app's"},
    {ROW(SWITCH, "CORE_DUMPS", core_dumps, "off"),
        .help = "allow core dumps, and debuggers of the same user: both can see keys and tokens"},
};
/* clang-format on */

const size_t hl_option_count = HL_ARRAY_LEN(hl_options);

const char *hl_option_initial(const struct hl_option *option, const struct hl_config *config)
{
    bool is_other = option->production && config->webhook_preset == HL_WEBHOOK_PRESET_PRODUCTION;
    return is_other ? option->production : option->initial;
}
