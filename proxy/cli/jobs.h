/* jobs.h - bulk work that the sidecar carries out: a command about one thing, with --all about those that filters name. */
#ifndef HL_CLI_JOBS_H
#define HL_CLI_JOBS_H

#include <stdbool.h>

struct hl_cli;

struct hl_cli_bulk {
    const char *what;   /* "cancel", as a job says it */
    const char *thing;  /* "run", of which many are … */
    const char *things; /* "runs" */
    const char *verb;   /* "cancelled" */
};

/* Whether --all was given: it is about many. */
bool hl_cli_is_bulk(const struct hl_cli *cli);
/* Asks first, unless --yes says it, and shows how far it is until it has ended. Returns the exit status. */
int hl_cli_run_bulk(const struct hl_cli *cli, const struct hl_cli_bulk *bulk);

#endif
