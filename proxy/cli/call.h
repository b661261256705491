/* call.h - `hookline call` and `runs send`: calls of the app, through hookline. Each returns the exit
 * status. */
#ifndef HL_CLI_CALL_H
#define HL_CLI_CALL_H

struct hl_cli;

int hl_cli_call(const struct hl_cli *cli);
int hl_cli_runs_send(const struct hl_cli *cli);

#endif
