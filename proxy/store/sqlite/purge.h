/* purge.h - removes runs past retention, and what must go for the size limit. The store's
 * thread, inside a transaction. */
#ifndef HL_STORE_SQLITE_PURGE_H
#define HL_STORE_SQLITE_PURGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_body;
struct hl_database;
struct hl_driver;

/* See driver.h. */
enum hl_err hl_purge_step(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms);
enum hl_err hl_purge_shed(struct hl_driver *d, unsigned max);
/* How much is kept of streams of synchronous calls. */
HL_MUST_CHECK enum hl_err hl_purge_load_streams(struct hl_database *db);
/* That result more; whether it is such a stream. */
void hl_purge_note_result(struct hl_database *db, const struct hl_body *body, bool is_stream);
/* That run ends; shedding may be past the place where its result goes, and its request. */
void hl_purge_note_late(struct hl_database *db, int64_t number, bool keeps_request);
/* A delivery has ended: what shedding passed over for it may go soon. */
void hl_purge_note_delivery_end(struct hl_database *db);

#endif
