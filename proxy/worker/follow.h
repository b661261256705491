/* follow.h - a caller on the run listener who follows a run's events: the follower's bytes are the answer to
 * its request. The worker's thread. */
#ifndef HL_WORKER_FOLLOW_H
#define HL_WORKER_FOLLOW_H

struct hl_client;
struct hl_follow;

/* The request was read, and may. Takes the grant. */
void hl_follow_begin(struct hl_client *c, struct hl_follow *grant);

#endif
