/* dev.c - the arguments of `hookline dev`. Not here: what it does (dev/dev.c). */
#include "cli/catalog.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "dev/dev.h"
#include "dev/receiver.h"
#include "http/url.h"

#define WORDS_MAX 16

/* What it takes, in every message about something else. */
#define APP_URL "http://127.0.0.1:3000"
#define APPS                                                                                       \
    "a file of functions in Python (main.py) or JavaScript (main.mjs), a shared object of them "   \
    "(upper.so), the URL of an app that runs (" APP_URL "), "                                      \
    "or -- and the command that starts one (-- npm start)"

static bool has_scheme(const char *text, struct hl_str scheme)
{
    struct hl_str begin = {text, strnlen(text, scheme.n)};
    return hl_str_eq_nocase(begin, scheme);
}

/* No file is called so. */
static bool is_meant_as_url(const char *text)
{
    return strstr(text, "://") || has_scheme(text, HL_STR("http:")) ||
           has_scheme(text, HL_STR("https:"));
}

/* hl_url_parse has refused it. */
static const char *fault_of_url(const char *text)
{
    struct hl_url url;
    const char *host = strstr(text, "://");
    if (!has_scheme(text, HL_STR("http://")) && !has_scheme(text, HL_STR("https://")))
        return "it begins with neither http:// nor https://";
    host += strlen("://");
    if (strchr("/?#:", *host)) /* its end, too */
        return "it has no host";
    struct hl_str begin = {text, (size_t)(host - text) + strcspn(host, "/?#")};
    return hl_url_parse(begin, &url) ? "its path has bytes that a URL must write as %XX"
                                     : "its host or its port cannot be read";
}

/* By what the file's name ends in; without an end it is Python's. */
static bool app_of(const char *suffix, enum hl_dev_app *app)
{
    static const struct {
        const char *suffix;
        enum hl_dev_app app;
    } kinds[] = {{".py", HL_DEV_FILE}, {".mjs", HL_DEV_SCRIPT}, {".js", HL_DEV_SCRIPT},
        {".cjs", HL_DEV_SCRIPT}, {".ts", HL_DEV_SCRIPT}, {".mts", HL_DEV_SCRIPT},
        {".cts", HL_DEV_SCRIPT}, {".so", HL_DEV_MODULE}};
    *app = HL_DEV_FILE;
    if (!suffix || !suffix[1])
        return true;
    for (size_t i = 0; i < HL_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].suffix, suffix) == 0) {
            *app = kinds[i].app;
            return true;
        }
    }
    return false;
}

static int read_file(const struct hl_cli *cli, const char *path, struct hl_dev_plan *plan)
{
    const char *slash = strrchr(path, '/'), *suffix = strrchr(slash ? slash : path, '.');
    char url[512];
    struct hl_url parsed;
    plan->file = path;
    int error = access(path, F_OK) == 0 ? 0 : errno;
    if (error && is_meant_as_url(path))
        return hl_cli_usage_error(
            cli, "%s is not the URL of an app, such as " APP_URL ": %s", path, fault_of_url(path));
    snprintf(url, sizeof(url), "http://%s", path);
    if (error && strchr(path, ':') && hl_url_parse(hl_str_from(url), &parsed))
        return hl_cli_usage_error(cli, "%s is not a file here; did you mean %s?", path, url);
    if (error)
        return hl_cli_fail(cli, "%s: %s; it takes " APPS, path, strerror(error));
    if (!app_of(suffix, &plan->app))
        return hl_cli_usage_error(
            cli, "%s is no Python, JavaScript or .so file; it takes " APPS, path);
    return HL_CLI_OK;
}

/* `command` is what stands behind --, which is there if it is not NULL. */
static int read_app(const struct hl_cli *cli, const char *const *words, size_t count,
    char *const *command, struct hl_dev_plan *plan)
{
    struct hl_url url;
    plan->app = HL_DEV_COMMAND;
    plan->command = command;
    if (count > (command ? 0 : 1))
        return hl_cli_usage_error(cli,
            "it takes one app, but got \"%s\" too; a command goes after --, as in hookline dev -- "
            "npm start",
            words[command ? 0 : 1]);
    if (command)
        return *command ? HL_CLI_OK
                        : hl_cli_usage_error(cli, "-- needs a command after it, such as npm start");
    if (count == 0)
        return hl_cli_usage_error(cli, "it needs an app: " APPS);
    if (!hl_url_parse(hl_str_from(words[0]), &url))
        return read_file(cli, words[0], plan);
    plan->app = HL_DEV_URL;
    plan->url = words[0];
    return HL_CLI_OK;
}

static int read_plan(const struct hl_cli *cli, struct hl_dev_plan *plan)
{
    const struct hl_cli_option options[] = {{.name = "--fail-hooks", .text = &plan->fail_hooks}};
    const char *words[WORDS_MAX];
    struct hl_cli own = *cli; /* what is ours to read */
    size_t count;
    own.argc = 0;
    while (own.argc < cli->argc && strcmp(cli->argv[own.argc], "--") != 0)
        own.argc++;
    bool has_command = own.argc < cli->argc;
    int status = hl_cli_read_arguments(
        &own, options, HL_ARRAY_LEN(options), words, HL_ARRAY_LEN(words), &count);
    if (plan->fail_hooks && !hl_dev_failures_are_valid(plan->fail_hooks))
        status = hl_cli_usage_error(cli,
            "--fail-hooks takes statuses (200 to 599), timeout and reset, such as "
            "500,timeout,reset, not \"%s\"",
            plan->fail_hooks);
    int app = read_app(cli, words, count, has_command ? cli->argv + own.argc + 1 : NULL, plan);
    return status == HL_CLI_OK ? app : status;
}

int hl_cli_dev(const struct hl_cli *cli)
{
    struct hl_dev_plan plan = {.environ = cli->environ, .out = cli->out, .err = cli->err};
    int status = read_plan(cli, &plan);
    return status == HL_CLI_OK ? hl_dev_run(&plan) : status;
}
