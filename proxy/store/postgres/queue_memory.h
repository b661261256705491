/* queue_memory.h - the memory of what waits for the server and cannot be refused: ends of runs, records of
 * synchronous ones, outcomes. The store's thread. */
#ifndef HL_STORE_POSTGRES_QUEUE_MEMORY_H
#define HL_STORE_POSTGRES_QUEUE_MEMORY_H

struct hl_pg_op;
struct hl_pg_store;

/* Before it waits. Its body may become a file in the scratch directory, or be dropped. */
void hl_pg_queue_memory_enter(struct hl_pg_store *s, struct hl_pg_op *op);
/* It waits no longer. Harmless for one that did not enter. */
void hl_pg_queue_memory_leave(struct hl_pg_store *s, struct hl_pg_op *op);

/* A FINISH whose response cannot be written: the run fails, and of its response only the status stays. */
void hl_pg_queue_memory_strip(struct hl_pg_store *s, struct hl_pg_op *op);

#endif
