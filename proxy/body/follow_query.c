/* follow_query.c - see follow_query.h.
 * Owns: what the store was asked, and has not answered. Thread: the desk's loop.
 * Promise: an end is heard of, whenever it comes; of two questions for bytes one at a time is with the store.
 * Not here: what its answers come to (follow_store.c). */
#include "body/follow_query.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/id.h"
#include "body/follow.h"
#include "body/follow_clock.h"
#include "loop/mailbox.h"
#include "store/claim.h"
#include "store/question.h"
#include "store/store.h"

#define POLL_MS   1000
#define ASK_BYTES (16 * 1024)

static void post(struct hl_follow_query *q, uint32_t type, struct hl_store_msg *m)
{
    m->msg.type = type;
    m->reply_to = q->reply_to;
    m->from = q->name;
    enum hl_err err = hl_store_post(q->store, m);
    (void)err; /* only ACCEPT and RECORD can be refused */
}

bool hl_follow_query_ask(struct hl_follow_query *q, uint64_t offset)
{
    struct hl_get_run *g = calloc(1, sizeof(*g));
    if (!g)
        return false;
    g->run_id = q->grant->run_id;
    memcpy(g->project, q->grant->project, sizeof(g->project));
    memcpy(g->app, q->grant->app, sizeof(g->app));
    g->range_from = offset;
    g->range_max = ASK_BYTES;
    q->is_asking = true;
    hl_follow_clock_drop_poll(q->clock);
    post(q, HL_STORE_GET_RUN, &g->m);
    return true;
}

void hl_follow_query_poll(struct hl_follow_query *q)
{
    if (hl_store_is_shared(q->store))
        hl_follow_clock_set_poll(q->clock, POLL_MS);
}

/* ---- the run's end ---- */

static const struct hl_id nobody;

/* The answer to an UNWATCH of nobody comes after the store has the WATCH: no end is missed from then on. */
static void post_watch(struct hl_follow_query *q, enum hl_store_op op, const struct hl_id *run_id)
{
    struct hl_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return; /* it hears of the end late: when the store is asked anew */
    watch->run_id = *run_id;
    post(q, op, &watch->m);
}

void hl_follow_query_watch(struct hl_follow_query *q)
{
    if (q->is_watching || q->is_over)
        return;
    q->is_watching = true;
    post_watch(q, HL_STORE_WATCH, &q->grant->run_id);
    post_watch(q, HL_STORE_UNWATCH, &nobody);
}

void hl_follow_query_leave_watch(struct hl_follow_query *q)
{
    if (q->is_watching)
        post_watch(q, HL_STORE_UNWATCH, &q->grant->run_id);
    q->is_watching = false;
}

bool hl_follow_query_hear(struct hl_follow_query *q, const struct hl_watch *watch)
{
    bool is_barrier = watch->m.msg.type == HL_STORE_UNWATCH;
    if (is_barrier)
        return hl_id_is_nil(&watch->run_id) && !q->is_asking;
    q->is_watching = false;
    q->is_over = watch->m.rc == HL_OK;
    return watch->m.rc != HL_ERR_CANCELLED && !q->is_asking;
}
