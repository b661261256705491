/* maintenance.h - what the engine does between batches, and what it knows about free space. The
 * engine's thread. */
#ifndef HL_STORE_MAINTENANCE_H
#define HL_STORE_MAINTENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hl_engine;

/* See `room` there. */
void hl_maintenance_set_room(struct hl_engine *e, enum hl_err room);
/* How long to wait before what found no space is tried again. */
uint64_t hl_maintenance_pause(struct hl_engine *e);
/* From here on nothing is written, until the driver has the store anew. */
void hl_maintenance_fail(struct hl_engine *e, enum hl_err err);
/* Tries that, and says whether it has. */
bool hl_maintenance_reopen(struct hl_engine *e);
/* Whether accepts find room; the last answer is good for a moment. */
void hl_maintenance_look_for_room(struct hl_engine *e, uint64_t now_us);
/* A batch that began then has committed: its gauges, and what will be due because of it. */
void hl_maintenance_note_commit(struct hl_engine *e, uint64_t began_us);
void hl_maintenance_show_all(struct hl_engine *e); /* all gauges */
/* Some of the queued runs whose time to start is over; until all are, `is_expiring` says so. */
void hl_maintenance_expire(struct hl_engine *e);
/* Puts deliveries whose next attempt is due back into their lanes. */
void hl_maintenance_recall(struct hl_engine *e);
/* The clock, for the next process: when it is time, or it was set. */
void hl_maintenance_note_time(struct hl_engine *e, uint64_t now_us);
/* What is due: unlinking and checkpoints, one purge step, the gauges. `is_idle`: nobody waits. */
void hl_maintenance_tend(struct hl_engine *e, bool is_idle);
uint64_t hl_maintenance_next_due(const struct hl_engine *e);

#endif
