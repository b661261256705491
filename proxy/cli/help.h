/* help.h - what there is to say about the commands, straight from their table, in lines of at most 80 characters. */
#ifndef HL_CLI_HELP_H
#define HL_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

struct hl_cli;

int hl_cli_help_short(const struct hl_cli *cli); /* the commands */

/* About the command that the arguments begin with: its options and examples. Words that begin several:
 * a line about each. False: there is none, and nothing was printed. */
bool hl_cli_help_of(const struct hl_cli *cli);

/* ---- lines ---- */

#define HL_CLI_LINE 80

/* A text behind `at` characters that the line has already; those of further lines begin at `indent`. With
 * the newline at the end. */
void hl_cli_print_text(FILE *out, size_t at, size_t indent, const char *text);
/* The same of what a command takes, "[--limit N] [FILE]": what is in brackets stays in one line. */
void hl_cli_print_usage(FILE *out, size_t at, size_t indent, const char *usage);
/* The same of what is typed to a shell: what is quoted stays in one line, and it may be pasted. */
void hl_cli_print_typed(FILE *out, size_t at, size_t indent, const char *typed);

#endif
