/* docket.h - the deliveries that the sender has in hand (parcels), by state: the lists, the moves
 * between them and their counts. */
#ifndef HL_WEBHOOK_DOCKET_H
#define HL_WEBHOOK_DOCKET_H

#include "webhook/parcel.h"
#include "webhook/due_ring.h"

struct hl_msg;
struct hl_sender_gauges;

struct hl_docket {
    /* those in `due` (WAITING, UNRECORDED) are in no list */
    struct hl_list lists[HL_PARCEL_STATE_COUNT];
    struct hl_due_ring due;
    uint32_t counts[HL_PARCEL_STATE_COUNT];
    struct hl_msg *backlog, **backlog_end; /* leased, not begun: first in, first out */
    uint32_t backlog_count;
    uint32_t placed, placed_retries;
    struct hl_sender_gauges *gauges;
};

/* Keeps `gauges` in step; borrowed. */
void hl_docket_init(struct hl_docket *k, struct hl_sender_gauges *gauges);
/* Frees every parcel; all messages have come home, no transfer is under way. */
void hl_docket_fini(struct hl_docket *k);

/* Takes a lease (type LEASED) into the backlog. */
void hl_docket_add(struct hl_docket *k, struct hl_msg *leased);
/* The oldest lease becomes a parcel in SIGNING. NULL: there is none, or no memory and it stays.
 */
struct hl_parcel *hl_docket_adopt(struct hl_docket *k);
/* A parcel in SIGNING that is no lease of the store's. Takes `leased`, unless it returns NULL: no memory. */
struct hl_parcel *hl_docket_add_direct(
    struct hl_docket *k, struct hl_leased *leased, struct hl_direct *direct);

/* Asserts that the move is legal. p->is_retry stays as it is while it holds a place. Not for
 * WAITING and UNRECORDED: */
void hl_docket_move(struct hl_docket *k, struct hl_parcel *p, enum hl_parcel_state to);
/* To WAITING or UNRECORDED, `ms` long. */
void hl_docket_move_for(
    struct hl_docket *k, struct hl_parcel *p, enum hl_parcel_state to, uint64_t ms);
/* Frees it. */
void hl_docket_drop(struct hl_docket *k, struct hl_parcel *p);

/* The next parcel in WAITING or UNRECORDED whose time has come (`is_early`: or has not), or NULL.
 * The caller moves it on at once. */
struct hl_parcel *hl_docket_take_due(struct hl_docket *k, uint64_t now_ms, bool is_early);

/* How many wait for their next attempt, or for their first one's look-up. */
uint32_t hl_docket_waiting(const struct hl_docket *k);

#endif
