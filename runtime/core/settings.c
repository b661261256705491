/* settings.c - what a function host is told from outside.
 * Thread: the host's first, before others start (it reads the environment).
 * Not here: options of one language's host alone (its own command line). */
#include "core/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "config/value.h"
#include "net/address.h"

#define DEFAULT_PORT     8000
#define DEFAULT_MAX_BODY (UINT64_C(64) << 20)
#define LEAST_MAX_BODY   1024
#define MOST_MAX_BODY    (UINT64_C(1) << 40)

#define DEFAULT_SETUP_TIMEOUT_MS (UINT64_C(30) * 60 * 1000)
#define MOST_SETUP_TIMEOUT_MS    (UINT64_C(24) * 3600 * 1000)

/* Where a value comes from: the name that a complaint begins with. */
struct source {
    const char *name, *value;
};

/* The option, else the variable; `value` is NULL when neither is there. An empty variable counts as
 * none, as shells make it easy to set one. */
static struct source find(const char *option, const char *option_value, const char *variable)
{
    if (option_value)
        return (struct source){option, option_value};
    const char *value = getenv(variable);
    return (struct source){variable, value && value[0] ? value : NULL};
}

static enum hl_err refuse(char *why, const struct source *source, const char *allowed)
{
    struct hl_buf quoted;
    hl_buf_init(&quoted, 0);
    enum hl_err err = hl_value_append_quoted(&quoted, hl_str_from(source->value));
    if (!err)
        snprintf(why, HL_SETTINGS_WHY, "%s is %.*s: %s", source->name, HL_STR_ARG(quoted), allowed);
    hl_buf_fini(&quoted);
    return err ? err : HL_ERR_INVALID;
}

static enum hl_err read_host(struct hl_settings *s, const char *option, char *why)
{
    struct source from = find("--host", option, "HOOKLINE_FUNCTION_HOST");
    struct hl_ip ip;
    if (!from.value)
        from.value = "127.0.0.1";
    if (strlen(from.value) >= sizeof(s->host) || !hl_ip_parse(hl_str_from(from.value), &ip))
        return refuse(why, &from, "allowed is an IPv4 or IPv6 address, without brackets");
    snprintf(s->host, sizeof(s->host), "%s", from.value);
    return HL_OK;
}

static enum hl_err read_port(struct hl_settings *s, const char *option, char *why)
{
    struct source from = find("--port", option, "PORT");
    uint64_t port = DEFAULT_PORT;
    if (from.value && (!hl_str_to_u64(hl_str_from(from.value), &port) || port > UINT16_MAX))
        return refuse(why, &from, "allowed is a port from 0 to 65535; 0 lets the system choose");
    s->port = (uint16_t)port;
    return HL_OK;
}

static enum hl_err read_socket(
    struct hl_settings *s, const struct hl_settings_options *options, char *why)
{
    struct source from = find("--socket", options->socket, "HOOKLINE_FUNCTION_SOCKET");
    s->socket[0] = '\0';
    if (!from.value || (!options->socket && options->port))
        return HL_OK;
    if (from.value[0] == '\0' || strlen(from.value) >= sizeof(s->socket))
        return refuse(why, &from, "allowed is the path of a unix socket, 1 to 107 bytes");
    snprintf(s->socket, sizeof(s->socket), "%s", from.value);
    return HL_OK;
}

static enum hl_err read_concurrency(struct hl_settings *s, char *why)
{
    struct source from = find(NULL, NULL, "HOOKLINE_FUNCTION_CONCURRENCY");
    uint64_t n = 1;
    if (from.value &&
        (!hl_str_to_u64(hl_str_from(from.value), &n) || n < 1 || n > HL_SETTINGS_MAX_CONCURRENCY))
        return refuse(why, &from, "allowed is 1 to 1024 calls at once");
    s->concurrency = (uint32_t)n;
    return HL_OK;
}

