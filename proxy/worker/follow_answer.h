/* follow_answer.h - how the answer to a request for a run's events begins, or what it is instead: on the run
 * listener and on the admin listener. Thread: any. */
#ifndef HL_WORKER_FOLLOW_ANSWER_H
#define HL_WORKER_FOLLOW_ANSWER_H

#include "body/follow.h"

struct hl_answer;

#define HL_FOLLOW_FIELDS 128

/* Sets all of `*answer` that does not depend on the connection; its field lines are written into `fields`. */
void hl_follow_answer_init(struct hl_answer *answer, enum hl_follow_answer what,
    enum hl_run_state state, char fields[HL_FOLLOW_FIELDS]);

#endif
