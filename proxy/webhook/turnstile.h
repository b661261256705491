/* turnstile.h - at most so many of a kind at once; latecomers wait in that kind's line. One
 * thread owns it. */
#ifndef HL_WEBHOOK_TURNSTILE_H
#define HL_WEBHOOK_TURNSTILE_H

#include "base/id_map.h"

struct hl_list;

struct hl_turnstile {
    struct hl_id_map kinds; /* those that somebody is inside of */
    uint32_t most;
};

void hl_turnstile_init(struct hl_turnstile *t, uint32_t most);
void hl_turnstile_fini(struct hl_turnstile *t); /* forgets who waits */

/* False: `node`, which is in no list, waits; hl_list_remove takes it back. Out of memory lets it in:
 * then hl_turnstile_leave is harmless. */
bool hl_turnstile_enter(struct hl_turnstile *t, uint64_t kind, struct hl_list *node);
/* One that was let in leaves. The first in line, which is inside now, or NULL. */
struct hl_list *hl_turnstile_leave(struct hl_turnstile *t, uint64_t kind);

#endif
