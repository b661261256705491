/* error_line.h - the one line that says what went wrong, of an answer that says no. */
#ifndef HL_HTTP_ERROR_LINE_H
#define HL_HTTP_ERROR_LINE_H

#include <stdbool.h>

#include "base/str.h"

#define HL_ERROR_LINE_CHARACTERS 160
#define HL_ERROR_LINE_MAX        640 /* bytes that these may have */

/* How much of a body is looked at: what has said nothing until there says nothing. */
#define HL_ERROR_LINE_LOOKS 65536

/* `out` is UTF-8 that a NUL ends, without line ends, controls and what turns the reading direction; empty: there is
 * none. A longer line is cut behind a character. */

/* Of a text that hl_json_check has taken: the first of `detail` (a string, or the `msg` of its first, as FastAPI
 * has it), `error` (a string, or its `message`), `message` and `title` of its object that is a string with anything to read. Of several by one name the last counts. */
void hl_error_line_of_json(struct hl_str json, char out[HL_ERROR_LINE_MAX + 1]);
/* The first line with anything to read; of a Python traceback what was raised. What is no UTF-8 in it becomes U+FFFD. */
void hl_error_line_of_text(struct hl_str text, char out[HL_ERROR_LINE_MAX + 1]);
/* The same of what stands outside the markup: most often the title. */
void hl_error_line_of_html(struct hl_str html, char out[HL_ERROR_LINE_MAX + 1]);

#endif
