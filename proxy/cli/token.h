/* token.h - `hookline token create`, `list` and `revoke`. Each returns the exit status. */
#ifndef HL_CLI_TOKEN_H
#define HL_CLI_TOKEN_H

struct hl_cli;

int hl_cli_token_create(const struct hl_cli *cli);
int hl_cli_token_list(const struct hl_cli *cli);
int hl_cli_token_revoke(const struct hl_cli *cli);

#endif
