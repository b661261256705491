/* cli.h - the commands of `hookline` other than running it. */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include <stdio.h>

#include "config/config.h"

/* One call of a command. Borrows everything. */
struct hl_cli {
    int argc; /* arguments after the command's own words */
    char **argv;
    char *const *environ;
    FILE *out, *err;
};

/* Exit statuses. */
enum {
    HL_CLI_OK = 0,
    HL_CLI_FAILED = 1, /* it was asked for rightly and could not be done */
    HL_CLI_USAGE = 2   /* wrong words, wrong arguments, wrong settings */
};

/* Finds the command that `argv` names and runs it; no word at all, or `serve`, calls `serve`.
 * Returns the exit status. */
int hl_cli_run(int argc, char **argv, char *const *environ, int (*serve)(const struct hl_cli *cli));

/* The commands. Each returns the exit status. */
int hl_cli_help(const struct hl_cli *cli);         /* commands and variables */
int hl_cli_version(const struct hl_cli *cli);      /* "hookline 1.2.3" */
int hl_cli_dashboard(const struct hl_cli *cli);    /* a link that signs in */
int hl_cli_health(const struct hl_cli *cli);       /* is the sidecar of this environment ready? */
int hl_cli_token_create(const struct hl_cli *cli); /* token.c */
int hl_cli_token_list(const struct hl_cli *cli);
int hl_cli_token_revoke(const struct hl_cli *cli);
int hl_cli_runs_list(const struct hl_cli *cli); /* runs.c */
int hl_cli_runs_show(const struct hl_cli *cli); /* story.c */
int hl_cli_runs_cancel(const struct hl_cli *cli);
int hl_cli_runs_redeliver(const struct hl_cli *cli);
int hl_cli_sign(const struct hl_cli *cli); /* sign.c */
int hl_cli_verify(const struct hl_cli *cli);
int hl_cli_config_check(const struct hl_cli *cli); /* check.c: could it start? */
int hl_cli_config_show(const struct hl_cli *cli);  /* the settings that hold, secrets masked */
int hl_cli_config_table(const struct hl_cli *cli); /* all settings as a Markdown table */

/* What a command builds on. */

struct hl_cli_command {
    const char *words;                    /* "config check" */
    int (*run)(const struct hl_cli *cli); /* NULL: serve */
    const char *arguments;                /* as --help shows them; NULL: it takes none */
    const char *help;
};

extern const struct hl_cli_command hl_cli_commands[];
extern const size_t hl_cli_command_count;

/* Loads the settings: problems and warnings go to cli->err, one line each. HL_CLI_OK, or the status
 * to exit with. `*out` is owned by the caller. */
HL_MUST_CHECK int hl_cli_load_config(const struct hl_cli *cli, struct hl_config **out);
/* Says each line of `lines` as "hookline: <before><line>". */
void hl_cli_print_lines(const struct hl_cli *cli, const char *before, struct hl_str lines);
/* Says "hookline: <message>" and that --help helps; returns HL_CLI_USAGE. */
int hl_cli_usage_error(const struct hl_cli *cli, const char *fmt, ...) HL_PRINTF(2, 3);

#endif
