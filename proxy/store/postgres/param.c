/* param.c - see param.h. The binary format of arrays is what PostgreSQL's array_recv reads. */
#include "store/postgres/param.h"

#include "base/assert.h"
#include "base/id.h"
#include "store/statement.h"

/* Of PostgreSQL's own types: these never change. */
static const uint32_t oids[] = {
    [HL_PG_INT] = 20, [HL_PG_ID] = 2950, [HL_PG_BYTES] = 17, [HL_PG_TEXT] = 25};

void hl_pg_params_init(struct hl_pg_params *p)
{
    *p = (struct hl_pg_params){.err = HL_OK};
}

void hl_pg_params_fini(struct hl_pg_params *p)
{
    hl_buf_fini(&p->bytes);
}

void hl_pg_params_clear(struct hl_pg_params *p)
{
    p->bytes.n = 0;
    p->n = 0;
    p->err = HL_OK;
}

/* --- bytes ---------------------------------------------------------------------------------- */

static void put(struct hl_pg_params *p, const void *bytes, size_t n)
{
    if (!p->err && n > 0)
        p->err = hl_buf_append(&p->bytes, bytes, n);
}

#define WORDS_MAX 5

/* In one piece: it is what each item of each array begins with. */
static void put_words(struct hl_pg_params *p, const uint32_t *words, size_t n)
{
    uint8_t b[4 * WORDS_MAX];
    for (size_t i = 0; i < n; i++) {
        b[4 * i] = (uint8_t)(words[i] >> 24);
        b[4 * i + 1] = (uint8_t)(words[i] >> 16);
        b[4 * i + 2] = (uint8_t)(words[i] >> 8);
        b[4 * i + 3] = (uint8_t)words[i];
    }
    put(p, b, 4 * n);
}

static void put_32(struct hl_pg_params *p, uint32_t v)
{
    put_words(p, &v, 1);
}

static void put_64(struct hl_pg_params *p, int64_t v)
{
    put_words(p, (const uint32_t[]){(uint32_t)((uint64_t)v >> 32), (uint32_t)v}, 2);
}

static void begin(struct hl_pg_params *p, unsigned param)
{
    HL_ASSERT(p->n < HL_PG_PARAMS_MAX);
    p->at[p->n] = p->bytes.n;
    p->names[p->n] = (uint8_t)param;
    p->is_null[p->n] = false;
}

static void end(struct hl_pg_params *p)
{
    p->lengths[p->n] = (int)(p->bytes.n - p->at[p->n]);
    p->n++;
}

/* --- plain values --------------------------------------------------------------------------- */

void hl_pg_add_int(struct hl_pg_params *p, unsigned param, int64_t v)
{
    begin(p, param);
    put_64(p, v);
    end(p);
}

void hl_pg_add_id(struct hl_pg_params *p, unsigned param, const struct hl_id *id)
{
    begin(p, param);
    put(p, id->b, sizeof(id->b));
    end(p);
}

void hl_pg_add_str(struct hl_pg_params *p, unsigned param, struct hl_str s)
{
    begin(p, param);
    put(p, s.p, s.n);
    end(p);
}

char *hl_pg_add_room(struct hl_pg_params *p, unsigned param, size_t n)
{
    if (!p->err)
        p->err = hl_buf_reserve(&p->bytes, n);
    if (p->err)
        return NULL;
    begin(p, param);
    char *room = p->bytes.p + p->bytes.n;
    p->bytes.n += n;
    end(p);
    return room;
}

void hl_pg_add_null(struct hl_pg_params *p, unsigned param)
{
    begin(p, param);
    p->is_null[p->n] = true;
    end(p);
}

/* --- arrays --------------------------------------------------------------------------------- */

void hl_pg_array_begin(struct hl_pg_params *p, unsigned param, enum hl_pg_type type, size_t n)
{
    begin(p, param);
    /* One dimension, in which there may be nulls; its type and length, and the first one's index. */
    put_words(p, (const uint32_t[]){1, 1, oids[type], (uint32_t)n, 1}, WORDS_MAX);
}

void hl_pg_item_int(struct hl_pg_params *p, int64_t v)
{
    put_words(p, (const uint32_t[]){8, (uint32_t)((uint64_t)v >> 32), (uint32_t)v}, 3);
}

void hl_pg_item_id(struct hl_pg_params *p, const struct hl_id *id)
{
    put_32(p, sizeof(id->b));
    put(p, id->b, sizeof(id->b));
}

void hl_pg_item_str(struct hl_pg_params *p, struct hl_str s)
{
    put_32(p, (uint32_t)s.n);
    put(p, s.p, s.n);
}

void hl_pg_item_null(struct hl_pg_params *p)
{
    put_32(p, UINT32_MAX);
}

void hl_pg_items(struct hl_pg_params *p, struct hl_str items)
{
    put(p, items.p, items.n);
}

void hl_pg_array_end(struct hl_pg_params *p)
{
    end(p);
}

/* --- sending -------------------------------------------------------------------------------- */

/* Where it was added: mostly behind the one that stands before it in the statement. */
static int find(const struct hl_pg_params *p, uint8_t name, int guess)
{
    for (int i = 0, at = guess; i < p->n; i++, at = at + 1 < p->n ? at + 1 : 0)
        if (p->names[at] == name)
            return at;
    return -1;
}

/* A value of no bytes is not a null: it has an address all the same. */
void hl_pg_params_order(const struct hl_pg_params *p, const struct hl_statement *statement,
    const char **values, int *lengths)
{
    int at = -1;
    HL_ASSERT(p->n == (int)statement->n_params);
    for (int i = 0; i < p->n; i++) {
        at = find(p, statement->params[i], at + 1 < p->n ? at + 1 : 0);
        HL_ASSERT(at >= 0);
        values[i] = p->is_null[at] ? NULL : p->bytes.p ? p->bytes.p + p->at[at] : "";
        lengths[i] = p->lengths[at];
    }
}
