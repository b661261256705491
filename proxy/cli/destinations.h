/* destinations.h - `hookline deliveries destinations`. Returns the exit status. */
#ifndef HL_CLI_DESTINATIONS_H
#define HL_CLI_DESTINATIONS_H

struct hl_cli;

int hl_cli_deliveries_destinations(const struct hl_cli *cli);

#endif
