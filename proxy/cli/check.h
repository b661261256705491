/* check.h - `hookline config check`. */
#ifndef HL_CLI_CHECK_H
#define HL_CLI_CHECK_H

struct hl_cli;

/* Could it start? Returns the exit status. */
int hl_cli_config_check(const struct hl_cli *cli);

#endif
