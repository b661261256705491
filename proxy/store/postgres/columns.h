/* columns.h - rows that are written one after the other and go to PostgreSQL as arrays, one for each
 * column, under the names of a statement's parameters. One thread owns them. Running out of memory shows when they are bound. */
#ifndef HL_STORE_POSTGRES_COLUMNS_H
#define HL_STORE_POSTGRES_COLUMNS_H

#include "store/postgres/param.h"

struct hl_columns;

struct hl_pg_column {
    unsigned param; /* of which it is the value */
    enum hl_pg_type type;
};

struct hl_pg_columns {
    struct hl_pg_params each[HL_PG_PARAMS_MAX]; /* their items */
    struct hl_pg_column columns[HL_PG_PARAMS_MAX];
    size_t n, rows, bytes;
    size_t at; /* the next column of the row under way */
};

void hl_pg_columns_init(struct hl_pg_columns *c);
void hl_pg_columns_fini(struct hl_pg_columns *c);
/* Neither rows nor columns are in it any more; the room stays, unless it is much. */
void hl_pg_columns_clear(struct hl_pg_columns *c);
/* What the columns are, for when there may be no row. */
void hl_pg_columns_shape(struct hl_pg_columns *c, const struct hl_pg_column *columns, size_t n);

/* The next item of the row. Each row has the same columns in the same order. */
void hl_pg_columns_int(struct hl_pg_columns *c, unsigned param, int64_t v);
void hl_pg_columns_id(
    struct hl_pg_columns *c, unsigned param, const struct hl_id *id); /* nil: null */
void hl_pg_columns_bytes(struct hl_pg_columns *c, unsigned param, struct hl_str s);
void hl_pg_columns_text(struct hl_pg_columns *c, unsigned param, struct hl_str s);
/* Null, unless it is there. */
void hl_pg_columns_int_if(struct hl_pg_columns *c, unsigned param, bool is_there, int64_t v);
void hl_pg_columns_bytes_if(
    struct hl_pg_columns *c, unsigned param, bool is_there, struct hl_str s);
void hl_pg_columns_null(struct hl_pg_columns *c, unsigned param, enum hl_pg_type type);
/* Those of {…_arrays} in the statement, of which `first` is the first. */
void hl_pg_columns_record(struct hl_pg_columns *c, const struct hl_statement *statement,
    unsigned first, const struct hl_columns *columns, const void *record);
void hl_pg_columns_end_row(struct hl_pg_columns *c);

/* Adds a parameter for each column. */
void hl_pg_columns_bind(const struct hl_pg_columns *c, struct hl_pg_params *p);

#endif
