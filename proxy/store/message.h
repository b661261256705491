/* message.h - messages whose struct and strings are one allocation: what the drivers need to make
 * and weigh them. Their constructors and frees for everybody else stand with them (accept.h …). */
#ifndef HL_STORE_MESSAGE_H
#define HL_STORE_MESSAGE_H

#include "loop/mailbox.h"
#include "store/column.h"
#include "store/lease.h"
#include "store/question.h"

struct hl_accept;
struct hl_cancel_run;
struct hl_claimed;
struct hl_finish;

/* What a database says of them, in this order; secrets as they are sealed there. */
extern const struct hl_columns hl_claimed_columns, hl_leased_columns;

/* Copies of `from`, with its strings behind the struct, and of `bytes` where the body is INLINE. HL_ERR_NOMEM. */
HL_MUST_CHECK enum hl_err hl_claimed_new(
    const struct hl_claimed *from, struct hl_str bytes, struct hl_claimed **out);
HL_MUST_CHECK enum hl_err hl_leased_new(
    const struct hl_leased *from, struct hl_str bytes, struct hl_leased **out);

/* Whether it means nothing before `earlier` is done: who sent both waits for no reply in between. */
static inline bool hl_store_message_follows(
    const struct hl_store_msg *m, const struct hl_store_msg *earlier)
{
    return m->msg.type == HL_STORE_ATTEMPT && earlier->msg.type == HL_STORE_OUTCOME &&
           hl_id_eq(&((const struct hl_attempt *)m)->delivery_id,
               &((const struct hl_attempt_outcome *)earlier)->delivery_id);
}

/* Questions that only the store's thread can begin to answer. */
static inline bool hl_store_message_asks_what_runs(const struct hl_store_msg *m)
{
    return m->msg.type == HL_STORE_LIST_RUNS &&
           ((const struct hl_list_runs *)m)->state == HL_RUN_RUNNING;
}

/* How long an Idempotency-Key is kept, in ms: as long as its run, a day at most. */
static inline int64_t hl_store_key_ms(uint64_t retention_ms)
{
    const uint64_t day_ms = UINT64_C(24) * 3600 * 1000;
    return (int64_t)(retention_ms < day_ms ? retention_ms : day_ms);
}

/* It is answered by what is handed out, if at all. */
static inline bool hl_store_message_is_credit(const struct hl_store_msg *m)
{
    return m->msg.type == HL_STORE_CREDIT || m->msg.type == HL_STORE_LEASE_CREDIT;
}

/* A sender that abandons an attempt is stopping: nothing more is leased to it. */
static inline bool hl_store_message_ends_credit(const struct hl_store_msg *m)
{
    return m->msg.type == HL_STORE_OUTCOME &&
           ((const struct hl_attempt_outcome *)m)->verdict == HL_ATTEMPT_ABANDONED;
}

/* The delivery that its reply would bring is not to be sent after all. */
void hl_attempt_drop(struct hl_attempt *a);

/* Itself, its strings and the body bytes it carries. */
size_t hl_accept_weight(const struct hl_accept *a);
size_t hl_finish_weight(const struct hl_finish *f);

/* How an attempt is remembered: a retry after the last one of a round is a failure. */
static inline enum hl_attempt_verdict hl_attempt_final_verdict(
    enum hl_attempt_verdict verdict, bool is_last)
{
    return verdict == HL_ATTEMPT_RETRY && is_last ? HL_ATTEMPT_DEAD : verdict;
}

/* What lists show of a target. The query may carry tokens: it is in the sealed head only. */
struct hl_str hl_store_message_shown_path(struct hl_str target);

/* Tells whoever has the run to end it; `box` NULL: nobody has it here. `*order`, if there is one, is taken for
 * that. False: there is no memory, and nobody was told. */
HL_MUST_CHECK bool hl_cancel_run_push(
    struct hl_mailbox *box, const struct hl_id *run_id, struct hl_cancel_run **order);

/* Frees a pushed message of any kind (CLAIMED to WORK). NULL-safe. */
void hl_push_free(struct hl_msg *msg);

#endif
