/* dev.h - the command `dev`. */
#ifndef HL_CLI_DEV_H
#define HL_CLI_DEV_H

struct hl_cli;

/* hookline dev [--fail-hooks LIST] PYTHON_FILE | URL | -- COMMAND … */
int hl_cli_dev(const struct hl_cli *cli);

#endif
