/* delivery.c - deliveries that live in memory: each run has at most one, inside its struct. A lane
 * has a list of what is due for it, which goes when it is empty. */
#include "store/memory/delivery.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/heap.h"
#include "base/id_map.h"
#include "base/list.h"
#include "store/attempt_report.h"
#include "store/backlog.h"
#include "store/driver.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/memory/memory.h"
#include "store/message.h"

/* --- lanes ---------------------------------------------------------------------------------- */

static struct hl_memory_lane *lane_of(struct hl_memory *m, uint64_t name)
{
    struct hl_id key = hl_lane_key(name);
    struct hl_memory_lane *lane = hl_id_map_find(&m->lanes, &key);
    if (lane || hl_id_map_reserve(&m->lanes, 1) != HL_OK)
        return lane;
    lane = malloc(sizeof(*lane));
    if (!lane)
        return NULL;
    hl_list_init(&lane->due);
    hl_id_map_put(&m->lanes, &key, lane);
    return lane;
}

static void forget_lane_if_empty(struct hl_memory *m, uint64_t name)
{
    struct hl_id key = hl_lane_key(name);
    struct hl_memory_lane *lane = hl_id_map_find(&m->lanes, &key);
    if (lane && hl_list_is_empty(&lane->due))
        free(hl_id_map_remove(&m->lanes, &key));
}

/* The delivery waits in its lane from now on. */
static enum hl_err enqueue(struct hl_memory *m, struct hl_memory_run *run)
{
    struct hl_memory_lane *lane = lane_of(m, run->lane);
    struct hl_backlog *backlog = m->base.backlog;
    bool is_first = run->delivery == HL_MEMORY_NONE;
    enum hl_err err = HL_ERR_NOMEM;
    if (lane)
        err = is_first ? hl_lanes_add_expected(&backlog->lanes, run->lane)
                       : hl_lanes_add_pending(&backlog->lanes, run->lane);
    if (err) {
        forget_lane_if_empty(m, run->lane);
        return err;
    }
    run->delivery = HL_MEMORY_PENDING;
    hl_list_push_back(&lane->due, &run->due);
    hl_list_push_back(&m->unsent, &run->unsent);
    return HL_OK;
}

/* --- attempts ------------------------------------------------------------------------------- */

enum hl_delivery_state hl_memory_delivery_state(const struct hl_memory_run *run)
{
    return run->delivery == HL_MEMORY_OK     ? HL_DELIVERY_OK
           : run->delivery == HL_MEMORY_DEAD ? HL_DELIVERY_DEAD
                                             : HL_DELIVERY_PENDING;
}

int64_t hl_memory_pending_since(const struct hl_memory_run *run)
{
    return run->done_ms > 0 ? run->done_ms : run->outcome.finished_ms;
}

void hl_memory_attempt_strip(struct hl_memory *m, struct hl_attempt_row *attempt)
{
    m->bytes -= attempt->report ? sizeof(*attempt->report) : 0;
    free(attempt->report);
    attempt->report = NULL;
}

/* Room for one more: the oldest gives way. */
static enum hl_err reserve_attempt(struct hl_memory *m, struct hl_memory_run *run)
{
    if (run->n_attempts == HL_ATTEMPTS_SHOWN) {
        run->n_attempts--;
        run->attempts_dropped++;
        hl_memory_attempt_strip(m, &run->attempts[0]);
        m->bytes -= sizeof(*run->attempts);
        memmove(run->attempts, run->attempts + 1, run->n_attempts * sizeof(*run->attempts));
        return HL_OK;
    }
    struct hl_attempt_row *attempts =
        realloc(run->attempts, (run->n_attempts + 1) * sizeof(*attempts));
    if (!attempts)
        return HL_ERR_NOMEM;
    run->attempts = attempts;
    return HL_OK;
}

static void add_attempt(struct hl_memory *m, struct hl_memory_run *run, int64_t now_ms)
{
    run->attempts[run->n_attempts++] = (struct hl_attempt_row){
        .round = run->round, .n = run->n, .started_ms = now_ms, .verdict = HL_ATTEMPT_RUNNING};
    run->is_open = true;
    m->bytes += sizeof(*run->attempts);
}

