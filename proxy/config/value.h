/* value.h - the texts of settings as values: switches, durations, sizes. Pure. */
#ifndef HL_CONFIG_VALUE_H
#define HL_CONFIG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_buf;
struct hl_str;

#define HL_VALUE_TEXT 24 /* room for any formatted value and NUL */

/* on, off, true, false, 1, 0 in any case. */
bool hl_value_parse_switch(struct hl_str text, bool *out);

/* A whole number and its unit: ms, s, m, h, d; a bare 0. False also on overflow. */
bool hl_value_parse_duration(struct hl_str text, uint64_t *ms);
/* A whole number and its unit: KiB, MiB, GiB, TiB; without one, bytes. False also on overflow. */
bool hl_value_parse_size(struct hl_str text, uint64_t *bytes);
/* 1% to 100%. */
bool hl_value_parse_percent(struct hl_str text, uint32_t *percent);

/* In the largest unit that leaves no rest: what the parser above would read back. */
void hl_value_format_duration(uint64_t ms, char out[HL_VALUE_TEXT]);
void hl_value_format_size(uint64_t bytes, char out[HL_VALUE_TEXT]);

/* Appends a text for people to read on one line: bytes outside printable ASCII as \xNN. */
HL_MUST_CHECK enum hl_err hl_value_append_readable(struct hl_buf *out, struct hl_str text);
/* The same in quotes; a long text is cut. */
HL_MUST_CHECK enum hl_err hl_value_append_quoted(struct hl_buf *out, struct hl_str text);
/* The same of what may be a URL, or several: **** for all between the first // and the last @, where somebody may have
 * written a password. */
HL_MUST_CHECK enum hl_err hl_value_append_quoted_url(struct hl_buf *out, struct hl_str text);

/* Takes the first entry between commas off `*rest`, trimmed. False: it is empty, which is a mistake, and so is
 * a list of none. */
HL_MUST_CHECK bool hl_value_next_word(struct hl_str *rest, bool *has_more, struct hl_str *word);

#endif
