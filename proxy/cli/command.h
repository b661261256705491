/* command.h - from words on the command line to a command. */
#ifndef HL_CLI_COMMAND_H
#define HL_CLI_COMMAND_H

struct hl_cli;

/* Finds the command that `argv` names and runs it; no word at all, or `serve`, calls `serve`.
 * Returns the exit status. */
int hl_cli_run(int argc, char **argv, char *const *environ, int (*serve)(const struct hl_cli *cli));

#endif
