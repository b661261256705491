/* synopsis.h - the options of a command, read from the line that help shows of its arguments, and what
 * each of them means. */
#ifndef HL_CLI_SYNOPSIS_H
#define HL_CLI_SYNOPSIS_H

#include <stdbool.h>

#include "base/str.h"

struct hl_cli_command;

struct hl_cli_synopsis_option {
    struct hl_str name;  /* "--since" */
    struct hl_str value; /* "TIME", "dead|delivered"; empty: it takes none */
    const char *help;    /* NULL: nothing is known about it */
};

/* The next option of the command; `*at` is NULL at first. False: there is no more. The two of
 * `is_remote` come last. */
bool hl_cli_synopsis_next(
    const struct hl_cli_command *command, const char **at, struct hl_cli_synopsis_option *option);
/* The one of that name. False: the command has none such. */
bool hl_cli_synopsis_find(
    const struct hl_cli_command *command, const char *name, struct hl_cli_synopsis_option *option);
/* Whether it takes one of a few words, "dead|delivered", and nothing else. */
bool hl_cli_synopsis_has_choices(const struct hl_cli_synopsis_option *option);
/* The next word that it takes as it stands: those of "dead|delivered", "none" of "CODE|CLASS|none", of
 * REASON the reasons that there are. `*at` is 0 at first. False: there is no more. */
bool hl_cli_synopsis_word(
    const struct hl_cli_synopsis_option *option, size_t *at, struct hl_str *word);

#endif
