/* config.h - `hookline config show` and `table`. Each returns the exit status. */
#ifndef HL_CLI_CONFIG_H
#define HL_CLI_CONFIG_H

struct hl_cli;

int hl_cli_config_show(const struct hl_cli *cli);  /* the settings in effect, secrets masked */
int hl_cli_config_table(const struct hl_cli *cli); /* all settings as a Markdown table */

#endif
