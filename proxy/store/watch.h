/* watch.h - who is waiting for which runs to end. The store's thread owns it.
 *
 * An end is noted inside the transaction that makes it, and told when that is committed. */
#ifndef HL_STORE_WATCH_H
#define HL_STORE_WATCH_H

#include "base/id_map.h"

struct hl_id;
struct hl_watch;

struct hl_watchers {
    struct hl_id_map runs;  /* run id → the first struct hl_watch of its list */
    struct hl_watch *ended; /* of the transaction under way, or of those that are to be told */
    size_t n;               /* in `runs` */
};

void hl_watchers_init(struct hl_watchers *w);
void hl_watchers_fini(struct hl_watchers *w); /* nobody waits any more */

/* HL_ERR_NOMEM: it is the caller's still. */
HL_MUST_CHECK enum hl_err hl_watchers_add(struct hl_watchers *w, struct hl_watch *watch);
/* The one that this message withdraws, or NULL. */
struct hl_watch *hl_watchers_remove(struct hl_watchers *w, const struct hl_watch *unwatch);
/* The run has ended. */
void hl_watchers_note_end(struct hl_watchers *w, const struct hl_id *run_id);
/* The head of its answer is there: of those that want it. */
void hl_watchers_note_head(struct hl_watchers *w, const struct hl_id *run_id);
/* The transaction left no trace. */
void hl_watchers_rollback(struct hl_watchers *w);
/* Those whose run has ended, after the commit: a list by `next`. */
struct hl_watch *hl_watchers_take(struct hl_watchers *w);
/* Any one, ended or not; NULL: there is none. */
struct hl_watch *hl_watchers_take_any(struct hl_watchers *w);

#endif
