/* sign.h - `hookline sign` and `verify`: a webhook's signatures. Each returns the exit status. */
#ifndef HL_CLI_SIGN_H
#define HL_CLI_SIGN_H

struct hl_cli;

int hl_cli_sign(const struct hl_cli *cli);
int hl_cli_verify(const struct hl_cli *cli);

#endif
