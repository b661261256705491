/* readable.h - text that came from outside, made so that a terminal only shows it. */
#ifndef HL_CLI_READABLE_H
#define HL_CLI_READABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

/* Appends it: bytes that a terminal would act on as \xNN. */
HL_MUST_CHECK enum hl_err hl_cli_readable(struct hl_buf *out, const char *text);

/* Prints what may have come from outside. */
void hl_cli_print(FILE *out, const char *text);
/* The same, and blanks up to so many characters. */
void hl_cli_print_cell(FILE *out, const char *text, size_t width);
void hl_cli_print_line(FILE *out, const char *text);
void hl_cli_print_each_line(FILE *out, struct hl_str lines);

/* Whether bytes can go to a terminal as they are; piece by piece, from zero on. */
struct hl_cli_text_check {
    unsigned char last;
};
bool hl_cli_is_text(struct hl_cli_text_check *check, struct hl_str bytes);

#endif
