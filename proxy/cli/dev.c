/* dev.c - the arguments of `hookline dev`. Not here: what it does (dev/dev.c). */
#include "cli/dev.h"

#include <string.h>

#include "base/str.h"
#include "dev/dev.h"
#include "dev/receiver.h"
#include "http/url.h"

static int read_app(const struct hl_cli *cli, int at, struct hl_dev_plan *plan)
{
    struct hl_url url;
    const char *word = at < cli->argc ? cli->argv[at] : NULL;
    if (!word)
        return hl_cli_usage_error(
            cli, "\"dev\" needs an app: main.py, http://127.0.0.1:3000, or -- and a command");
    if (strcmp(word, "--") == 0) {
        plan->app = HL_DEV_COMMAND;
        plan->command = cli->argv + at + 1;
        return at + 1 < cli->argc ? HL_CLI_OK
                                  : hl_cli_usage_error(cli, "\"dev --\" needs a command behind it");
    }
    if (at + 1 < cli->argc)
        return hl_cli_usage_error(cli,
            "\"dev\" takes one app, but got \"%s\" too; a command stands behind --",
            cli->argv[at + 1]);
    bool is_url = hl_url_parse(hl_str_from(word), &url);
    plan->app = is_url ? HL_DEV_URL : HL_DEV_FILE;
    *(is_url ? &plan->url : &plan->file) = word;
    return HL_CLI_OK;
}

static int read_plan(const struct hl_cli *cli, struct hl_dev_plan *plan)
{
    static const char option[] = "--fail-hooks";
    size_t n = sizeof(option) - 1;
    int at = 0;
    for (; at < cli->argc && strncmp(cli->argv[at], option, n) == 0; at++) {
        const char *word = cli->argv[at];
        if (word[n] == '=')
            plan->fail_hooks = word + n + 1;
        else if (word[n] == '\0' && at + 1 < cli->argc)
            plan->fail_hooks = cli->argv[++at];
        else
            break;
    }
    if (plan->fail_hooks && !hl_dev_failures_are_valid(plan->fail_hooks))
        return hl_cli_usage_error(cli,
            "--fail-hooks takes statuses (200 to 599), timeout and reset, such as "
            "500,timeout,reset");
    if (at < cli->argc && cli->argv[at][0] == '-' && strcmp(cli->argv[at], "--") != 0)
        return hl_cli_usage_error(cli, "there is no option \"%s\"", cli->argv[at]);
    return read_app(cli, at, plan);
}

int hl_cli_dev(const struct hl_cli *cli)
{
    struct hl_dev_plan plan = {.environ = cli->environ, .out = cli->out, .err = cli->err};
    int status = read_plan(cli, &plan);
    return status == HL_CLI_OK ? hl_dev_run(&plan) : status;
}
