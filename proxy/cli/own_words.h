/* own_words.h - what a sidecar refuses, in the words of the command that has asked: its options stand for the members of
 * a body, and for parameters, that nobody has typed. */
#ifndef HL_CLI_OWN_WORDS_H
#define HL_CLI_OWN_WORDS_H

struct hl_buf;
struct hl_cli;

/* "The member url is not …" as "--to is not …", where the command has that option; a query parameter likewise. Returns
 * what is in `room`, or `detail` if memory is out. */
const char *hl_cli_own_words(const struct hl_cli *cli, const char *detail, struct hl_buf *room);

#endif
