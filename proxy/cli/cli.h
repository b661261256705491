/* cli.h - one call of a command of `hookline`: what it is given, its arguments, and what it gives back. */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"

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
    HL_CLI_USAGE = 2,  /* wrong words, wrong arguments, wrong settings */
    HL_CLI_CUT = 3     /* serve: HOOKLINE_DRAIN_TIMEOUT has ended calls or runs */
};

/* Says "hookline <command>: <message>"; returns HL_CLI_USAGE. May be called for one fault after the
 * other: where help is found is said once, after the last. */
int hl_cli_usage_error(const struct hl_cli *cli, const char *fmt, ...) HL_PRINTF(2, 3);
/* Says "hookline <command>: <message>"; returns HL_CLI_FAILED. */
int hl_cli_fail(const struct hl_cli *cli, const char *fmt, ...) HL_PRINTF(2, 3);

/* ---- arguments ---- */

/* How often an option may be given that may be given more than once. */
#define HL_CLI_TEXTS_MAX 16

/* One that a command takes. */
struct hl_cli_option {
    const char *name;  /* "--project" */
    const char **text; /* it takes a value; NULL: it takes none */
    /* With a value: it may be given several times, and `text` is the first of HL_CLI_TEXTS_MAX
     * places for them, each NULL. */
    bool *is_given;
};

/* `--name value`, `--name=value`; `--` ends the options. Where the command's synopsis has the words that an
 * option takes ("dead|delivered"), others are refused. The words go to `words`, `*count` of them.
 * --url and --token-file go to cli->remote, if there is one. HL_CLI_OK, or it has said all that is
 * wrong and the status is for exiting. */
HL_MUST_CHECK int hl_cli_read_arguments(const struct hl_cli *cli,
    const struct hl_cli_option *options, size_t option_count, const char **words, size_t max_words,
    size_t *count);

/* The same where one word is needed: `what` is said of it if it is missing ("a run's id"). */
HL_MUST_CHECK int hl_cli_read_word(const struct hl_cli *cli, const struct hl_cli_option *options,
    size_t option_count, const char **word, const char *what);
/* An option that has to be given: HL_CLI_OK, or it has said that it is missing, and what it is. */
HL_MUST_CHECK int hl_cli_need(const struct hl_cli *cli, const char *name, const char *text);

/* A point in time: RFC 3339, a date, or a duration before (`sign` -1) or after (1) now. */
bool hl_cli_read_time(const char *text, int sign, int64_t *wall_ms);
/* The value of an option that is such a point, before now. HL_CLI_OK, for NULL too, or it has said what
 * the option takes. */
int hl_cli_check_time(
    const struct hl_cli *cli, const char *name, const char *text, int64_t *wall_ms);

#endif
