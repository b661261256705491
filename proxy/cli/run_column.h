/* run_column.h - the columns that a list of runs may have, by the names that --columns takes. */
#ifndef HL_CLI_RUN_COLUMN_H
#define HL_CLI_RUN_COLUMN_H

#include <jansson.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/tag.h"
#include "cli/table.h"

struct hl_cli;

struct hl_cli_run_columns {
    struct hl_cli_column each[HL_CLI_COLUMNS_MAX];
    uint8_t which[HL_CLI_COLUMNS_MAX]; /* of all that there are */
    size_t n;
};

/* `names`, with a comma between them, in that order; NULL: the usual ones. Each fault is said, and HL_CLI_USAGE returned. */
HL_MUST_CHECK int hl_cli_run_columns_read(
    struct hl_cli_run_columns *columns, const struct hl_cli *cli, const char *names);

/* Its tags as one writes them, "tier=gold,order=17"; empty: none. Returns `out`. */
const char *hl_cli_run_tags(const json_t *run, char out[HL_TAGS_TEXT + 1]);

/* The run as a row of a table with these columns. */
void hl_cli_run_columns_add(
    const struct hl_cli_run_columns *columns, struct hl_cli_table *table, const json_t *run);

#endif
