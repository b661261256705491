/* follow.h - callers who follow a run's events: what the request asks for, how the answer begins, and for how long
 * they may; on the run listener the whole of it. */
#ifndef HL_WORKER_FOLLOW_H
#define HL_WORKER_FOLLOW_H

#include "body/follow.h"
#include "http/sse.h"

struct hl_answer;
struct hl_auth;
struct hl_client;
struct hl_follow_desk;
struct hl_front_call;
struct hl_head;

/* The field Last-Event-ID of a request, as a value (WHATWG HTML 9.2.4). */
struct hl_last_event {
    bool is_bad; /* there were several, or it is too long */
    uint16_t n;  /* 0: none */
    char text[HL_EVENT_ID_MAX];
};

/* An empty one is none. Any thread. */
void hl_last_event_read(struct hl_last_event *out, const struct hl_head *head);

#define HL_FOLLOW_FIELDS 128

/* How the answer begins, or what it is instead: sets all of `*answer` that does not depend on the connection; its
 * field lines are written into `fields`. Any thread. */
void hl_follow_answer_init(struct hl_answer *answer, enum hl_follow_answer what,
    enum hl_run_state state, char fields[HL_FOLLOW_FIELDS]);

/* Who follows at the desk does so only as long as the token is good that it was let in with (contract 14).
 * `auth` may be NULL: nobody is asked for a token. It is told of revocations from now on. The desk's thread. */
void hl_follow_guard(struct hl_follow_desk *desk, struct hl_auth *auth);
/* Before the desk is closed; twice is harmless. */
void hl_follow_unguard(struct hl_follow_desk *desk);

/* A caller of the run listener's: the follower's bytes are the answer. The request was read, and may. Takes the
 * grant. `front`: it is a call at a front, whose answer begins with what is made of `head`; NULL: it is not. Both are
 * borrowed. The worker's thread. */
void hl_follow_begin(struct hl_client *c, struct hl_follow *grant,
    const struct hl_front_call *front, struct hl_str head);

#endif
