/* notify.h - replicas wake each other: LISTEN and NOTIFY on a channel that is called as the schema is.
 * Everything is polled for as well: a notification that is lost costs time and nothing else. The
 * store's thread. */
#ifndef HL_STORE_POSTGRES_NOTIFY_H
#define HL_STORE_POSTGRES_NOTIFY_H

#include <stdint.h>

struct hl_pg_store;

/* The listener's connection. A libuv error code or 0. */
int hl_pg_notify_init(struct hl_pg_store *s);
/* Sends what is due. */
void hl_pg_notify_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_notify_due_ms(const struct hl_pg_store *s);

/* After a commit. Runs or deliveries may be had: others are woken unless this replica takes them all
 * itself at once. */
void hl_pg_notify_work(struct hl_pg_store *s);
/* There are events, or work that this replica does not want. */
void hl_pg_notify_all(struct hl_pg_store *s);

#endif
