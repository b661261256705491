/* key.h - `hookline key create`: a new data key. Returns the exit status. */
#ifndef HL_CLI_KEY_H
#define HL_CLI_KEY_H

struct hl_cli;

int hl_cli_key_create(const struct hl_cli *cli);

#endif
