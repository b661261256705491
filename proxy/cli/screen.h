/* screen.h - what a command prints to: a terminal of some width, or a file or pipe. */
#ifndef HL_CLI_SCREEN_H
#define HL_CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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

#endif
