/* follower.h - somebody who reads a run's events, from a place on and as they come (contract 14): from its journal
 * while the run is inside this process, through the replica that has it, or from the store.
 *
 * A follower reads at its own pace: it holds no bytes between two reads, and slows nobody. Thread: its desk's
 * loop. */
#ifndef HL_BODY_FOLLOWER_H
#define HL_BODY_FOLLOWER_H

#include <stdbool.h>

struct hl_follow;
struct hl_follower_events;

struct hl_follow_desk;
struct hl_follower;
struct hl_store_msg;

/* Takes the grant. `is_chunked`: what is written is framed. NULL: out of memory, and the grant is the caller's. */
struct hl_follower *hl_follower_new(struct hl_follow_desk *desk, struct hl_follow *grant,
    bool is_chunked, const struct hl_follower_events *events, void *owner);
/* May call back at once, and free it. */
void hl_follower_start(struct hl_follower *f);
/* The owner takes bytes again; or the desk has heard of something. Likewise. */
void hl_follower_go_on(struct hl_follower *f);
void hl_follower_free(struct hl_follower *f); /* NULL-safe */

/* ---- the desk's ---- */

/* The store has answered. Borrows the message. Likewise. */
void hl_follower_hear(struct hl_follower *f, const struct hl_store_msg *m);
/* Its account may have been revoked, its token may have expired: then it is broken off. Likewise. */
void hl_follower_look(struct hl_follower *f);

#endif
