/* row.c - see row.h. */
#include "store/postgres/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/limits.h"
#include "base/str.h"
#include "store/column.h"
#include "store/record.h"

static struct hl_str take(struct hl_pg_row *row, bool *is_null)
{
    int column = row->column++;
    *is_null = PQgetisnull(row->result, row->row, column);
    return (struct hl_str){PQgetvalue(row->result, row->row, column),
        (size_t)PQgetlength(row->result, row->row, column)};
}

int64_t hl_pg_int(struct hl_pg_row *row)
{
    bool is_null;
    struct hl_str s = take(row, &is_null);
    if (is_null || s.n == 0)
        return 0;
    uint64_t v = (signed char)s.p[0] < 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < s.n; i++)
        v = v << 8 | (uint8_t)s.p[i];
    return (int64_t)v;
}

bool hl_pg_id(struct hl_pg_row *row, struct hl_id *id)
{
    bool is_null;
    struct hl_str s = take(row, &is_null);
    *id = (struct hl_id){{0}};
    if (is_null || s.n != sizeof(id->b))
        return false;
    memcpy(id->b, s.p, s.n);
    return true;
}

struct hl_str hl_pg_str(struct hl_pg_row *row)
{
    bool is_null;
    struct hl_str s = take(row, &is_null);
    return is_null ? (struct hl_str){"", 0} : s;
}

bool hl_pg_next_is_null(const struct hl_pg_row *row)
{
    return PQgetisnull(row->result, row->row, row->column);
}

void hl_pg_read_columns(struct hl_pg_row *row, const struct hl_columns *columns, void *record)
{
    for (size_t i = 0; i < columns->n; i++) {
        const struct hl_column *column = &columns->each[i];
        if (column->type == HL_COLUMN_INT)
            hl_column_set_int(column, record, hl_pg_int(row));
        else if (column->type == HL_COLUMN_ID)
            hl_pg_id(row, (struct hl_id *)(void *)((char *)record + column->at));
        else
            hl_column_set_str(column, record, hl_pg_str(row));
    }
}

void hl_pg_body(struct hl_pg_row *row, struct hl_body *body, struct hl_str *bytes)
{
    *body = (struct hl_body){.where = (enum hl_body_where)hl_pg_int(row)};
    body->size = (uint64_t)hl_pg_int(row);
    struct hl_str digest = hl_pg_str(row);
    if (digest.n == sizeof(body->digest))
        memcpy(body->digest, digest.p, digest.n);
    hl_pg_id(row, &body->file);
    *bytes = hl_pg_str(row);
}

void hl_pg_outcome(struct hl_pg_row *row, struct hl_outcome *outcome, struct hl_str *bytes)
{
    outcome->state = (enum hl_run_state)hl_pg_int(row);
    hl_pg_read_columns(row, &hl_outcome_columns, outcome);
    hl_pg_body(row, &outcome->body, bytes);
}

void hl_pg_account(struct hl_pg_row *row, struct hl_account *account)
{
    hl_pg_id(row, &account->id);
    hl_pg_read_columns(row, &hl_account_columns, account);
    hl_pg_limits(row, &account->limits);
}

void hl_pg_limits(struct hl_pg_row *row, struct hl_limits *limits)
{
    int64_t numbers[HL_LIMITS_NUMBERS];
    for (size_t i = 0; i < HL_LIMITS_NUMBERS; i++)
        numbers[i] = hl_pg_int(row);
    hl_limits_from_numbers(limits, numbers);
}
