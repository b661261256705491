/* store.h - `hookline store`: what is done with a database that many replicas share. */
#ifndef HL_CLI_STORE_H
#define HL_CLI_STORE_H

struct hl_cli;

int hl_cli_store_migrate(const struct hl_cli *cli);
int hl_cli_store_status(const struct hl_cli *cli);
int hl_cli_store_import(const struct hl_cli *cli);
int hl_cli_store_rekey(const struct hl_cli *cli);

#endif