/* The last one is the open one, if any is. */
static void close_attempt(struct hl_memory *m, struct hl_memory_run *run,
    const struct hl_attempt_outcome *o, bool is_last)
{
    struct hl_attempt_row *attempt = &run->attempts[run->n_attempts - 1];
    attempt->started_ms = o->started_ms;
    attempt->ended_ms = o->ended_ms;
    attempt->verdict = hl_attempt_final_verdict(o->verdict, is_last);
    attempt->http_status = o->http_status;
    memcpy(attempt->error, o->error, sizeof(attempt->error));
    attempt->report = hl_attempt_report_copy(o->report);
    m->bytes += attempt->report ? sizeof(*attempt->report) : 0;
}

static void drop_attempt(struct hl_memory *m, struct hl_memory_run *run)
{
    run->n_attempts--;
    m->bytes -= sizeof(*run->attempts);
}

enum hl_err hl_memory_delivery_begin(struct hl_memory *m, struct hl_memory_run *run, int64_t now_ms)
{
    enum hl_err err = hl_id_map_reserve(&m->deliveries, 1);
    if (err)
        return err;
    run->lane = hl_key_lane(&m->key, run->url);
    run->round = 1;
    run->n = 0;
    run->max_attempts = m->webhook_attempts;
    err = enqueue(m, run);
    if (err)
        return err;
    run->delivery_id = hl_id_next(&m->ids, now_ms);
    hl_id_map_put(&m->deliveries, &run->delivery_id, run);
    hl_list_push_back(&m->begun, &run->begun);
    return HL_OK;
}

/* --- lease ---------------------------------------------------------------------------------- */

static struct hl_leased *new_leased(const struct hl_memory_run *run)
{
    char *room;
    struct hl_leased *l = hl_store_message_alloc(sizeof(*l),
        run->project.n + run->app.n + run->url.n + run->secret.n + run->traceparent.n,
        HL_STORE_LEASED, &room);
    if (!l)
        return NULL;
    l->delivery_id = run->delivery_id;
    l->run_id = run->id;
    l->lane = run->lane;
    l->round = run->round;
    l->n = run->n + 1;
    l->max_attempts = run->max_attempts;
    l->is_async = run->is_async;
    l->project = hl_store_message_copy(&room, run->project);
    l->app = hl_store_message_copy(&room, run->app);
    l->url = hl_store_message_copy(&room, run->url);
    l->secret = hl_store_message_copy(&room, run->secret);
    l->traceparent = hl_store_message_copy(&room, run->traceparent);
    l->outcome = run->outcome;
    l->outcome.body.bytes = NULL;
    const struct hl_body *body = &run->outcome.body;
    if (hl_body_copy(&l->outcome.body, (struct hl_str){body->bytes, body->size}) != HL_OK) {
        hl_leased_free(l);
        return NULL;
    }
    return l;
}

enum hl_err hl_memory_delivery_lease(
    struct hl_driver *d, uint64_t name, int64_t now_ms, struct hl_leased **out)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_id key = hl_lane_key(name);
    struct hl_memory_lane *lane = hl_id_map_find(&m->lanes, &key);
    HL_ASSERT(lane && !hl_list_is_empty(&lane->due));
    struct hl_memory_run *run = HL_CONTAINER_OF(lane->due.next, struct hl_memory_run, due);
    enum hl_err err = reserve_attempt(m, run);
    struct hl_leased *leased = err ? NULL : new_leased(run);
    if (leased)
        leased->failing_since_ms = hl_lanes_failing_since(&d->backlog->lanes, name);
    err = leased ? hl_lanes_lease(&d->backlog->lanes, name) : HL_ERR_NOMEM;
    if (err) {
        hl_leased_free(leased);
        return err;
    }
    run->delivery = HL_MEMORY_LEASED;
    run->n++;
    add_attempt(m, run, now_ms);
    hl_list_remove(&run->due);
    forget_lane_if_empty(m, name);
    *out = leased;
    return HL_OK;
}

/* --- attempts and outcomes ------------------------------------------------------------------ */

