/* catalog.h - the commands of `hookline`: one table of words, function, help and examples; and the functions, each of
 * which returns the exit status. */
#ifndef HL_CLI_CATALOG_H
#define HL_CLI_CATALOG_H

#include <stddef.h>

#include "cli/cli.h"

/* Ordered as help shows them. */
extern const struct hl_cli_command hl_cli_commands[];
extern const size_t hl_cli_command_count;

int hl_cli_dev(const struct hl_cli *cli);

int hl_cli_call(const struct hl_cli *cli);
int hl_cli_runs_send(const struct hl_cli *cli);

int hl_cli_token_create(const struct hl_cli *cli);
int hl_cli_token_list(const struct hl_cli *cli);
int hl_cli_token_revoke(const struct hl_cli *cli);
int hl_cli_dashboard(const struct hl_cli *cli); /* a link that signs in */

int hl_cli_runs_list(const struct hl_cli *cli);
int hl_cli_runs_errors(const struct hl_cli *cli);
int hl_cli_runs_cancel(const struct hl_cli *cli);
int hl_cli_runs_rerun(const struct hl_cli *cli);
int hl_cli_runs_show(const struct hl_cli *cli);
int hl_cli_runs_result(const struct hl_cli *cli);
int hl_cli_runs_logs(const struct hl_cli *cli);
int hl_cli_runs_wait(const struct hl_cli *cli);
int hl_cli_runs_redeliver(const struct hl_cli *cli);

int hl_cli_deliveries_list(const struct hl_cli *cli);
int hl_cli_deliveries_show(const struct hl_cli *cli);
int hl_cli_deliveries_destinations(const struct hl_cli *cli);
int hl_cli_deliveries_redeliver(const struct hl_cli *cli);
int hl_cli_deliveries_test(const struct hl_cli *cli);

int hl_cli_logs(const struct hl_cli *cli); /* all runs' */

int hl_cli_jobs_list(const struct hl_cli *cli);
int hl_cli_jobs_show(const struct hl_cli *cli);
int hl_cli_jobs_stop(const struct hl_cli *cli);

int hl_cli_audit(const struct hl_cli *cli); /* who changed what */

int hl_cli_config_show(const struct hl_cli *cli);  /* the settings in effect, secrets masked */
int hl_cli_config_table(const struct hl_cli *cli); /* all settings as a Markdown table */
int hl_cli_config_check(const struct hl_cli *cli); /* could it start? */

int hl_cli_store_migrate(const struct hl_cli *cli);
int hl_cli_store_status(const struct hl_cli *cli);
int hl_cli_store_import(const struct hl_cli *cli);
int hl_cli_store_rekey(const struct hl_cli *cli);
int hl_cli_store_backup(const struct hl_cli *cli);
int hl_cli_store_check(const struct hl_cli *cli);
int hl_cli_key_create(const struct hl_cli *cli); /* a new data key */

int hl_cli_sign(const struct hl_cli *cli);
int hl_cli_verify(const struct hl_cli *cli);
int hl_cli_drain(const struct hl_cli *cli);  /* it is to be stopped soon */
int hl_cli_health(const struct hl_cli *cli); /* is the sidecar of this environment ready? */

int hl_cli_help(const struct hl_cli *cli);       /* the commands, and the settings */
int hl_cli_help_words(const struct hl_cli *cli); /* `hookline help runs list` */
int hl_cli_version(const struct hl_cli *cli);    /* "hookline 1.2.3" */
int hl_cli_man(const struct hl_cli *cli);        /* the manual page, made of the table */
int hl_cli_completion(const struct hl_cli *cli); /* commands and options for a shell to complete */

#endif
