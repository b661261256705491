/* admin_follow.h - somebody on the admin listener or the control socket who follows a run's events. Part of the
 * answer to a request (admin_answer.h). */
#ifndef HL_API_ADMIN_FOLLOW_H
#define HL_API_ADMIN_FOLLOW_H

struct hl_admin_connection;
struct hl_follow;

/* Takes the grant; the answer is what the follower reads. */
void hl_admin_follow_begin(struct hl_admin_connection *c, struct hl_follow *grant);
/* The socket takes bytes again. */
void hl_admin_follow_drained(struct hl_admin_connection *c);
/* Nobody follows any more. */
void hl_admin_follow_drop(struct hl_admin_connection *c);

#endif