enum hl_err hl_memory_delivery_attempt(struct hl_driver *d, struct hl_attempt *a, int64_t now_ms)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_memory_run *run = hl_id_map_find(&m->deliveries, &a->delivery_id);
    if (!run)
        return HL_ERR_NOT_FOUND;
    if (run->delivery != HL_MEMORY_LEASED || run->round != a->round ||
        a->n != run->n + !a->is_again || a->n > run->max_attempts)
        return HL_ERR_STALE;
    enum hl_err err = a->is_again ? HL_OK : reserve_attempt(m, run);
    a->leased = err ? NULL : new_leased(run);
    if (!a->leased)
        return HL_ERR_NOMEM;
    if (a->is_again)
        return HL_OK;
    run->n = a->n;
    run->next_ms = 0;
    add_attempt(m, run, now_ms);
    return HL_OK;
}

static enum hl_err give_back(struct hl_memory *m, struct hl_memory_run *run, bool is_parked)
{
    struct hl_memory_lane *lane = lane_of(m, run->lane);
    enum hl_err err =
        lane ? hl_lanes_unlease(&m->base.backlog->lanes, run->lane, is_parked) : HL_ERR_NOMEM;
    if (err) {
        forget_lane_if_empty(m, run->lane);
        return err;
    }
    run->delivery = HL_MEMORY_PENDING;
    hl_list_push_front(&lane->due, &run->due);
    return HL_OK;
}

static enum hl_err end_delivery(
    struct hl_memory *m, struct hl_memory_run *run, bool is_parked, bool is_ok, int64_t now_ms)
{
    enum hl_err err = hl_lanes_end_leased(&m->base.backlog->lanes, run->lane, is_parked, !is_ok);
    if (err)
        return err;
    run->delivery = is_ok ? HL_MEMORY_OK : HL_MEMORY_DEAD;
    run->done_ms = now_ms;
    m->n_passed = 0;
    hl_list_remove(&run->unsent);
    return HL_OK;
}

static enum hl_err put_off(
    struct hl_memory *m, struct hl_memory_run *run, const struct hl_attempt_outcome *o)
{
    enum hl_err err = hl_heap_reserve(&m->waiting);
    if (!err)
        err = hl_lanes_put_off(&m->base.backlog->lanes, run->lane, o->is_parked, o->next_ms);
    if (err)
        return err;
    run->delivery = HL_MEMORY_WAITING;
    hl_heap_add(&m->waiting, &run->next_again, o->next_ms, run->ticket);
    return HL_OK;
}

static enum hl_err call_back(struct hl_memory *m, struct hl_memory_run *run)
{
    struct hl_memory_lane *lane = lane_of(m, run->lane);
    enum hl_err err = lane ? hl_lanes_recall(&m->base.backlog->lanes, run->lane) : HL_ERR_NOMEM;
    if (err) {
        forget_lane_if_empty(m, run->lane);
        return err;
    }
    hl_heap_remove(&m->waiting, &run->next_again);
    run->delivery = HL_MEMORY_PENDING;
    run->next_ms = 0;
    hl_list_push_back(&lane->due, &run->due);
    return HL_OK;
}

/* Where too many are parked, it keeps its place. */
static enum hl_err park(struct hl_memory *m, const struct hl_memory_run *run, bool *is_parked)
{
    enum hl_err err = hl_lanes_park(&m->base.backlog->lanes, run->lane);
    *is_parked = err == HL_OK;
    return err == HL_ERR_BUSY ? HL_OK : err;
}

