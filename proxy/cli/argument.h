/* argument.h - the arguments of one command: options from a table, and words. */
#ifndef HL_CLI_ARGUMENT_H
#define HL_CLI_ARGUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"

/* One that a command takes. Exactly one of the two is set. */
struct hl_cli_option {
    const char *name;  /* "--project" */
    const char **text; /* it takes a value */
    bool *is_given;    /* it takes none */
};

/* `--name value`, `--name=value`; `--` ends the options. The words go to `words`, `*count` of them.
 * HL_CLI_OK, or it has said what is wrong and the status is for exiting. */
HL_MUST_CHECK int hl_cli_read_arguments(const struct hl_cli *cli,
    const struct hl_cli_option *options, size_t option_count, const char **words, size_t max_words,
    size_t *count);

/* A point in time: RFC 3339, a date, or a duration before (`sign` -1) or after (1) now. */
bool hl_cli_read_time(const char *text, int sign, int64_t *wall_ms);

#endif
