/* config.h - the settings, for a command. */
#ifndef HL_CLI_CONFIG_H
#define HL_CLI_CONFIG_H

#include "base/compiler.h"

struct hl_cli;
struct hl_config;
struct hl_str;

/* Loads them: problems and warnings go to cli->err, one line each. HL_CLI_OK, or the status to exit
 * with. `*out` is owned by the caller. */
HL_MUST_CHECK int hl_cli_load_config(const struct hl_cli *cli, struct hl_config **out);
/* Says each line of `lines` as "hookline: <before><line>". */
void hl_cli_print_lines(const struct hl_cli *cli, const char *before, struct hl_str lines);

#endif
