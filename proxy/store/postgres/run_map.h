/* run_map.h - the runs that this replica's workers have, each under the epoch under which it has it: the
 * end of an older claim, which comes late, is not the end of a newer one. The store's thread. */
#ifndef HL_STORE_POSTGRES_RUN_MAP_H
#define HL_STORE_POSTGRES_RUN_MAP_H

#include "base/id_map.h"

struct hl_id;
struct hl_mailbox;

struct hl_pg_run_map {
    struct hl_id_map boxes;  /* run → struct hl_mailbox of its worker */
    struct hl_id_map epochs; /* run → its epoch, as a pointer */
};

void hl_pg_run_map_init(struct hl_pg_run_map *l);
void hl_pg_run_map_fini(struct hl_pg_run_map *l);
/* Nobody has any; room that was reserved stays. */
void hl_pg_run_map_clear(struct hl_pg_run_map *l);

/* Makes room, so that the next `more` puts cannot fail. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_run_map_reserve(struct hl_pg_run_map *l, size_t more);
/* Adds or replaces; room was reserved. `epoch` is above 0. */
void hl_pg_run_map_put(
    struct hl_pg_run_map *l, const struct hl_id *run, uint32_t epoch, struct hl_mailbox *box);
/* Whose it is under whatever epoch; NULL: nobody's here. */
struct hl_mailbox *hl_pg_run_map_find(const struct hl_pg_run_map *l, const struct hl_id *run);
bool hl_pg_run_map_has(const struct hl_pg_run_map *l, const struct hl_id *run, uint32_t epoch);
/* False: it was not there under that epoch, and nothing changed. */
bool hl_pg_run_map_end(struct hl_pg_run_map *l, const struct hl_id *run, uint32_t epoch);

#endif
