/* cli.h - one call of a command of `hookline`: what it is given and what it gives back. */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"

struct hl_cli_command;

/* Where a hookline is that is not this machine's: what the options of those names say. */
struct hl_cli_remote {
    const char *url; /* NULL: the one of this data directory */
    const char *token_file;
};

/* One call of a command. Borrows everything. */
struct hl_cli {
    int argc; /* arguments after the command's own words */
    char **argv;
    char *const *environ;
    FILE *out, *err;
    const struct hl_cli_command *commands; /* all there are, for help */
    size_t command_count;
    const struct hl_cli_command *command; /* the one that is called; NULL: none is known */
    struct hl_cli_remote *remote;         /* NULL: the command cannot ask another machine */
    unsigned *faults;                     /* how often it was said that it is called wrongly */
};

struct hl_cli_command {
    const char *words;                    /* "config check" */
    int (*run)(const struct hl_cli *cli); /* NULL: serve */
    const char *arguments;                /* as help shows them; NULL: it takes none */
    const char *help;
    const char *examples[2]; /* what follows "hookline "; NULL: none */
    bool is_remote;          /* takes --url and --token-file, too */
};

/* Exit statuses. */
enum {
    HL_CLI_OK = 0,
    HL_CLI_FAILED = 1, /* it was asked for rightly and could not be done */
    HL_CLI_USAGE = 2   /* wrong words, wrong arguments, wrong settings */
};

/* Says "hookline <command>: <message>"; returns HL_CLI_USAGE. May be called for one fault after the
 * other: where help is found is said once, after the last. */
int hl_cli_usage_error(const struct hl_cli *cli, const char *fmt, ...) HL_PRINTF(2, 3);
/* Says "hookline <command>: <message>"; returns HL_CLI_FAILED. */
int hl_cli_fail(const struct hl_cli *cli, const char *fmt, ...) HL_PRINTF(2, 3);

#endif
