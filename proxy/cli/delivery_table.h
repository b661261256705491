/* delivery_table.h - webhooks as rows of a table. */
#ifndef HL_CLI_DELIVERY_TABLE_H
#define HL_CLI_DELIVERY_TABLE_H

#include "cli/table.h"

void hl_cli_delivery_table_init(struct hl_cli_table *table, FILE *out);
void hl_cli_delivery_table_add(struct hl_cli_table *table, const json_t *delivery);

#endif
