/* node.h - this replica among the others. The store's thread. */
#ifndef HL_STORE_POSTGRES_NODE_H
#define HL_STORE_POSTGRES_NODE_H

#include <stdbool.h>
#include <stdint.h>

struct hl_pg_store;

/* This replica among the others. What is due is sent. */
void hl_pg_node_turn(struct hl_pg_store *s, uint64_t now_ms);
/* When something is due next (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_node_due_ms(const struct hl_pg_store *s);
/* Its beats have succeeded for a whole lifetime: what the others' rows say, or do not say any more, is
 * not just what an outage kept from them. */
bool hl_pg_node_knows_others(const struct hl_pg_store *s, uint64_t now_ms);
/* The writer has a connection: this replica joins, and gives back what it was given unheard. */
void hl_pg_node_join(struct hl_pg_store *s);
/* It leaves: nothing has to wait until it counts as dead. False: there is no connection. */
bool hl_pg_node_leave(struct hl_pg_store *s);

#endif
