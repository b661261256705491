/* column.h - a record as a table of its columns: which members it has, and what each is. Who stores, reads, copies,
 * weighs or wipes a record walks over its table, so that a member is added in one place: column.c here,
 * hl_sql_bind_columns and hl_sql_read_columns (sqlite/statement.h), hl_pg_columns_record (postgres/columns.h).
 *
 * A table `NAME_columns` is also what SQL is made of: each member (of `limits.rate_count` the last part) is the name of a
 * column and of a parameter, and a .sql file (embed_sql.cmake) has in the table's order
 *   {NAME_columns}         finished_ms, reason, …
 *   {NAME_columns_of(r)}   r.finished_ms, r.reason, …
 *   {NAME_values}          :finished_ms, :reason, …
 *   {NAME_arrays}          :finished_ms::bigint[], :reason::bigint[], …   by PostgreSQL
 * Rows that several tables have are a list in a header, HL_RUN_COLUMNS(record), which is a table by itself to SQL.
 * So a row is read, and parameters are bound, by where they stand. */
#ifndef HL_STORE_COLUMN_H
#define HL_STORE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"

/* What it is in a database. */
enum hl_column_type {
    HL_COLUMN_INT,
    HL_COLUMN_ID,
    HL_COLUMN_TEXT, /* UTF-8 */
    HL_COLUMN_RAW, /* as it came over the network: bytes to PostgreSQL, whose text is UTF-8 alone */
    HL_COLUMN_BYTES,
};

/* What it is in C. */
enum hl_member_type {
    HL_MEMBER_BOOL,
    HL_MEMBER_U16,
    HL_MEMBER_U32, /* enums, too */
    HL_MEMBER_I32,
    HL_MEMBER_64,
    HL_MEMBER_ID,
    HL_MEMBER_STR,   /* struct hl_str: of a row that is read it borrows */
    HL_MEMBER_CHARS, /* an array of char that a NUL ends: what is too long for it is cut */
};

struct hl_column {
    uint16_t at, size; /* in the record */
    uint8_t type;      /* enum hl_column_type */
    uint8_t member;    /* enum hl_member_type */
    bool or_null;      /* 0, nil and what is empty are null */
    bool is_secret;    /* wiped before its memory goes */
};

struct hl_columns {
    const struct hl_column *each;
    size_t n;
};

/* A row of a table: HL_COLUMN(struct hl_outcome, finished_ms, INT). */
#define HL_COLUMN(record, member, type)         HL_COLUMN_ROW(record, member, type, false, false)
#define HL_COLUMN_OR_NULL(record, member, type) HL_COLUMN_ROW(record, member, type, true, false)
#define HL_COLUMN_SECRET(record, member, type)  HL_COLUMN_ROW(record, member, type, false, true)

#define HL_COLUMN_ROW(record, member, type, or_null, is_secret)                                    \
    {                                                                                              \
        offsetof(record, member), sizeof(((record *)NULL)->member), HL_COLUMN_##type,              \
            HL_MEMBER_TYPE(((record *)NULL)->member), (or_null), (is_secret)                       \
    }

#define HL_MEMBER_TYPE(member)                                                                     \
    _Generic((member),                                                                             \
        bool: HL_MEMBER_BOOL,                                                                      \
        uint16_t: HL_MEMBER_U16,                                                                   \
        uint32_t: HL_MEMBER_U32,                                                                   \
        int32_t: HL_MEMBER_I32,                                                                    \
        int64_t: HL_MEMBER_64,                                                                     \
        uint64_t: HL_MEMBER_64,                                                                    \
        struct hl_id: HL_MEMBER_ID,                                                                \
        struct hl_str: HL_MEMBER_STR,                                                              \
        char *: HL_MEMBER_CHARS)

#define HL_COLUMNS(table)                                                                          \
    {                                                                                              \
        (table), sizeof(table) / sizeof((table)[0])                                                \
    }

/* Of a column that is an INT, or of one that is a string. */
int64_t hl_column_int(const struct hl_column *column, const void *record);
void hl_column_set_int(const struct hl_column *column, void *record, int64_t v);
struct hl_str hl_column_str(const struct hl_column *column, const void *record);
void hl_column_set_str(const struct hl_column *column, void *record, struct hl_str v);

/* How many bytes its strings have that are no arrays. */
size_t hl_columns_weigh(const struct hl_columns *columns, const void *record);
/* They become copies, behind each other in `*room`, which moves behind them. */
void hl_columns_copy(const struct hl_columns *columns, void *record, char **room);
/* The secret ones are overwritten. */
void hl_columns_wipe(const struct hl_columns *columns, void *record);

#endif
