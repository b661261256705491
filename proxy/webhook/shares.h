/* shares.h - places for retries, shared between destinations as the store shares those for first attempts: a lane
 * has no more than are free, one that fails has one, and all that are not known to answer at once have together no
 * more than are free either. Who has to wait stands in his lane's line. The sender's thread owns it. */
#ifndef HL_WEBHOOK_SHARES_H
#define HL_WEBHOOK_SHARES_H

#include "base/id_map.h"
#include "base/list.h"

struct hl_healths;

struct hl_shares {
    struct hl_id_map lanes; /* those that have somebody inside, or in line */
    struct hl_list
        lines[2];      /* those with a line, in turn: that were PROVEN when it began, and others */
    uint32_t inside;   /* all of them */
    uint32_t unproven; /* of lanes that were not PROVEN when they entered */
    uint32_t per_lane; /* 0: as many as are free */
    const struct hl_healths *healths;
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

#endif
