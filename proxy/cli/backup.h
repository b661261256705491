/* backup.h - `hookline store backup` and `store check`: what is done with a data directory. */
#ifndef HL_CLI_BACKUP_H
#define HL_CLI_BACKUP_H

struct hl_cli;

int hl_cli_store_backup(const struct hl_cli *cli);
int hl_cli_store_check(const struct hl_cli *cli);

#endif
