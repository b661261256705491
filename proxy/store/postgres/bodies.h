/* bodies.h - bodies above HL_BODY_INLINE_MAX: rows of 1 MiB in the database, and files in the scratch
 * directory while they are written or read here. Never whole in memory. The store's thread.
 *
 * Scratch is this process's own: what an earlier one left is removed at the start. A file that was got
 * belongs to a run, a delivery or a question, and goes with it. */
#ifndef HL_STORE_POSTGRES_BODIES_H
#define HL_STORE_POSTGRES_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_body;
struct hl_id;
struct hl_pg_store;

#define HL_PG_CHUNK     (1u << 20)
#define HL_PG_TRANSFERS 4     /* at once */
#define HL_PG_VIEW_MS   60000 /* how long a file that was got for a question stays */

/* Before the thread. */
void hl_pg_bodies_init(struct hl_pg_store *s);
/* Makes the scratch directory empty. On failure `why` has one line. Blocks; before anything is posted. */
HL_MUST_CHECK enum hl_err hl_pg_bodies_open(
    struct hl_pg_store *s, const char *data_dir, char *why, size_t why_len);
/* Says what opening would, and changes nothing. */
HL_MUST_CHECK enum hl_err hl_pg_bodies_look(const char *data_dir, char *why, size_t why_len);
void hl_pg_bodies_close(struct hl_pg_store *s);

/* From the file to the database. `on_done` comes later, once: OK, IO (the file cannot be read, the
 * database refuses it), UNAVAILABLE (the store ends; or no server for `wait_ms`, if that is not 0). */
void hl_pg_bodies_put(struct hl_pg_store *s, const struct hl_body *body, uint64_t wait_ms,
    void (*on_done)(void *self, enum hl_err rc), void *self);
/* From the database to a file, which is `owner`'s then. `on_done` comes later, once: OK (body->file is
 * the file's name here), CORRUPT (chunks are missing), FULL, IO, CANCELLED, NOMEM. */
void hl_pg_bodies_get(struct hl_pg_store *s, struct hl_body *body, const struct hl_id *owner,
    void (*on_done)(void *self, enum hl_err rc), void *self);
/* The owner's file, which it has already: body->file is its name. False: it has none. */
bool hl_pg_bodies_find(
    const struct hl_pg_store *s, const struct hl_id *owner, struct hl_body *body);
/* The owner's file goes, if it has one; after HL_PG_VIEW_MS. */
void hl_pg_bodies_drop(struct hl_pg_store *s, const struct hl_id *owner);
void hl_pg_bodies_drop_later(struct hl_pg_store *s, const struct hl_id *owner);
void hl_pg_bodies_drop_all(struct hl_pg_store *s);
/* A file that was put and is not needed any more. */
void hl_pg_bodies_remove(struct hl_pg_store *s, const struct hl_body *body);

/* Sends what is to be sent, ends what has waited too long, removes what is due. When to look again
 * (CLOCK_MONOTONIC ms). */
uint64_t hl_pg_bodies_turn(struct hl_pg_store *s, uint64_t now_ms);
/* Ends all that is under way, or all but puts. */
void hl_pg_bodies_cancel(struct hl_pg_store *s, bool with_puts);

#endif
