/* completion.h - `hookline completion SHELL`: commands and options for a shell to complete. Returns the
 * exit status. */
#ifndef HL_CLI_COMPLETION_H
#define HL_CLI_COMPLETION_H

struct hl_cli;

int hl_cli_completion(const struct hl_cli *cli);

#endif
