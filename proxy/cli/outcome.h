/* outcome.h - `hookline runs result` and `wait`: what came of a run. Each returns the exit
 * status. */
#ifndef HL_CLI_OUTCOME_H
#define HL_CLI_OUTCOME_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"

struct hl_cli;
struct hl_cli_session;

/* Until the run, whose whole id this is, has ended; `limit_ms` 0: however long that takes. `*run` is the
 * caller's. HL_CLI_OK, or it has said what is in the way. */
HL_MUST_CHECK int hl_cli_await(struct hl_cli_session *session, const struct hl_cli *cli,
    const char *id, uint64_t limit_ms, json_t **run);
/* The kept response, in the place of what is in `file` or, with NULL, to cli->out. */
HL_MUST_CHECK int hl_cli_print_result(
    struct hl_cli_session *session, const struct hl_cli *cli, const char *id, FILE *file);

#endif
