/* statement.h - how values go into the statements of sqlite/sql/ and come out of their rows. */
#ifndef HL_STORE_SQLITE_STATEMENT_H
#define HL_STORE_SQLITE_STATEMENT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "store/statement.h"

struct hl_body;
struct hl_columns;
struct hl_outcome;

/* How many rows a statement adds at most: there is one for each power of two up to here. */
#define HL_SQL_MANY 8

/* How many of `left` rows the next statement adds. */
static inline size_t hl_sql_many(size_t left)
{
    size_t n = HL_SQL_MANY;
    while (n > left)
        n /= 2;
    return n;
}

/* Maps a result code. A full volume is told from other I/O errors by errno. */
enum hl_err hl_sql_err(sqlite3 *db, int rc);

/* The parameters of a statement that is to be run, which are bound by their names (of enum hl_sql_param, or of
 * hl_ask_param): all of them, each once. It costs least in the order in which they stand in the statement. Strings and
 * blobs are borrowed until the statement is reset. */
struct hl_sql_args {
    sqlite3_stmt *st;
    const struct hl_statement *statement;
    const uint8_t *next; /* of its parameters, where the next one is looked for */
    uintptr_t zero;      /* of which the distance is a parameter's number in the library */
    int unbound;         /* how many are to be bound yet */
};

static inline void hl_sql_args_begin(
    struct hl_sql_args *args, sqlite3_stmt *st, const struct hl_statement *statement)
{
    args->st = st;
    args->statement = statement;
    args->next = statement->params;
    args->zero = (uintptr_t)statement->params;
    args->unbound = statement->n_values;
}

/* Of a statement of many rows: what follows is bound to that one. */
struct hl_sql_args *hl_sql_args_row(struct hl_sql_args *args, size_t row);
/* Whether the statement has it: of several that are much the same not each has all. */
bool hl_sql_takes(const struct hl_sql_args *args, unsigned param);
/* Where it is among the statement's parameters: it is one of them. */
const uint8_t *hl_sql_args_find(const struct hl_sql_args *args, unsigned param);

/* Its number in the library. */
static inline int hl_sql_args_take(struct hl_sql_args *args, unsigned param)
{
    const uint8_t *at = args->next;
    if (*at != param)
        at = hl_sql_args_find(args, param);
    args->next = ++at;
    args->unbound--;
    return (int)((uintptr_t)at - args->zero);
}

static inline void hl_sql_bind_int(struct hl_sql_args *args, unsigned param, int64_t v)
{
    sqlite3_bind_int64(args->st, hl_sql_args_take(args, param), v);
}

static inline void hl_sql_bind_null(struct hl_sql_args *args, unsigned param)
{
    sqlite3_bind_null(args->st, hl_sql_args_take(args, param));
}

/* 0: null. */
static inline void hl_sql_bind_time(struct hl_sql_args *args, unsigned param, int64_t ms)
{
    if (ms > 0)
        hl_sql_bind_int(args, param, ms);
    else
        hl_sql_bind_null(args, param);
}

static inline void hl_sql_bind_text(struct hl_sql_args *args, unsigned param, struct hl_str s)
{
    sqlite3_bind_text64(
        args->st, hl_sql_args_take(args, param), s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static inline void hl_sql_bind_blob(struct hl_sql_args *args, unsigned param, struct hl_str s)
{
    sqlite3_bind_blob64(
        args->st, hl_sql_args_take(args, param), s.n ? s.p : "", s.n, SQLITE_STATIC);
}

static inline void hl_sql_bind_id(struct hl_sql_args *args, unsigned param, const struct hl_id *id)
{
    sqlite3_bind_blob(args->st, hl_sql_args_take(args, param), id->b, sizeof(id->b), SQLITE_STATIC);
}

/* The parameters of {…_values}, of which `first` is the first. What the record's strings are is borrowed, as above. */
void hl_sql_bind_columns(
    struct hl_sql_args *args, unsigned first, const struct hl_columns *columns, const void *record);
/* The parameters of {body_values}. */
void hl_sql_bind_body(struct hl_sql_args *args, const struct hl_body *body);

/* Columns go in order: each call reads the next one. Strings and blobs are borrowed until the statement is stepped or
 * reset. */
struct hl_sql_row {
    sqlite3_stmt *st;
    int at; /* the next column */
};
int64_t hl_sql_int(struct hl_sql_row *row);
bool hl_sql_id(struct hl_sql_row *row, struct hl_id *id); /* false: NULL or not an id; zeroed */
struct hl_str hl_sql_str(struct hl_sql_row *row);         /* text or blob */
/* Those of {…_columns}. */
void hl_sql_columns(struct hl_sql_row *row, const struct hl_columns *columns, void *record);
/* The columns of {body}; `bytes` stays NULL and `*bytes` borrows them. */
void hl_sql_body(struct hl_sql_row *row, struct hl_body *body, struct hl_str *bytes);
/* Those of {result}, likewise. */
void hl_sql_outcome(struct hl_sql_row *row, struct hl_outcome *outcome, struct hl_str *bytes);

#endif
