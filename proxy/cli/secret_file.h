/* secret_file.h - a secret that signs webhooks, from a file: never from the command line, which other users see. */
#ifndef HL_CLI_SECRET_FILE_H
#define HL_CLI_SECRET_FILE_H

#include <stddef.h>

#include "base/compiler.h"

struct hl_cli;

#define HL_CLI_SECRET_ROOM (1024 + 16) /* HL_SIGNATURE_SECRET_MAX, and what is too much */

/* As the sidecar reads its own. HL_CLI_OK, or it has said what is wrong with it. */
HL_MUST_CHECK int hl_cli_read_secret_file(
    const struct hl_cli *cli, const char *path, char secret[HL_CLI_SECRET_ROOM], size_t *n);

#endif
