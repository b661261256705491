/* own_answer.h - what is answered without the app: health, OPTIONS, preflights, the description, refusals. */
#ifndef HL_WORKER_OWN_ANSWER_H
#define HL_WORKER_OWN_ANSWER_H

struct hl_client;
struct hl_id;
struct hl_plan;
struct hl_refusal;

/* The answer of a plan of one of these kinds. */
void hl_own_answer_give(struct hl_client *c, const struct hl_plan *plan, const struct hl_id *id);
/* `id` may be NULL. */
void hl_own_answer_refuse(
    struct hl_client *c, const struct hl_id *id, const struct hl_refusal *why);

#endif
