/* key_limit.h - at most so many of one key at once; latecomers wait in that key's line. One
 * thread owns it. */
#ifndef HL_WEBHOOK_KEY_LIMIT_H
#define HL_WEBHOOK_KEY_LIMIT_H

#include "base/id_map.h"

struct hl_list;

struct hl_key_limit {
    struct hl_id_map keys; /* those that somebody is inside of */
    uint32_t most;
};

void hl_key_limit_init(struct hl_key_limit *t, uint32_t most);
void hl_key_limit_fini(struct hl_key_limit *t); /* forgets who waits */

/* False: `node`, which is in no list, waits; hl_list_remove takes it back. Out of memory lets it in:
 * then hl_key_limit_leave is harmless. */
bool hl_key_limit_enter(struct hl_key_limit *t, uint64_t key, struct hl_list *node);
/* One that was let in leaves. The first in line, which is inside now, or NULL. */
struct hl_list *hl_key_limit_leave(struct hl_key_limit *t, uint64_t key);

#endif
