/* list_column.h - the columns that a list may have, by the names that --columns takes, and a table of those that were
 * chosen. */
#ifndef HL_CLI_LIST_COLUMN_H
#define HL_CLI_LIST_COLUMN_H

#include <jansson.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/tag.h"
#include "cli/table.h"

struct hl_cli;

#define HL_CLI_CELL_TEXT (HL_TAGS_TEXT + 1) /* a run's tags are the longest */

struct hl_cli_list_column {
    const char *name, *member; /* NULL: `made` says it */
    struct hl_cli_column column;
    bool is_usual;
    const char *(*made)(const json_t *row, char out[HL_CLI_CELL_TEXT]);
};

struct hl_cli_list_columns {
    const struct hl_cli_list_column *items;
    size_t n; /* HL_CLI_COLUMNS_MAX at most */
};

/* Stays where it is: its table points into it. */
struct hl_cli_list_table {
    struct hl_cli_table table;
    const struct hl_cli_list_columns *known;
    struct hl_cli_column each[HL_CLI_COLUMNS_MAX];
    uint8_t which[HL_CLI_COLUMNS_MAX]; /* of those that are known */
    size_t n;
};

/* `names`, with a comma between them, in that order; NULL: the usual ones. `rival` is the option that was given and has
 * columns of its own; NULL: none. Each fault is said; `status` is what was found before. */
int hl_cli_list_table_choose(struct hl_cli_list_table *t, const struct hl_cli *cli,
    const struct hl_cli_list_columns *known, const char *names, const char *rival, int status);
void hl_cli_list_table_choose_usual(
    struct hl_cli_list_table *t, const struct hl_cli_list_columns *known);

/* For what `out` is, once its columns are chosen. */
void hl_cli_list_table_init(struct hl_cli_list_table *t, FILE *out);
/* One more row; `table` is that of a struct hl_cli_list_table. */
void hl_cli_list_table_add(void *table, json_t *row);

#endif
