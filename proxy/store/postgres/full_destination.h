/* full_destination.h - destinations that have as many deliveries as one may have: half of HOOKLINE_MAX_PENDING_DELIVERIES,
 * over all replicas, counted from the acceptance of their runs. The store's thread, unless it is said. */
#ifndef HL_STORE_POSTGRES_FULL_DESTINATION_H
#define HL_STORE_POSTGRES_FULL_DESTINATION_H

#include <stdbool.h>
#include <stdint.h>

struct hl_pg_full_destinations;
struct hl_pg_store;
struct hl_str;

void hl_pg_full_init(struct hl_pg_full_destinations *c, uint32_t max_pending);
void hl_pg_full_fini(struct hl_pg_full_destinations *c);

/* Whether it has; false for no URL. Any thread. */
bool hl_pg_full_is_full(const struct hl_pg_store *s, struct hl_str webhook_url);

/* A run with this webhook was accepted here; nothing for no URL. */
void hl_pg_full_note_url(struct hl_pg_store *s, struct hl_str webhook_url);
/* A delivery of this lane has ended; nothing for 0. */
void hl_pg_full_note_end(struct hl_pg_store *s, int64_t lane);
/* All of them were counted, those of all lanes together. */
void hl_pg_full_total(struct hl_pg_store *s, uint64_t total);

/* Counts by lane what may be too much for one, at most once a second. */
void hl_pg_full_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When that is due (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_full_due_ms(const struct hl_pg_store *s);

#endif
