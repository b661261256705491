/* operation.h - what the store's requests differ in: a constant row for each. Any thread; the functions
 * are for whoever has the message. What is done with one: change.h, postgres/op.h. */
#ifndef HL_STORE_OPERATION_H
#define HL_STORE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_store_msg;

struct hl_operation {
    bool brings_work; /* the store keeps more than before: refused where too much waits */
    /* It can do without: on a full volume it is not held until there is space. All that bring work
     * are such. */
    bool may_be_refused;
    /* Who asked waits, and can ask again: it does not wait for as long as a server is gone. */
    bool gives_up;
    bool is_question;
    /* A list: where in the message its page is, and how many rows it asks for; or how many there are at most. */
    size_t listing_at, limit_at, row_size;
    /* the id of the one row that it asks for, NOT_FOUND where that is not there; nil: any */
    size_t one_at;
    uint32_t rows_max;
    void (*fini_row)(void *row); /* NULL: it owns nothing */

    size_t (*weigh)(const struct hl_store_msg *m); /* NULL: as an outcome */
    /* What it brings is of no use after all: freed. Twice is harmless. May be NULL. */
    void (*clear)(struct hl_store_msg *m);
};

/* Never NULL: the row of what is not a request is empty. */
const struct hl_operation *hl_operation_of(const struct hl_store_msg *m);

/* Whoever asked waits for the answer, and can ask again: it does not wait for as long as a server is gone. */
bool hl_operation_gives_up(const struct hl_store_msg *m);
/* What a request weighs while it waits: itself, its strings and the body bytes it carries. */
size_t hl_operation_weigh(const struct hl_store_msg *m);
/* Before it is posted: a list's limit becomes one that it may have. */
void hl_operation_prepare(struct hl_store_msg *m);
/* For who answers a list: its page is empty, with room for what it asks for. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_operation_open_listing(struct hl_store_msg *m);
/* All of its rows have been added; one without any owns nothing. */
HL_MUST_CHECK enum hl_err hl_operation_close_listing(struct hl_store_msg *m);
/* What its answer brought is freed. Twice is harmless. */
void hl_operation_clear(struct hl_store_msg *m);
/* The reply says `rc`: unless that is OK it brings nothing, but GET_RUN's CORRUPT, which says all but the body. */
void hl_operation_end(struct hl_store_msg *m, enum hl_err rc);

#endif
