/* sidecar.h - one question to the sidecar that runs on a data directory, by its control socket. Blocks. */
#ifndef HL_CLI_SIDECAR_H
#define HL_CLI_SIDECAR_H

#include <stdbool.h>

#include "base/compiler.h"

struct hl_buf;
struct hl_cli_sink;
struct hl_config;
struct hl_str;

/* 0: one answers; or an errno value. */
int hl_cli_sidecar_find(const struct hl_config *config);
bool hl_cli_sidecar_runs(const struct hl_config *config);

/* `target` is path and query, `text` the request's body. 0: there is an answer; `body` is the caller's in any case.
 * What is answered with a 2xx goes to the `sink`, or NULL, piece by piece. Else an errno value; ECANCELED: the sink
 * ended it. */
HL_MUST_CHECK int hl_cli_sidecar_ask(const struct hl_config *config, const char *method,
    const char *target, struct hl_str text, struct hl_cli_sink *sink, unsigned *status,
    struct hl_buf *body);

#endif
