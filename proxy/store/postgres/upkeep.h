/* upkeep.h - what must be done now and then, whoever does it: partitions ahead of time, what is past its
 * retention, replicas that died long ago. Once an hour, over a connection of its own for that moment. */
#ifndef HL_STORE_POSTGRES_UPKEEP_H
#define HL_STORE_POSTGRES_UPKEEP_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_pg_session;
struct hl_pg_store;
struct hl_id;

/* A libuv error code or 0. */
int hl_pg_upkeep_init(struct hl_pg_store *s);
void hl_pg_upkeep_close(struct hl_pg_store *s);
/* Begins it when it is due. When to look again (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_upkeep_turn(struct hl_pg_store *s, uint64_t now_ms);

/* The whole of it. Blocking. Errors as in session.h. */
HL_MUST_CHECK enum hl_err hl_pg_upkeep_run(struct hl_pg_session *s, const struct hl_id *me,
    int64_t retention_ms, char *why, size_t why_len);

#endif
