/* resend.h - `hookline deliveries redeliver ID --to URL`. */
#ifndef HL_CLI_RESEND_H
#define HL_CLI_RESEND_H

#include <stdbool.h>

#include "base/compiler.h"

struct hl_cli;

/* Whether the command's arguments say where to. */
bool hl_cli_goes_elsewhere(const struct hl_cli *cli);
HL_MUST_CHECK int hl_cli_resend(const struct hl_cli *cli);

#endif
