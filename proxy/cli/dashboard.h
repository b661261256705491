/* dashboard.h - `hookline dashboard`: a link that signs in. Returns the exit status. */
#ifndef HL_CLI_DASHBOARD_H
#define HL_CLI_DASHBOARD_H

struct hl_cli;

int hl_cli_dashboard(const struct hl_cli *cli);

#endif
