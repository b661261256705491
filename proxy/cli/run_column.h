/* run_column.h - the columns that a list of runs may have. */
#ifndef HL_CLI_RUN_COLUMN_H
#define HL_CLI_RUN_COLUMN_H

#include "cli/list_column.h"

extern const struct hl_cli_list_columns hl_cli_run_columns;

/* Its tags as one writes them, "tier=gold,order=17"; empty: none. Returns `out`. */
const char *hl_cli_run_tags(const json_t *run, char out[HL_CLI_CELL_TEXT]);

#endif
