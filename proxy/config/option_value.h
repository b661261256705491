/* option_value.h - a setting's value: read, freed, described and shown by its type. At start and in
 * `hookline config`. */
#ifndef HL_CONFIG_OPTION_VALUE_H
#define HL_CONFIG_OPTION_VALUE_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_config;
struct hl_option;
struct hl_str;

/* Sets the option's field, which must be empty, from its text. HL_ERR_INVALID: not allowed.
 * HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_option_parse(
    const struct hl_option *option, struct hl_str text, struct hl_config *config);
/* Frees what the field owns and leaves it empty. */
void hl_option_clear(const struct hl_option *option, struct hl_config *config);

/* Appends what a value may be, in words: "a size from 4KiB to 1MiB". */
HL_MUST_CHECK enum hl_err hl_option_describe(const struct hl_option *option, struct hl_buf *out);
/* Appends the value that holds after loading, as one would write it; a secret as ****. Control
 * bytes are escaped: it is for reading. */
HL_MUST_CHECK enum hl_err hl_option_show(
    const struct hl_option *option, const struct hl_config *config, struct hl_buf *out);

/* ---- which setting a misspelled name may have meant ---- */

/* The option whose name differs from `name` in the fewest letters, where words of it that others use stand for
 * ours (RETRIES: ATTEMPTS). Never NULL. */
const struct hl_option *hl_nearest_option(struct hl_str name);

#endif
