/* column.c - see column.h. Any thread; whoever has the record. */
#include "store/column.h"

#include <string.h>

#include "base/assert.h"

static const void *at(const struct hl_column *column, const void *record)
{
    return (const char *)record + column->at;
}

int64_t hl_column_int(const struct hl_column *column, const void *record)
{
    const void *p = at(column, record);
    switch (column->member) {
    case HL_MEMBER_BOOL:
        return *(const bool *)p;
    case HL_MEMBER_U16:
        return *(const uint16_t *)p;
    case HL_MEMBER_U32:
        return *(const uint32_t *)p;
    case HL_MEMBER_I32:
        return *(const int32_t *)p;
    default:
        HL_ASSERT(column->member == HL_MEMBER_64);
        return *(const int64_t *)p;
    }
}

void hl_column_set_int(const struct hl_column *column, void *record, int64_t v)
{
    void *p = (char *)record + column->at;
    switch (column->member) {
    case HL_MEMBER_BOOL:
        *(bool *)p = v != 0;
        break;
    case HL_MEMBER_U16:
        *(uint16_t *)p = (uint16_t)v;
        break;
    case HL_MEMBER_U32:
    case HL_MEMBER_I32:
        *(uint32_t *)p = (uint32_t)v;
        break;
    default:
        HL_ASSERT(column->member == HL_MEMBER_64);
        *(int64_t *)p = v;
    }
}

struct hl_str hl_column_str(const struct hl_column *column, const void *record)
{
    const void *p = at(column, record);
    return column->member == HL_MEMBER_STR ? *(const struct hl_str *)p : hl_str_from(p);
}

void hl_column_set_str(const struct hl_column *column, void *record, struct hl_str v)
{
    void *p = (char *)record + column->at;
    if (column->member == HL_MEMBER_STR)
        *(struct hl_str *)p = v;
    else
        hl_str_put_cut(p, column->size, v);
}

/* --- strings -------------------------------------------------------------------------------- */

size_t hl_columns_weigh(const struct hl_columns *columns, const void *record)
{
    size_t n = 0;
    for (size_t i = 0; i < columns->n; i++)
        if (columns->each[i].member == HL_MEMBER_STR)
            n += ((const struct hl_str *)at(&columns->each[i], record))->n;
    return n;
}

void hl_columns_copy(const struct hl_columns *columns, void *record, char **room)
{
    for (size_t i = 0; i < columns->n; i++) {
        struct hl_str *s = (struct hl_str *)(void *)((char *)record + columns->each[i].at);
        if (columns->each[i].member != HL_MEMBER_STR)
            continue;
        if (s->n > 0)
            memcpy(*room, s->p, s->n);
        s->p = *room;
        *room += s->n;
    }
}

void hl_columns_wipe(const struct hl_columns *columns, void *record)
{
    for (size_t i = 0; i < columns->n; i++) {
        struct hl_str s = {NULL, 0};
        if (columns->each[i].is_secret)
            s = hl_column_str(&columns->each[i], record);
        if (s.n > 0) /* a plain memset before free() may be optimised away */
            explicit_bzero((char *)s.p, s.n);
    }
}
