/* param.h - the parameters of one statement, in PostgreSQL's binary format: plain values, and arrays
 * of which each item belongs to one operation of a flush. Each is added under its name (of enum hl_pg_sql_param, or of
 * the set that the statement is of), in any order. One thread owns them.
 *
 * Running out of memory is remembered in `err`; what is added after it is dropped. */
#ifndef HL_STORE_POSTGRES_PARAM_H
#define HL_STORE_POSTGRES_PARAM_H

#include <stdint.h>

#include "base/buf.h"

struct hl_id;
struct hl_statement;
struct hl_str;

#define HL_PG_PARAMS_MAX 64

/* The types of arrays. */
enum hl_pg_type { HL_PG_INT, HL_PG_ID, HL_PG_BYTES, HL_PG_TEXT };

struct hl_pg_params {
    struct hl_buf bytes;
    size_t at[HL_PG_PARAMS_MAX]; /* where in `bytes` each begins */
    int lengths[HL_PG_PARAMS_MAX];
    uint8_t names[HL_PG_PARAMS_MAX];
    bool is_null[HL_PG_PARAMS_MAX];
    int n;
    enum hl_err err;
};

void hl_pg_params_init(struct hl_pg_params *p);
void hl_pg_params_fini(struct hl_pg_params *p);
/* Nothing is in it any more; the room stays. */
void hl_pg_params_clear(struct hl_pg_params *p);

/* A parameter: bigint, uuid, and bytea or text. */
void hl_pg_add_int(struct hl_pg_params *p, unsigned param, int64_t v);
void hl_pg_add_id(struct hl_pg_params *p, unsigned param, const struct hl_id *id);
void hl_pg_add_str(struct hl_pg_params *p, unsigned param, struct hl_str s);
/* One of `n` bytes that the caller writes before the next change. NULL: out of memory. */
char *hl_pg_add_room(struct hl_pg_params *p, unsigned param, size_t n);
void hl_pg_add_null(struct hl_pg_params *p, unsigned param);

/* A parameter that is an array of `n` items, which follow; hl_pg_array_end after them. */
void hl_pg_array_begin(struct hl_pg_params *p, unsigned param, enum hl_pg_type type, size_t n);
void hl_pg_item_int(struct hl_pg_params *p, int64_t v);
void hl_pg_item_id(struct hl_pg_params *p, const struct hl_id *id);
void hl_pg_item_str(struct hl_pg_params *p, struct hl_str s);
void hl_pg_item_null(struct hl_pg_params *p);
/* Items as the above have written them, to other parameters. */
void hl_pg_items(struct hl_pg_params *p, struct hl_str items);
void hl_pg_array_end(struct hl_pg_params *p);

/* The whole of it: `item` adds the item of operation `i`. */
#define HL_PG_EACH(p, param, type, n, item)                                                        \
    do {                                                                                           \
        hl_pg_array_begin(p, param, type, n);                                                      \
        for (size_t i = 0; i < (n); i++)                                                           \
            item;                                                                                  \
        hl_pg_array_end(p);                                                                        \
    } while (0)

/* libpq's view of them, valid until the next change, in the statement's order: arrays of HL_PG_PARAMS_MAX. They are
 * the statement's, all of them, each once. */
void hl_pg_params_order(const struct hl_pg_params *p, const struct hl_statement *statement,
    const char **values, int *lengths);

#endif
