/* push.h - the messages that are handed out, from the rows that say so. The store's thread. */
#ifndef HL_STORE_POSTGRES_PUSH_H
#define HL_STORE_POSTGRES_PUSH_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_cancel_run;
struct hl_claimed;
struct hl_id;
struct hl_leased;
struct hl_pg_params;
struct hl_pg_row;
struct hl_pg_store;

/* A run from the columns of RUN_CLAIM. Errors: CORRUPT (it is not sealed with our key, or damaged),
 * NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_read_claimed(
    struct hl_pg_store *s, struct hl_pg_row *row, struct hl_claimed **out);
/* A delivery from the columns of HL_PG_LEASED. Errors: CORRUPT, NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_read_leased(
    struct hl_pg_store *s, struct hl_pg_row *row, struct hl_leased **out);

/* Who has the run here is told to end it; nobody may have it. False: there is no memory, and nobody was told.
 * `*order` is taken for it, if it is there. */
HL_MUST_CHECK bool hl_pg_push_cancel(
    struct hl_pg_store *s, const struct hl_id *run_id, struct hl_cancel_run **order);

/* What ended until then is past its retention: hidden, and not to be had again. */
void hl_pg_add_kept_since(const struct hl_pg_store *s, struct hl_pg_params *p);

#endif
