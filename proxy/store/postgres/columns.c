/* columns.c - see columns.h. */
#include "store/postgres/columns.h"

#include <string.h>

#include "base/assert.h"
#include "base/id.h"
#include "store/column.h"
#include "store/statement.h"

#define ROOM_KEPT (256 * 1024) /* of a column: bodies are rarely as long */

void hl_pg_columns_init(struct hl_pg_columns *c)
{
    *c = (struct hl_pg_columns){.n = 0};
    for (size_t i = 0; i < HL_PG_PARAMS_MAX; i++)
        hl_pg_params_init(&c->each[i]);
}

void hl_pg_columns_fini(struct hl_pg_columns *c)
{
    for (size_t i = 0; i < HL_PG_PARAMS_MAX; i++)
        hl_pg_params_fini(&c->each[i]);
}

void hl_pg_columns_clear(struct hl_pg_columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        hl_pg_params_clear(&c->each[i]);
        if (c->each[i].bytes.cap > ROOM_KEPT)
            hl_pg_params_fini(&c->each[i]);
    }
    c->n = c->rows = c->bytes = c->at = 0;
}

void hl_pg_columns_shape(struct hl_pg_columns *c, const struct hl_pg_column *columns, size_t n)
{
    HL_ASSERT(c->rows == 0 && n <= HL_PG_PARAMS_MAX);
    memcpy(c->columns, columns, n * sizeof(*columns));
    c->n = n;
}

static struct hl_pg_params *next(struct hl_pg_columns *c, unsigned param, enum hl_pg_type type)
{
    size_t at = c->at++;
    HL_ASSERT(at < HL_PG_PARAMS_MAX);
    if (at == c->n)
        c->columns[c->n++] = (struct hl_pg_column){param, type};
    HL_ASSERT(c->columns[at].param == param && c->columns[at].type == type);
    return &c->each[at];
}

void hl_pg_columns_int(struct hl_pg_columns *c, unsigned param, int64_t v)
{
    hl_pg_item_int(next(c, param, HL_PG_INT), v);
}

void hl_pg_columns_id(struct hl_pg_columns *c, unsigned param, const struct hl_id *id)
{
    if (hl_id_is_nil(id))
        hl_pg_item_null(next(c, param, HL_PG_ID));
    else
        hl_pg_item_id(next(c, param, HL_PG_ID), id);
}

void hl_pg_columns_bytes(struct hl_pg_columns *c, unsigned param, struct hl_str s)
{
    c->bytes += s.n;
    hl_pg_item_str(next(c, param, HL_PG_BYTES), s);
}

void hl_pg_columns_text(struct hl_pg_columns *c, unsigned param, struct hl_str s)
{
    c->bytes += s.n;
    hl_pg_item_str(next(c, param, HL_PG_TEXT), s);
}

void hl_pg_columns_int_if(struct hl_pg_columns *c, unsigned param, bool is_there, int64_t v)
{
    if (is_there)
        hl_pg_columns_int(c, param, v);
    else
        hl_pg_columns_null(c, param, HL_PG_INT);
}

void hl_pg_columns_bytes_if(struct hl_pg_columns *c, unsigned param, bool is_there, struct hl_str s)
{
    if (is_there)
        hl_pg_columns_bytes(c, param, s);
    else
        hl_pg_columns_null(c, param, HL_PG_BYTES);
}

void hl_pg_columns_null(struct hl_pg_columns *c, unsigned param, enum hl_pg_type type)
{
    hl_pg_item_null(next(c, param, type));
}

static void add_column(
    struct hl_pg_columns *c, unsigned param, const struct hl_column *column, const void *record)
{
    static const enum hl_pg_type types[] = {[HL_COLUMN_INT] = HL_PG_INT,
        [HL_COLUMN_ID] = HL_PG_ID,
        [HL_COLUMN_TEXT] = HL_PG_TEXT,
        [HL_COLUMN_RAW] = HL_PG_BYTES,
        [HL_COLUMN_BYTES] = HL_PG_BYTES};
    struct hl_str s = {NULL, 0};
    int64_t v = 0;
    if (column->type == HL_COLUMN_ID) {
        hl_pg_columns_id(c, param, (const void *)((const char *)record + column->at));
        return;
    }
    if (column->type == HL_COLUMN_INT)
        v = hl_column_int(column, record);
    else
        s = hl_column_str(column, record);
    struct hl_pg_params *items = next(c, param, types[column->type]);
    c->bytes += s.n;
    if (column->or_null && v == 0 && s.n == 0)
        hl_pg_item_null(items);
    else if (column->type == HL_COLUMN_INT)
        hl_pg_item_int(items, v);
    else
        hl_pg_item_str(items, s);
}

void hl_pg_columns_record(struct hl_pg_columns *c, const struct hl_statement *statement,
    unsigned first, const struct hl_columns *columns, const void *record)
{
    const uint8_t *param = statement->params;
    while (*param != first && *param != HL_STATEMENT_END)
        param++;
    HL_ASSERT(param + columns->n <= statement->params + statement->n_params);
    for (size_t i = 0; i < columns->n; i++)
        add_column(c, param[i], &columns->each[i], record);
}

void hl_pg_columns_end_row(struct hl_pg_columns *c)
{
    HL_ASSERT(c->at == c->n);
    c->at = 0;
    c->rows++;
}

void hl_pg_columns_bind(const struct hl_pg_columns *c, struct hl_pg_params *p)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!p->err)
            p->err = c->each[i].err;
        hl_pg_array_begin(p, c->columns[i].param, c->columns[i].type, c->rows);
        hl_pg_items(p, hl_buf_str(&c->each[i].bytes));
        hl_pg_array_end(p);
    }
}
