/* help.h - what there is to say about the commands, straight from their table. Each returns the exit
 * status. */
#ifndef HL_CLI_HELP_H
#define HL_CLI_HELP_H

#include <stdbool.h>

struct hl_cli;

int hl_cli_help(const struct hl_cli *cli);       /* the commands, and the settings */
int hl_cli_help_short(const struct hl_cli *cli); /* the commands */
int hl_cli_help_words(const struct hl_cli *cli); /* `hookline help runs list` */
int hl_cli_version(const struct hl_cli *cli);    /* "hookline 1.2.3" */

/* About the command that the arguments begin with: its options and examples. Words that begin several:
 * a line about each. False: there is none, and nothing was printed. */
bool hl_cli_help_of(const struct hl_cli *cli);

#endif
