/* table.h - rows for people: columns as wide as what is in them, or, on a terminal, as fit there. What
 * peers sent is escaped. */
#ifndef HL_CLI_TABLE_H
#define HL_CLI_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/screen.h"

#define HL_CLI_COLUMNS_MAX 21
#define HL_CLI_TAIL        8

/* What gives way on a terminal that is too narrow: first columns with nothing in them, then ids are
 * shortened (so much of one is enough where one is wanted), then errors, texts and addresses are cut, in
 * that order, then columns go. What is free after that goes to addresses first. */
enum hl_cli_column_kind {
    HL_CLI_PLAIN,
    HL_CLI_ID,     /* its beginning stays */
    HL_CLI_RUN_ID, /* its end: the last HL_CLI_TAIL characters, by which runs are known and found */
    HL_CLI_TEXT,   /* may be cut at its end */
    HL_CLI_ERROR,  /* the same, but its first word says the most */
    HL_CLI_ADDRESS, /* of a server, or a URL there: without the scheme, then cut in the middle */
    HL_CLI_TIME     /* RFC 3339; on a terminal as "5 min ago" */
};

struct hl_cli_column {
    const char *title;
    enum hl_cli_column_kind kind;
    unsigned rank; /* the highest goes first; 0: never */
};

struct hl_cli_table {
    size_t columns, cells;
    struct hl_buf text; /* the cells, each with a NUL */
    bool has_failed;    /* out of memory: less is shown */
    int64_t now_ms;
    struct hl_cli_screen screen;
    const struct hl_cli_column *kinds; /* NULL: all plain, and all are shown */
    bool is_used[HL_CLI_COLUMNS_MAX];  /* by another row than the titles' */
    size_t width[HL_CLI_COLUMNS_MAX];  /* SIZE_MAX: not shown */
};

/* `titles` are the first row. Not for a terminal in particular. */
void hl_cli_table_init(struct hl_cli_table *t, const char *const *titles, size_t columns);
/* For what `out` is; `columns` stays the caller's. */
void hl_cli_table_init_for(
    struct hl_cli_table *t, FILE *out, const struct hl_cli_column *columns, size_t n);
void hl_cli_table_fini(struct hl_cli_table *t);
/* The next cell; NULL or empty: "-". */
void hl_cli_table_add(struct hl_cli_table *t, const char *text);
void hl_cli_table_print(struct hl_cli_table *t, FILE *out);

/* A member as a cell: strings as they are, numbers in digits, null as "-". `into` has `cap` bytes. */
const char *hl_cli_member(const json_t *object, const char *name, char *into, size_t cap);
#define HL_CLI_MEMBER_TEXT 648 /* an error is the longest */

#endif
