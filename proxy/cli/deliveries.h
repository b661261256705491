/* deliveries.h - `hookline deliveries list` and `show`. Each returns the exit status. */
#ifndef HL_CLI_DELIVERIES_H
#define HL_CLI_DELIVERIES_H

struct hl_cli;

int hl_cli_deliveries_list(const struct hl_cli *cli);
int hl_cli_deliveries_show(const struct hl_cli *cli);

#endif
