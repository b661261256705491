/* screen.h - what a command prints to: a terminal of some width, or a file or pipe; and text that came from outside, made
 * so that a terminal only shows it. */
#ifndef HL_CLI_SCREEN_H
#define HL_CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

struct hl_cli_screen {
    bool is_terminal;
    bool has_color; /* no NO_COLOR, and not a dumb one */
    unsigned width; /* in characters; 0: as wide as it takes */
};

struct hl_cli_screen hl_cli_screen_of(FILE *out);

/* "\033[31m" for a word that says how something is ("failure"), "" for any other, or without colour. */
const char *hl_cli_color_of(const struct hl_cli_screen *screen, const char *word);
/* For titles. */
const char *hl_cli_color_faint(const struct hl_cli_screen *screen);
const char *hl_cli_color_end(const struct hl_cli_screen *screen);

/* "12 s ago", "in 89 d": for people who look now. `into` has HL_CLI_AGO bytes. */
#define HL_CLI_AGO 32
const char *hl_cli_ago(int64_t wall_ms, int64_t now_ms, char *into);

/* ---- text from outside ---- */

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
