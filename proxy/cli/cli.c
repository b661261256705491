/* cli.c - one call of a command: how it says that it was called wrongly. Runs on the main thread. */
#include "cli/cli.h"

#include <stdarg.h>

int hl_cli_usage_error(const struct hl_cli *cli, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("hookline: ", cli->err);
    vfprintf(cli->err, fmt, args);
    va_end(args);
    fputs("; see hookline --help\n", cli->err);
    return HL_CLI_USAGE;
}
