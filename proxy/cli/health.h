/* health.h - `hookline health`: is the sidecar of this environment ready? Returns the exit status. */
#ifndef HL_CLI_HEALTH_H
#define HL_CLI_HEALTH_H

struct hl_cli;

int hl_cli_health(const struct hl_cli *cli);

#endif
