/* shares.h - places for retries, shared between destinations as the store shares those for first attempts: a lane
 * has no more than are free, one that fails has one, and all that are not known to answer at once have together no
 * more than are free either. Who has to wait stands in his lane's line. The sender's thread owns it. */
#ifndef HL_WEBHOOK_SHARES_H
#define HL_WEBHOOK_SHARES_H

#include "base/id_map.h"
#include "base/list.h"

struct hl_courier;
struct hl_docket;
struct hl_healths;
struct hl_parcel;

struct hl_shares {
    struct hl_id_map lanes; /* those that have somebody inside, or in line */
    struct hl_list
        lines[2];      /* those with a line, in turn: that were PROVEN when it began, and others */
    uint32_t inside;   /* all of them */
    uint32_t unproven; /* of lanes that were not PROVEN when they entered */
    uint32_t per_lane; /* 0: as many as are free */
    const struct hl_healths *healths;

    /* For parcels; set by the sender. */
    uint32_t places; /* for retries, in all */
    struct hl_docket *docket;
    struct hl_courier *courier;
};

/* `healths` is borrowed. */
void hl_shares_init(struct hl_shares *s, uint32_t per_lane, const struct hl_healths *healths);
void hl_shares_fini(struct hl_shares *s); /* forgets who waits */

/* While `free` places are: false: `node`, which is in no list, waits; hl_list_remove takes it back. Out of memory
 * lets it in. */
bool hl_shares_enter(struct hl_shares *s, uint64_t lane, uint32_t free, struct hl_list *node);
/* One that was let in leaves. */
void hl_shares_leave(struct hl_shares *s, uint64_t lane);
/* The next in line that may enter while so many places are free: it is inside now. NULL: nobody may. */
struct hl_list *hl_shares_next(struct hl_shares *s, uint32_t free);
/* A lane's health may be another. */
void hl_shares_note(struct hl_shares *s, uint64_t lane);
/* How many of a lane are inside. */
uint32_t hl_shares_inside(const struct hl_shares *s, uint64_t lane);
bool hl_shares_has_line(const struct hl_shares *s, uint64_t lane);

/* ---- parcels ---- */

/* Its destination fails. */
bool hl_shares_is_failing(const struct hl_shares *s, const struct hl_parcel *p);
/* One that kept its place at its destination needs no turn while that does not fail. Where it has begun to, the
 * turns that others have are void but for the last. */
bool hl_shares_needs_turn(const struct hl_shares *s, const struct hl_parcel *p);
/* Whether it may go on to its destination now; if not, it is in the line, and QUEUED. */
bool hl_shares_take_turn(struct hl_shares *s, struct hl_parcel *p);
/* Harmless without one. */
void hl_shares_give_up(struct hl_shares *s, struct hl_parcel *p);
/* Those in line whose turn has come are DUE. */
void hl_shares_call_in(struct hl_shares *s);

#endif
