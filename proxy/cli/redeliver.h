/* redeliver.h - `hookline runs redeliver` and `deliveries redeliver`: webhooks once more. Each returns the
 * exit status. */
#ifndef HL_CLI_REDELIVER_H
#define HL_CLI_REDELIVER_H

struct hl_cli;

int hl_cli_runs_redeliver(const struct hl_cli *cli);
int hl_cli_deliveries_redeliver(const struct hl_cli *cli);

#endif
