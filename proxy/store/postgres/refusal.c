/* refusal.c - see thread.h.
 *
 * Promise: nothing that has ended is dropped for what a server answers. An operation that is refused alone closes
 * its kind: then one of the kind at a time is tried, each in its turn, at growing intervals, and as soon as one is
 * committed all are sent as ever. What is refused time and again while others of its kind are committed is refused
 * for its own content: a response is then not kept, and the run ends without it; anything else waits by itself.
 * Not here: the room for what waits (queue_memory.c), transactions (flush.c). */
#include "store/postgres/thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/postgres/op.h"

#define WAIT_MIN_MS 250
#define WAIT_MAX_MS 5000
#define OWN_MAX     3 /* refusals before what it brings is taken away */

static struct hl_pg_kind *kind_of(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    return &s->refusals.kinds[op->how->query];
}

static uint64_t longer(uint64_t wait_ms)
{
    if (wait_ms == 0)
        return WAIT_MIN_MS;
    return 2 * wait_ms < WAIT_MAX_MS ? 2 * wait_ms : WAIT_MAX_MS;
}

/* --- whose turn it is ----------------------------------------------------------------------- */

static enum hl_err hold(struct hl_pg_store *s, struct hl_pg_op *op)
{
    if (op->is_held || hl_pg_op_is_busy(s, op))
        return HL_OK;
    enum hl_err err = hl_id_map_reserve(&s->busy, 2 * HL_PG_FLUSH_OPS + 2);
    if (err)
        return err;
    op->is_held = true;
    hl_pg_op_set_busy(s, op);
    return HL_OK;
}

/* It is sent when this replica has joined anew. */
static bool lacks_session(const struct hl_pg_store *s, const struct hl_pg_op *op)
{
    return op->was_dead && hl_id_eq(&op->as, &s->member.session);
}

enum hl_err hl_pg_refusal_waits(
    struct hl_pg_store *s, struct hl_pg_op *op, uint64_t now_ms, bool *waits)
{
    const struct hl_pg_kind *kind = kind_of(s, op);
    *waits = op->refused.again_ms > now_ms || (kind->is_closed && kind->probe != op) ||
             lacks_session(s, op);
    return *waits ? hold(s, op) : HL_OK;
}

/* The one that was refused least often, so that one which will never pass does not stand before the others. */
static void consider(struct hl_pg_store *s, struct hl_pg_op *op, uint64_t now_ms)
{
    struct hl_pg_kind *kind = kind_of(s, op);
    if (!kind->wants_probe || op->refused.again_ms > now_ms || hl_pg_op_is_busy(s, op))
        return;
    if (!kind->probe || op->refused.n < kind->probe->refused.n)
        kind->probe = op;
}

void hl_pg_refusal_choose(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_refusals *r = &s->refusals;
    if (r->n_closed == 0)
        return;
    for (int i = 0; i < HL_PG_SQL_COUNT; i++) {
        struct hl_pg_kind *kind = &r->kinds[i];
        kind->wants_probe = kind->is_closed && !kind->probe && now_ms >= kind->again_ms;
    }
    HL_LIST_EACH_SAFE (node, &s->queue)
        consider(s, HL_CONTAINER_OF(node, struct hl_pg_op, node), now_ms);
    for (int i = 0; i < HL_PG_SQL_COUNT; i++)
        if (r->kinds[i].probe)
            r->kinds[i].probe->is_alone = true;
}

/* --- what came of it ------------------------------------------------------------------------ */

/* What an operation brings can be the reason: a value, a constraint, a trigger, a limit of the server's, a page that
 * is damaged. A right, a table, or the server's state cannot. */
static bool may_be_content(const char *sqlstate)
{
    static const char *const classes[] = {"21", "22", "23", "54", "P0", "XX"};
    for (size_t i = 0; i < HL_ARRAY_LEN(classes); i++)
        if (strncmp(sqlstate, classes[i], 2) == 0)
            return true;
    return false;
}

