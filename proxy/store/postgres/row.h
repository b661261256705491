/* row.h - a row of a result in binary format. Columns go in order: each call reads the next one.
 * What is borrowed lives as long as the result. */
#ifndef HL_STORE_POSTGRES_ROW_H
#define HL_STORE_POSTGRES_ROW_H

#include <libpq-fe.h>

#include "base/str.h"

struct hl_account;
struct hl_body;
struct hl_columns;
struct hl_id;
struct hl_limits;
struct hl_outcome;

struct hl_pg_row {
    const PGresult *result;
    int row, column; /* column: the next */
};

/* bigint, integer, smallint and boolean; a null is 0. */
int64_t hl_pg_int(struct hl_pg_row *row);
/* False: null; the id is nil then. */
bool hl_pg_id(struct hl_pg_row *row, struct hl_id *id);
/* bytea and text, borrowed; a null is empty. */
struct hl_str hl_pg_str(struct hl_pg_row *row);
bool hl_pg_next_is_null(const struct hl_pg_row *row);

/* The columns of a table (store/column.h). */
void hl_pg_read_columns(struct hl_pg_row *row, const struct hl_columns *columns, void *record);

/* body_where, body_size, body_sha256, body_file, body_bytes: {request} and the like of postgres/sql/parts.sql. `bytes` stays
 * NULL and `*bytes` borrows them. */
void hl_pg_body(struct hl_pg_row *row, struct hl_body *body, struct hl_str *bytes);
/* {outcome} of postgres/sql/parts.sql, likewise. */
void hl_pg_outcome(struct hl_pg_row *row, struct hl_outcome *outcome, struct hl_str *bytes);

/* {account} and {limits} of postgres/sql/parts.sql. */
void hl_pg_account(struct hl_pg_row *row, struct hl_account *account);
void hl_pg_limits(struct hl_pg_row *row, struct hl_limits *limits);

#endif
