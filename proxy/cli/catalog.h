/* catalog.h - the commands of `hookline`: one table of words, function, help and examples. */
#ifndef HL_CLI_CATALOG_H
#define HL_CLI_CATALOG_H

#include <stddef.h>

#include "cli/cli.h"

/* Ordered as help shows them. */
extern const struct hl_cli_command hl_cli_commands[];
extern const size_t hl_cli_command_count;

#endif
