/* help.h - `hookline --help` and `--version`. Each returns the exit status. */
#ifndef HL_CLI_HELP_H
#define HL_CLI_HELP_H

#include <stdbool.h>

#include "cli/cli.h"

int hl_cli_help(const struct hl_cli *cli);    /* cli->commands, and the variables */
int hl_cli_version(const struct hl_cli *cli); /* "hookline 1.2.3" */

/* The commands that begin with the first of the words, if there are any. */
bool hl_cli_help_of(const struct hl_cli *cli);

#endif
