/* command.h - the commands of `hookline`: one table of words, function and help. */
#ifndef HL_CLI_COMMAND_H
#define HL_CLI_COMMAND_H

#include "cli/cli.h"

extern const struct hl_cli_command hl_cli_commands[];
extern const size_t hl_cli_command_count;

/* Finds the command that `argv` names and runs it; no word at all, or `serve`, calls `serve`.
 * Returns the exit status. */
int hl_cli_run(int argc, char **argv, char *const *environ, int (*serve)(const struct hl_cli *cli));

#endif
