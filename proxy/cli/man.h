/* man.h - `hookline man`: the manual page, made of the commands' table. Returns the exit status. */
#ifndef HL_CLI_MAN_H
#define HL_CLI_MAN_H

struct hl_cli;

int hl_cli_man(const struct hl_cli *cli);

#endif
