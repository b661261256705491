/* follow.h - a list of runs that goes on: a line for each that comes, and for each change of its state. */
#ifndef HL_CLI_FOLLOW_H
#define HL_CLI_FOLLOW_H

struct hl_cli;
struct hl_cli_session;
struct hl_cli_wish;

/* Begins with the newest that there are, the oldest of them first. Returns when the sidecar cannot be
 * asked any more, or nobody reads: it has said so, and the status is for exiting. */
int hl_cli_follow(struct hl_cli_session *session, const struct hl_cli *cli, struct hl_cli_wish *w);

#endif
