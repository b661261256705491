/* table.h - rows for people: columns as wide as what is in them. What peers sent is escaped. */
#ifndef HL_CLI_TABLE_H
#define HL_CLI_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

#define HL_CLI_COLUMNS_MAX 10

struct hl_cli_table {
    size_t columns, cells;
    struct hl_buf text; /* the cells, each with a NUL */
    bool has_failed;    /* out of memory: less is shown */
    size_t width[HL_CLI_COLUMNS_MAX];
};

/* `titles` are the first row. */
void hl_cli_table_init(struct hl_cli_table *t, const char *const *titles, size_t columns);
void hl_cli_table_fini(struct hl_cli_table *t);
/* The next cell; NULL or empty: "-". */
void hl_cli_table_add(struct hl_cli_table *t, const char *text);
void hl_cli_table_print(struct hl_cli_table *t, FILE *out);

/* A member as a cell: strings as they are, numbers in digits, null as "-". `into` has `cap` bytes. */
const char *hl_cli_member(const json_t *object, const char *name, char *into, size_t cap);
#define HL_CLI_MEMBER_TEXT 320

/* Prints what may have come from outside: bytes that a terminal would act on as \xNN. */
void hl_cli_print(FILE *out, const char *text);

#endif
