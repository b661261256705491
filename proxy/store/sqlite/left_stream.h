/* left_stream.h - the event stream of a run that was in progress when the previous process ended:
 * its file has the run's name (store/body_file.h). At open, before the store's thread starts. */
#ifndef HL_STORE_SQLITE_LEFT_STREAM_H
#define HL_STORE_SQLITE_LEFT_STREAM_H

#include <stdint.h>

struct hl_database;
struct hl_id;
struct hl_outcome;

/* What came of it becomes the kept response: `*outcome`'s body, which is the caller's to free, with what a
 * stream's head says. Nothing changes where there is none. */
void hl_left_stream_take(struct hl_database *db, const struct hl_id *run_id, uint32_t attempt,
    struct hl_outcome *outcome);
/* The last ordinal that its events have used, after `before`. */
uint64_t hl_left_stream_count(
    struct hl_database *db, const struct hl_id *run_id, uint32_t attempt, uint64_t before);

#endif