static enum hl_err read_envelope(struct hl_settings *s, char *why)
{
    struct source from = find(NULL, NULL, "HOOKLINE_FUNCTION_ENVELOPE");
    s->has_envelope = false;
    if (from.value && !hl_value_parse_switch(hl_str_from(from.value), &s->has_envelope))
        return refuse(why, &from, "allowed is on or off");
    return HL_OK;
}

static enum hl_err read_max_body(struct hl_settings *s, char *why)
{
    struct source from = find(NULL, NULL, "HOOKLINE_FUNCTION_MAX_BODY");
    s->max_body = DEFAULT_MAX_BODY;
    if (from.value && (!hl_value_parse_size(hl_str_from(from.value), &s->max_body) ||
                          s->max_body < LEAST_MAX_BODY || s->max_body > MOST_MAX_BODY))
        return refuse(why, &from, "allowed is a size from 1KiB to 1TiB, such as 64MiB");
    return HL_OK;
}

/* hookline's own limit for a body, where the host is told of it: what it lets through has room here. One that hookline
 * itself would not start with is none. */
static void read_max_upload(struct hl_settings *s)
{
    struct source from = find(NULL, NULL, "HOOKLINE_MAX_REQUEST_BODY");
    uint64_t n;
    s->max_upload = s->max_body;
    if (from.value && hl_value_parse_size(hl_str_from(from.value), &n) && n > s->max_upload &&
        n <= MOST_MAX_BODY)
        s->max_upload = n;
}

static enum hl_err read_setup_timeout(struct hl_settings *s, char *why)
{
    struct source from = find(NULL, NULL, "HOOKLINE_FUNCTION_SETUP_TIMEOUT");
    s->setup_timeout_ms = DEFAULT_SETUP_TIMEOUT_MS;
    if (from.value && (!hl_value_parse_duration(hl_str_from(from.value), &s->setup_timeout_ms) ||
                          s->setup_timeout_ms > MOST_SETUP_TIMEOUT_MS))
        return refuse(why, &from, "allowed is a time up to 24h, such as 10m; 0 is none");
    return HL_OK;
}

static enum hl_err read_log(struct hl_settings *s, char *why)
{
    static const char *const levels[] = {[HL_LOG_DEBUG] = "debug",
        [HL_LOG_INFO] = "info",
        [HL_LOG_WARN] = "warn",
        [HL_LOG_ERROR] = "error"};
    struct source level = find(NULL, NULL, "HOOKLINE_LOG_LEVEL");
    struct source format = find(NULL, NULL, "HOOKLINE_LOG_FORMAT");
    size_t i = HL_LOG_INFO;
    if (level.value)
        for (i = 0; i < HL_ARRAY_LEN(levels) && strcmp(level.value, levels[i]) != 0;)
            i++;
    if (i == HL_ARRAY_LEN(levels))
        return refuse(why, &level, "allowed are debug, info, warn, error");
    s->log_level = (enum hl_log_level)i;
    bool is_auto = !format.value || strcmp(format.value, "auto") == 0;
    if (!is_auto && strcmp(format.value, "json") != 0 && strcmp(format.value, "text") != 0)
        return refuse(why, &format, "allowed are auto, json, text");
    bool is_text = is_auto ? isatty(STDERR_FILENO) : strcmp(format.value, "text") == 0;
    s->log_format = is_text ? HL_LOG_PLAIN : HL_LOG_JSON;
    return HL_OK;
}

enum hl_err hl_settings_read(struct hl_settings *settings,
    const struct hl_settings_options *options, char why[HL_SETTINGS_WHY])
{
    snprintf(why, HL_SETTINGS_WHY, "out of memory");
    enum hl_err err = read_host(settings, options->host, why);
    if (!err)
        err = read_port(settings, options->port, why);
    if (!err)
        err = read_socket(settings, options, why);
    if (!err)
        err = read_concurrency(settings, why);
    if (!err)
        err = read_envelope(settings, why);
    if (!err)
        err = read_max_body(settings, why);
    if (!err)
        read_max_upload(settings);
    if (!err)
        err = read_setup_timeout(settings, why);
    if (!err)
        err = read_log(settings, why);
    return err;
}
