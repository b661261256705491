/* watch.h - who waits here for the ends of which runs. The store's thread. */
#ifndef HL_STORE_POSTGRES_WATCH_H
#define HL_STORE_POSTGRES_WATCH_H

#include <stdint.h>

struct hl_id;
struct hl_pg_store;
struct hl_watch;

/* WATCH, UNWATCH. */
void hl_pg_watch_take(struct hl_pg_store *s, struct hl_watch *watch);
/* This replica has committed the run's end. */
void hl_pg_watch_end(struct hl_pg_store *s, const struct hl_id *run_id);
/* Something may have ended: it is looked at soon. */
void hl_pg_watch_hurry(struct hl_pg_store *s);
void hl_pg_watch_turn(struct hl_pg_store *s, uint64_t now_ms);
/* CLOCK_MONOTONIC, when there is something to do; UINT64_MAX: nothing, as things stand. */
uint64_t hl_pg_watch_due_ms(const struct hl_pg_store *s);
void hl_pg_watch_refuse_all(struct hl_pg_store *s);

#endif
