/* remote.h - a hookline on another machine: its address, the token for it, and the project that the
 * token is of. */
#ifndef HL_CLI_REMOTE_H
#define HL_CLI_REMOTE_H

#include <stdbool.h>

#include "base/compiler.h"

struct hl_buf;
struct hl_cli;
struct hl_str;

#define HL_CLI_ANSWER_MAX (32u << 20)

/* Where the bytes of an answer that is what was asked for go, as they come; false ends it. */
struct hl_cli_sink {
    bool (*on_bytes)(struct hl_cli_sink *sink, struct hl_str bytes);
};

struct hl_cli_far {
    char *url;     /* without the last "/"; owned */
    char *token;   /* NULL: none; owned */
    char *project; /* NULL: nobody says which; owned */
};

/* Reads what cli->remote says. HL_CLI_OK, or it has said what is wrong; then nothing is to be freed. */
HL_MUST_CHECK int hl_cli_far_open(struct hl_cli_far *far, const struct hl_cli *cli);
void hl_cli_far_close(struct hl_cli_far *far);
/* What is to be done about an answer of that status to `target`, if it was for want of a token; NULL: it
 * was not. `far` is NULL if no other machine was asked. */
const char *hl_cli_far_advice(const struct hl_cli_far *far, const char *target, unsigned status);

/* `target` is path and query. What is asked over all projects here is asked of one there: a token is of
 * one project. (Without a token all are asked for: an admin listener that is open has them.) HL_CLI_OK: there is an answer;
 * `body` is the caller's in any case. With a `sink` (or NULL) it has only what is no success. What no hookline
 * would answer, for its length, is refused. */
HL_MUST_CHECK int hl_cli_far_ask(const struct hl_cli_far *far, const struct hl_cli *cli,
    const char *method, const char *target, struct hl_str text, struct hl_cli_sink *sink,
    unsigned *status, struct hl_buf *body);

#endif
