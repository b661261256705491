/* columns.h - rows that are written one after the other and go to PostgreSQL as arrays, one for each
 * column. One thread owns them. Running out of memory shows when they are bound. */
#ifndef HL_STORE_POSTGRES_COLUMNS_H
#define HL_STORE_POSTGRES_COLUMNS_H

#include "store/postgres/param.h"

struct hl_pg_columns {
    struct hl_pg_params each[HL_PG_PARAMS_MAX]; /* their items */
    enum hl_pg_type types[HL_PG_PARAMS_MAX];
    size_t n, rows, bytes;
    size_t at; /* the next column of the row under way */
};

void hl_pg_columns_init(struct hl_pg_columns *c);
void hl_pg_columns_fini(struct hl_pg_columns *c);
/* Neither rows nor columns are in it any more; the room stays. */
void hl_pg_columns_clear(struct hl_pg_columns *c);
/* What the columns are, for when there may be no row. */
void hl_pg_columns_shape(struct hl_pg_columns *c, const enum hl_pg_type *types, size_t n);

/* The next item of the row. Each row has the same types. */
void hl_pg_columns_int(struct hl_pg_columns *c, int64_t v);
void hl_pg_columns_id(struct hl_pg_columns *c, const struct hl_id *id); /* nil: null */
void hl_pg_columns_bytes(struct hl_pg_columns *c, struct hl_str s);
void hl_pg_columns_text(struct hl_pg_columns *c, struct hl_str s);
void hl_pg_columns_null(struct hl_pg_columns *c, enum hl_pg_type type);
void hl_pg_columns_end_row(struct hl_pg_columns *c);

/* Appends a parameter for each column to `p`: the statement's next ones. */
void hl_pg_columns_bind(
    const struct hl_pg_columns *c, const struct hl_statement *statement, struct hl_pg_params *p);

#endif
