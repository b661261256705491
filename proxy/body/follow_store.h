/* follow_store.h - what the store's answers come to for a follower: a run that has ended, or one that is not inside
 * this process. Thread: the desk's loop. */
#ifndef HL_BODY_FOLLOW_STORE_H
#define HL_BODY_FOLLOW_STORE_H

#include <stdbool.h>

struct hl_follower;
struct hl_get_run;

/* `g` is borrowed. False: the follower is gone, or has nothing more to do. */
bool hl_follow_store_take(struct hl_follower *f, const struct hl_get_run *g);

#endif