/* A response goes, or what is only for people to read. */
static void strip(struct hl_pg_store *s, struct hl_pg_op *op)
{
    op->refused.is_stripped = true;
    if (op->m->msg.type == HL_STORE_FINISH) {
        hl_pg_queue_memory_strip(s, op);
    } else if (op->m->msg.type == HL_STORE_OUTCOME) {
        struct hl_attempt_outcome *o = (struct hl_attempt_outcome *)op->m;
        free(o->report);
        o->report = NULL;
    }
}

static void close_kind(struct hl_pg_refusals *r, struct hl_pg_kind *kind, uint64_t now_ms)
{
    kind->wait_ms = kind->is_closed ? longer(kind->wait_ms) : 0;
    kind->again_ms = now_ms + kind->wait_ms;
    r->n_closed += !kind->is_closed;
    kind->is_closed = true;
}

static void wait_alone(struct hl_pg_refusals *r, struct hl_pg_op *op, uint64_t now_ms)
{
    uint64_t wait_ms = WAIT_MIN_MS;
    for (uint32_t i = 1; i < op->refused.n_own && wait_ms < WAIT_MAX_MS; i++)
        wait_ms = longer(wait_ms);
    r->n_own += op->refused.again_ms == 0;
    op->refused.again_ms = now_ms + wait_ms;
}

void hl_pg_refusal_note(
    struct hl_pg_store *s, struct hl_pg_op *op, const char *sqlstate, uint64_t now_ms)
{
    struct hl_pg_kind *kind = kind_of(s, op);
    bool is_own = op->refused.n > 0 && kind->commits > op->refused.commits;
    if (kind->probe == op)
        kind->probe = NULL;
    op->refused.n++;
    op->refused.n_own += is_own;
    op->refused.commits = kind->commits;
    if (!is_own) {
        s->refusals.is_said = true;
        close_kind(&s->refusals, kind, now_ms);
        return;
    }
    wait_alone(&s->refusals, op, now_ms);
    if (op->refused.n_own >= OWN_MAX && !op->refused.is_stripped && may_be_content(sqlstate))
        strip(s, op);
}

void hl_pg_refusal_pass(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_pg_kind *kind = kind_of(s, op);
    kind->commits++;
    if (kind->is_closed) {
        kind->is_closed = false;
        kind->probe = NULL;
        s->refusals.n_closed--;
    }
    if (s->refusals.is_said && s->refusals.n_closed == 0)
        HL_LOG(INFO, "store: PostgreSQL accepts what it had refused");
    if (s->refusals.n_closed == 0)
        s->refusals.is_said = false;
}

void hl_pg_refusal_forget(struct hl_pg_store *s, struct hl_pg_op *op)
{
    struct hl_pg_kind *kind = kind_of(s, op);
    if (kind->probe == op)
        kind->probe = NULL;
    if (op->is_held)
        hl_pg_op_clear_busy(s, op);
    op->is_held = false;
}

void hl_pg_refusal_leave(struct hl_pg_store *s, struct hl_pg_op *op)
{
    hl_pg_refusal_forget(s, op);
    s->refusals.n_own -= op->refused.again_ms > 0;
    op->refused.again_ms = 0;
}

/* --- what is seen of it --------------------------------------------------------------------- */

bool hl_pg_refusal_is_any(const struct hl_pg_store *s)
{
    return s->refusals.n_closed > 0 || s->refusals.n_own > 0;
}

bool hl_pg_is_failing(const struct hl_pg_store *s, uint64_t now_ms)
{
    return !hl_pg_is_joined(s) || now_ms < s->full_until_ms || s->member.is_beat_refused ||
           s->upkeep.lacks_partition || hl_pg_refusal_is_any(s) || s->empty_accept.is_refused ||
           hl_pg_dispatch_is_refused(s);
}

/* Often enough, and of no weight: what waits is asked for its time when it is looked at. */
uint64_t hl_pg_refusal_due_ms(const struct hl_pg_store *s, uint64_t now_ms)
{
    uint64_t due_ms = hl_pg_refusal_is_any(s) ? now_ms + WAIT_MIN_MS : UINT64_MAX;
    return now_ms < s->full_until_ms && s->full_until_ms < due_ms ? s->full_until_ms : due_ms;
}