enum hl_err hl_memory_delivery_outcome(
    struct hl_driver *d, const struct hl_attempt_outcome *o, int64_t now_ms, bool *is_parked)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_memory_run *run = hl_id_map_find(&m->deliveries, &o->delivery_id);
    if (!run)
        return HL_ERR_NOT_FOUND;
    if (run->delivery != HL_MEMORY_LEASED || run->round != o->round || run->n != o->n)
        return HL_ERR_STALE;
    bool is_never_sent = o->verdict == HL_ATTEMPT_ABANDONED && o->started_ms == 0 && run->is_open;
    bool is_last = run->n >= run->max_attempts && !is_never_sent;
    struct hl_lane_standing standing = {o->health, o->failing_since_ms};
    bool has_changed, is_retry = o->verdict == HL_ATTEMPT_RETRY && !is_last;
    enum hl_err err = HL_OK;
    if (o->verdict != HL_ATTEMPT_ABANDONED)
        err = hl_lanes_judge(&d->backlog->lanes, run->lane, standing, &has_changed);
    if (err)
        return err;
    if (o->verdict == HL_ATTEMPT_ABANDONED && !is_last)
        err = give_back(m, run, o->is_parked);
    else if (is_retry && o->puts_off)
        err = put_off(m, run, o);
    else if (o->verdict != HL_ATTEMPT_RETRY || is_last)
        err = end_delivery(m, run, o->is_parked, o->verdict == HL_ATTEMPT_OK, now_ms);
    else if (o->parks && !o->is_parked)
        err = park(m, run, is_parked);
    if (err)
        return err;
    if (is_never_sent)
        drop_attempt(m, run);
    else if (run->is_open)
        close_attempt(m, run, o, is_last);
    run->is_open = false;
    if (is_retry)
        run->next_ms = o->next_ms;
    run->n -= is_never_sent;
    return HL_OK;
}

enum hl_err hl_memory_delivery_recall(
    struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_memory *m = hl_memory_of(d);
    struct hl_heap_node *node;
    *due_ms = INT64_MAX;
    for (unsigned n = 0; (node = hl_heap_first(&m->waiting)) != NULL; n++) {
        *due_ms = node->key;
        if (node->key > now_ms || n == max)
            return HL_OK;
        enum hl_err err = call_back(m, HL_CONTAINER_OF(node, struct hl_memory_run, next_again));
        if (err)
            return n > 0 ? HL_OK : err; /* nothing here is rolled back */
    }
    *due_ms = INT64_MAX;
    return HL_OK;
}

/* --- redelivery ----------------------------------------------------------------------------- */

static enum hl_err renew(struct hl_memory *m, struct hl_memory_run *run, int64_t now_ms)
{
    enum hl_err err = enqueue(m, run);
    if (err)
        return err;
    run->round++;
    run->n = 0;
    run->done_ms = now_ms;
    run->max_attempts = m->webhook_attempts;
    return HL_OK;
}

static enum hl_err redeliver_one(struct hl_memory *m, struct hl_redeliver *r, int64_t now_ms)
{
    struct hl_memory_run *run = hl_id_map_find(&m->deliveries, &r->delivery_id);
    if (!run || (r->project[0] && !hl_str_eq(run->project, hl_str_from(r->project))))
        return HL_ERR_NOT_FOUND;
    if (run->delivery != HL_MEMORY_OK && run->delivery != HL_MEMORY_DEAD)
        return HL_ERR_CONFLICT;
    enum hl_err err = renew(m, run, now_ms);
    r->count = !err;
    return err;
}

/* All at once: what waits behind it waits for some list nodes, not for a disk. */
enum hl_err hl_memory_delivery_redeliver(
    struct hl_driver *d, struct hl_redeliver *r, unsigned max, int64_t now_ms, bool *is_done)
{
    (void)max;
    struct hl_memory *m = hl_memory_of(d);
    *is_done = true;
    if (!hl_id_is_nil(&r->delivery_id))
        return redeliver_one(m, r, now_ms);
    if (r->state == HL_DELIVERY_PENDING)
        return HL_ERR_INVALID;
    enum hl_memory_delivery_state meant =
        r->state == HL_DELIVERY_OK ? HL_MEMORY_OK : HL_MEMORY_DEAD;
    HL_LIST_EACH (node, &m->final) {
        struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, final);
        bool is_meant = run->delivery == meant && hl_id_time_ms(&run->delivery_id) >= r->since_ms &&
                        hl_str_eq(run->project, hl_str_from(r->project));
        enum hl_err err = is_meant ? renew(m, run, now_ms) : HL_OK;
        if (err)
            return err;
        r->count += is_meant;
    }
    return HL_OK;
}
