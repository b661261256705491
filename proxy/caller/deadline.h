/* deadline.h - the one deadline of a caller's connection that counts: which one it is depends on what
 * the connection waits for. */
#ifndef HL_CALLER_DEADLINE_H
#define HL_CALLER_DEADLINE_H

struct hl_client;

/* After what is waited for has changed, or some of it has come. Does not go on with a head's. */
void hl_deadline_arm(struct hl_client *c);

#endif
