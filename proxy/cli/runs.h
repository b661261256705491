/* runs.h - `hookline runs list`, `cancel` and `rerun`. Each returns the exit status. */
#ifndef HL_CLI_RUNS_H
#define HL_CLI_RUNS_H

struct hl_cli;

int hl_cli_runs_list(const struct hl_cli *cli);
int hl_cli_runs_cancel(const struct hl_cli *cli);
int hl_cli_runs_rerun(const struct hl_cli *cli);

#endif
