/* follow_guard.h - who follows at a desk does so only as long as the token is good that it was let in with (contract
 * 14). The desk's thread. */
#ifndef HL_WORKER_FOLLOW_GUARD_H
#define HL_WORKER_FOLLOW_GUARD_H

struct hl_auth;
struct hl_follow_desk;

/* `auth` may be NULL: nobody is asked for a token. It is told of revocations from now on. */
void hl_follow_guard(struct hl_follow_desk *desk, struct hl_auth *auth);
/* Before the desk is closed; twice is harmless. */
void hl_follow_unguard(struct hl_follow_desk *desk);

#endif
