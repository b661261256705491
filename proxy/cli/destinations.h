/* destinations.h - `hookline deliveries destinations`. Returns the exit status. */
#ifndef HL_CLI_DESTINATIONS_H
#define HL_CLI_DESTINATIONS_H

#include "cli/cli.h"

int hl_cli_deliveries_destinations(const struct hl_cli *cli);

#endif
