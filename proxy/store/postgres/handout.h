/* handout.h - what was claimed and leased goes out. The store's thread. */
#ifndef HL_STORE_POSTGRES_HANDOUT_H
#define HL_STORE_POSTGRES_HANDOUT_H

#include "store/postgres/state.h"

#define HL_PG_POLL_MIN_MS 250 /* others' work is looked for so soon again, while there is some */

/* Of a flush that was committed: its claim, its lease. Their credit is spent, or there again. */
void hl_pg_hand_out_runs(struct hl_pg_store *s, struct hl_pg_flush *f);
void hl_pg_hand_out_deliveries(struct hl_pg_store *s, struct hl_pg_flush *f);

#endif
