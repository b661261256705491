/* live.h - the runs that this replica's workers have, each under the epoch under which it has it: the
 * end of an older claim, which comes late, is not the end of a newer one. The store's thread. */
#ifndef HL_STORE_POSTGRES_LIVE_H
#define HL_STORE_POSTGRES_LIVE_H

#include "base/id_map.h"

struct hl_id;
struct hl_mailbox;

struct hl_pg_live {
    struct hl_id_map boxes;  /* run → struct hl_mailbox of its worker */
    struct hl_id_map epochs; /* run → its epoch, as a pointer */
};

void hl_pg_live_init(struct hl_pg_live *l);
void hl_pg_live_fini(struct hl_pg_live *l);
/* Nobody has any; room that was reserved stays. */
void hl_pg_live_clear(struct hl_pg_live *l);

/* Makes room, so that the next `more` puts cannot fail. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_pg_live_reserve(struct hl_pg_live *l, size_t more);
/* Adds or replaces; room was reserved. `epoch` is above 0. */
void hl_pg_live_put(
    struct hl_pg_live *l, const struct hl_id *run, uint32_t epoch, struct hl_mailbox *box);
/* Whose it is under whatever epoch; NULL: nobody's here. */
struct hl_mailbox *hl_pg_live_find(const struct hl_pg_live *l, const struct hl_id *run);
bool hl_pg_live_has(const struct hl_pg_live *l, const struct hl_id *run, uint32_t epoch);
/* False: it was not there under that epoch, and nothing changed. */
bool hl_pg_live_end(struct hl_pg_live *l, const struct hl_id *run, uint32_t epoch);

#endif
