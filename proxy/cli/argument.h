/* argument.h - the arguments of one command: options from a table, and words. */
#ifndef HL_CLI_ARGUMENT_H
#define HL_CLI_ARGUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct hl_cli;

/* How often an option may be given that may be given more than once. */
#define HL_CLI_TEXTS_MAX 16

/* One that a command takes. */
struct hl_cli_option {
    const char *name;  /* "--project" */
    const char **text; /* it takes a value; NULL: it takes none */
    bool *is_given;    /* with a value: it may be given again and again, and `text` is the first of
                        * HL_CLI_TEXTS_MAX places for them, NULL each */
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
