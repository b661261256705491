/* backlog.c - counts of what waits, and the turns of queued runs. */
#include "store/backlog.h"

#include "base/str.h"
#include "store/accept.h"
#include "store/key.h"

void hl_backlog_init(struct hl_backlog *b, uint32_t max_queued_runs, uint32_t max_pending,
    uint32_t places, uint32_t per_lane)
{
    *b = (struct hl_backlog){.expire_ms = INT64_MAX, .max_queued_runs = max_queued_runs};
    hl_lanes_init(&b->lanes, max_pending, places, per_lane);
    hl_watchers_init(&b->watchers);
    hl_turns_init(&b->turns);
}

void hl_backlog_fini(struct hl_backlog *b)
{
    hl_lanes_fini(&b->lanes);
    hl_watchers_fini(&b->watchers);
    hl_turns_fini(&b->turns);
    hl_quota_blocked_fini(&b->blocked);
}

void hl_backlog_begin(struct hl_backlog *b)
{
    b->before = b->now;
    hl_lanes_begin(&b->lanes);
    hl_turns_begin(&b->turns);
}

void hl_backlog_commit(struct hl_backlog *b)
{
    hl_turns_commit(&b->turns);
    hl_lanes_commit(&b->lanes);
}

void hl_backlog_rollback(struct hl_backlog *b)
{
    hl_watchers_rollback(&b->watchers);
    hl_turns_rollback(&b->turns);
    hl_quota_blocked_forget(&b->blocked);
    hl_lanes_rollback(&b->lanes);
    hl_turns_commit(&b->turns);
    b->now = b->before;
}

enum hl_err hl_backlog_has_room(const struct hl_backlog *b, bool has_webhook)
{
    if (b->now.queued_runs + b->now.waiting_runs >= b->max_queued_runs)
        return HL_ERR_BUSY;
    return has_webhook && !hl_lanes_have_room(&b->lanes) ? HL_ERR_BUSY : HL_OK;
}

static uint64_t queued_of(const struct hl_backlog *b, uint64_t subject)
{
    uint64_t n = 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        n += hl_turns_waiting(&b->turns, (enum hl_priority)i, subject);
    return n;
}

enum hl_err hl_backlog_admits(
    const struct hl_backlog *b, struct hl_accept *a, const struct hl_key *key)
{
    a->is_over_queued = false;
    enum hl_err err = hl_backlog_has_room(b, a->webhook_url.n > 0);
    if (err || a->is_over)
        return HL_ERR_BUSY;
    a->is_over_destination =
        a->webhook_url.n > 0 && hl_lanes_has_its_share(&b->lanes, hl_key_lane(key, a->webhook_url));
    if (a->is_over_destination)
        return HL_ERR_BUSY;
    if (a->max_queued > 0)
        a->is_over_queued = queued_of(b, hl_key_subject(key, a->identity)) >= a->max_queued;
    return a->is_over_queued ? HL_ERR_BUSY : HL_OK;
}

static void count(struct hl_backlog *b, const struct hl_queue_place *place, int by)
{
    b->now.queued_runs += (uint64_t)(int64_t)by;
    b->now.queued[place->class] += (uint64_t)(int64_t)by;
    if (b->blocked.n > 0 && hl_quota_blocked_has(&b->blocked, place->subject))
        b->blocked.queued[place->class] += (uint64_t)(int64_t)by;
}

void hl_backlog_queue(struct hl_backlog *b, struct hl_queue_place *place)
{
    place->turn = hl_turns_give(&b->turns, place->class, place->subject);
    count(b, place, 1);
}

void hl_backlog_queue_again(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_take(&b->turns, place->class, place->subject, place->turn);
    count(b, place, 1);
}

void hl_backlog_start(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_start(&b->turns, place->class, place->subject, place->turn);
    count(b, place, -1);
}

void hl_backlog_unqueue(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_leave(&b->turns, place->class, place->subject);
    count(b, place, -1);
}

void hl_backlog_forget_class(struct hl_backlog *b, enum hl_priority class)
{
    b->now.queued_runs -= b->now.queued[class] - b->blocked.queued[class];
    b->now.queued[class] = b->blocked.queued[class];
}

enum hl_err hl_backlog_may_start(struct hl_backlog *b, const struct hl_key *key,
    const struct hl_queue_place *place, struct hl_quota **quota)
{
    enum hl_err err = hl_quota_blocked_ask(&b->blocked, key, place->subject, quota);
    if (err != HL_ERR_BUSY)
        return err;
    for (int i = 0; i < HL_PRIORITIES; i++)
        b->blocked.queued[i] += hl_turns_queued(&b->turns, (enum hl_priority)i, place->subject);
    return HL_ERR_STALE;
}

/* What is blocked was counted from turns, which are forgotten where memory is short. */
uint64_t hl_backlog_ready_of(const struct hl_backlog *b, enum hl_priority class)
{
    uint64_t queued = b->now.queued[class], blocked = b->blocked.queued[class];
    return queued > blocked ? queued - blocked : 0;
}

uint64_t hl_backlog_ready(const struct hl_backlog *b)
{
    uint64_t n = 0;
    for (int i = 0; i < HL_PRIORITIES; i++)
        n += hl_backlog_ready_of(b, (enum hl_priority)i);
    return n;
}

void hl_backlog_put_off(struct hl_backlog *b, const struct hl_queue_place *place, int64_t due_ms)
{
    hl_turns_put_off(&b->turns, place->class, place->subject, place->turn);
    b->now.waiting_runs++;
    hl_backlog_note_start_by(b, due_ms);
}

void hl_backlog_call_back(struct hl_backlog *b, const struct hl_queue_place *place)
{
    hl_turns_call_back(&b->turns, place->class, place->subject);
    b->now.waiting_runs--;
}

unsigned hl_backlog_waiting(const struct hl_backlog *b)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < HL_PRIORITIES; i++)
        if (hl_backlog_ready_of(b, (enum hl_priority)i) > 0)
            waiting |= hl_priority_bit((enum hl_priority)i);
    return waiting;
}
