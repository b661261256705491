/* deliveries.h - webhooks as rows of a table: where each goes, how it stands, what its newest attempt met. */
#ifndef HL_CLI_DELIVERIES_H
#define HL_CLI_DELIVERIES_H

#include "cli/list_column.h"

extern const struct hl_cli_list_columns hl_cli_delivery_columns;

/* What an attempt met if that was not a success: the member `error` of it, or "status 500" of the member
 * `status`. `into` has `cap` bytes. */
const char *hl_cli_attempt_error(
    const json_t *attempt, const char *error, const char *status, char *into, size_t cap);

#endif
