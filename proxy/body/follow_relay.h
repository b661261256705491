/* follow_relay.h - a follower whose run another replica has: what that one writes goes out as it comes. Thread: the
 * desk's loop. */
#ifndef HL_BODY_FOLLOW_RELAY_H
#define HL_BODY_FOLLOW_RELAY_H

#include <stdbool.h>

struct hl_follower;
struct hl_get_run;

/* The store has said where the run is. False: it goes by the store. */
bool hl_follow_relay_begin(struct hl_follower *f, const struct hl_get_run *g);

#endif
