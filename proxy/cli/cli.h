/* cli.h - one call of a command of `hookline`: what it is given and what it gives back. */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include <stdio.h>

#include "base/compiler.h"

struct hl_cli_command;

/* One call of a command. Borrows everything. */
struct hl_cli {
    int argc; /* arguments after the command's own words */
    char **argv;
    char *const *environ;
    FILE *out, *err;
    const struct hl_cli_command *commands; /* all there are, for --help */
    size_t command_count;
};

struct hl_cli_command {
    const char *words;                    /* "config check" */
    int (*run)(const struct hl_cli *cli); /* NULL: serve */
    const char *arguments;                /* as --help shows them; NULL: it takes none */
    const char *help;
};

/* Exit statuses. */
enum {
    HL_CLI_OK = 0,
    HL_CLI_FAILED = 1, /* it was asked for rightly and could not be done */
    HL_CLI_USAGE = 2   /* wrong words, wrong arguments, wrong settings */
};

/* Says "hookline: <message>" and that --help helps; returns HL_CLI_USAGE. */
int hl_cli_usage_error(const struct hl_cli *cli, const char *fmt, ...) HL_PRINTF(2, 3);

#endif
