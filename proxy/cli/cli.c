/* cli.c - one call of a command: how it says that it was called wrongly or could not do it. Runs on
 * the main thread. */
#include "cli/cli.h"

#include <stdarg.h>

#include "cli/readable.h"

/* What was asked may answer anything. */
#define MESSAGE_MAX 4096

static void say(const struct hl_cli *cli, const char *fmt, va_list args)
{
    fprintf(cli->err, "hookline%s%s: ", cli->command ? " " : "",
        cli->command ? cli->command->words : "");
    char text[MESSAGE_MAX];
    int n = vsnprintf(text, sizeof(text), fmt, args);
    hl_cli_print(cli->err, text);
    fputs(n >= (int)sizeof(text) ? "…\n" : "\n", cli->err);
}

int hl_cli_usage_error(const struct hl_cli *cli, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(cli, fmt, args);
    va_end(args);
    if (cli->faults)
        ++*cli->faults;
    return HL_CLI_USAGE;
}

int hl_cli_fail(const struct hl_cli *cli, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(cli, fmt, args);
    va_end(args);
    return HL_CLI_FAILED;
}
