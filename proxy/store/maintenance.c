/* maintenance.c - what the engine's thread does when it is not running a batch: looks for room,
 * drops what is past its time, keeps the gauges, lets the driver tidy. Each step is small and alone
 * in its transaction, so that a request that comes meanwhile waits for one step at most. */
#include "store/maintenance.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/priority.h"
#include "store/backlog.h"
#include "store/clock.h"
#include "store/driver.h"
#include "store/engine.h"

#define ROOM_US      50000u
#define SURVEY_US    200000u
#define TRIM_US      1000000u
#define QUIET_US     100000u
#define DOUBT_US     60000000u   /* a clock that is not believed is looked at again then */
#define NOTE_US      3600000000u /* much less than the jump that is not believed */
#define SAY_AGAIN_US 3600000000u
#define AGAIN_US     1000000u
#define PURGE_STEP   64
#define RECALL_STEP  256
#define SHED_STEP    16
#define SHED_STEPS   4

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void log_room(const struct hl_engine *e, enum hl_err room)
{
    if (room == HL_ERR_NOT_FOUND)
        HL_LOG(ERROR,
            "store: hookline.db is not where it was opened: it or the data directory was moved or "
            "removed; new asynchronous calls are refused until it is back; to have it elsewhere "
            "stop hookline first",
            HL_LOG_TEXT("setting", "HOOKLINE_DATA_DIR"), HL_LOG_TEXT("path", e->driver->data_dir));
    else if (room == HL_OK && e->room == HL_ERR_NOT_FOUND)
        HL_LOG(WARN, "store: hookline.db is back in its place");
    else if (room == HL_OK)
        HL_LOG(INFO, "store: there is space again");
    else if (room == HL_ERR_TOO_LARGE || !e->driver->data_dir)
        HL_LOG(WARN,
            "store: at its size limit, and nothing more can be removed for now: new asynchronous "
            "calls are refused",
            HL_LOG_TEXT("setting", "HOOKLINE_STORE_MAX_BYTES"),
            HL_LOG_INT("limit_bytes", hl_counter_get(&e->gauges.max_bytes)),
            HL_LOG_INT("pending_deliveries", e->backlog.lanes.now.pending),
            HL_LOG_INT("queued_runs", e->backlog.now.queued_runs));
    else
        HL_LOG(WARN,
            "store: the volume of the data directory is full: new asynchronous calls are refused",
            HL_LOG_TEXT("setting", "HOOKLINE_DATA_DIR"), HL_LOG_TEXT("path", e->driver->data_dir));
}

/* What was moved away fails, too, though it takes what it has begun. */
static void publish_failing(struct hl_engine *e)
{
    hl_counter_set(&e->gauges.is_failing, e->is_failing || e->room == HL_ERR_NOT_FOUND);
}

void hl_maintenance_set_room(struct hl_engine *e, enum hl_err room)
{
    if (room != e->room)
        log_room(e, room);
    if (room && !e->room)
        e->settle_us = 0;
    e->room = room;
    hl_counter_set(&e->gauges.is_full, room != HL_OK && room != HL_ERR_NOT_FOUND);
    publish_failing(e);
}

uint64_t hl_maintenance_pause(struct hl_engine *e)
{
    uint64_t pause_us = e->pause_us;
    e->pause_us = sooner(2 * pause_us, HL_MAX_PAUSE_US);
    return pause_us;
}

void hl_maintenance_fail(struct hl_engine *e, enum hl_err err)
{
    uint64_t now_us = hl_clock_mono_us();
    if (!e->is_failing)
        HL_LOG(ERROR,
            "store: failing, will be reopened; until then asynchronous calls are refused and "
            "finished runs are kept in memory; nothing acknowledged is lost",
            HL_LOG_TEXT("why", hl_err_text(err)));
    if (!e->is_failing)
        hl_reopening_fail(&e->reopening, now_us);
    e->is_failing = true;
    publish_failing(e);
}

static void log_reopened(const struct hl_engine *e, uint64_t now_us)
{
    HL_LOG(WARN, "store: works again: the database was checked and reopened",
        HL_LOG_INT("ms", (now_us - e->reopening.since_us) / 1000));
}

static void log_in_vain(struct hl_engine *e, const char *why, uint64_t now_us)
{
    HL_LOG(ERROR, "store: could not be reopened, trying again", HL_LOG_TEXT("why", why),
        HL_LOG_INT("again_in_ms", (e->reopening.next_us - now_us) / 1000));
    if (!hl_reopening_is_hopeless(&e->reopening, now_us) || hl_counter_get(&e->gauges.is_lost))
        return;
    HL_LOG(ERROR, "store: could not be reopened for too long: the health check now fails, so that "
                  "hookline is restarted");
    hl_counter_set(&e->gauges.is_lost, 1);
}

bool hl_maintenance_reopen(struct hl_engine *e)
{
    char why[512];
    uint64_t now_us = hl_clock_mono_us();
    bool may_be = e->driver->vt->reopen != NULL;
    enum hl_err err = may_be ? e->driver->vt->reopen(e->driver, why, sizeof(why)) : HL_ERR_IO;
    if (err) {
        hl_reopening_fail(&e->reopening, now_us);
        log_in_vain(e, may_be ? why : "its memory is lost", now_us);
        return false;
    }
    now_us = hl_clock_mono_us();
    log_reopened(e, now_us);
    hl_reopening_succeed(&e->reopening, now_us);
    e->is_failing = false;
    publish_failing(e);
    hl_counter_set(&e->gauges.is_lost, 0);
    e->settle_us = e->survey_us = e->room_us = 0;
    return true;
}

/* A maintenance step in a transaction of its own. Even removing needs space first: what is held in
 * reserve is for that too, at the next try. */
static enum hl_err commit_step(struct hl_engine *e, enum hl_err step)
{
    struct hl_driver *d = e->driver;
    enum hl_err err = step;
    if (step == HL_OK || (step == HL_ERR_NOT_FOUND && !d->is_broken))
        err = d->vt->commit(d);
    else
        d->vt->rollback(d);
    if (err)
        hl_backlog_rollback(&e->backlog);
    else
        hl_backlog_commit(&e->backlog);
    if (err == HL_ERR_IO || err == HL_ERR_CORRUPT)
        hl_maintenance_fail(e, err);
    if (err == HL_ERR_FULL)
        (void)d->vt->release_reserve(d);
    return err ? err : step;
}

static enum hl_err begin_step(struct hl_engine *e)
{
    enum hl_err err = e->driver->vt->begin(e->driver);
    if (!err)
        hl_backlog_begin(&e->backlog);
    return err;
}

static void log_shedding(struct hl_engine *e)
{
    uint64_t now_us = hl_clock_mono_us();
    if (e->shed_said_us > 0 && now_us - e->shed_said_us < SAY_AGAIN_US)
        return;
    e->shed_said_us = now_us;
    HL_LOG(WARN,
        "store: at its size limit: the oldest finished bodies and runs are removed before "
        "HOOKLINE_RETENTION",
        HL_LOG_TEXT("setting", "HOOKLINE_STORE_MAX_BYTES"),
        HL_LOG_INT("limit_bytes", hl_counter_get(&e->gauges.max_bytes)));
}

/* The oldest of what has ended makes room for new runs (contract 6). `*has_more`: there are more to
 * give, after those who wait have had their turn. */
static enum hl_err shed(struct hl_engine *e, bool *has_more)
{
    enum hl_err room = HL_ERR_TOO_LARGE;
    *has_more = true;
    for (int i = 0; i < SHED_STEPS && room == HL_ERR_TOO_LARGE; i++) {
        enum hl_err err = begin_step(e);
        if (!err)
            err = commit_step(e, e->driver->vt->shed(e->driver, SHED_STEP));
        *has_more = !err;
        if (err)
            break;
        log_shedding(e);
        e->driver->vt->settle(e->driver, false);
        room = e->driver->vt->room(e->driver);
    }
    return room;
}

void hl_maintenance_look_for_room(struct hl_engine *e, uint64_t now_us)
{
    if (now_us < e->room_us)
        return;
    bool has_more = false;
    enum hl_err room = e->driver->vt->room(e->driver);
    if (room == HL_ERR_TOO_LARGE)
        room = shed(e, &has_more);
    hl_maintenance_set_room(e, room);
    e->room_us = room && has_more ? now_us : now_us + ROOM_US;
}

/* --- gauges --------------------------------------------------------------------------------- */

static void show_backlog(struct hl_engine *e)
{
    const struct hl_backlog_totals *runs = &e->backlog.now;
    const struct hl_lanes_totals *deliveries = &e->backlog.lanes.now;
    hl_counter_set(&e->gauges.queued_runs, runs->queued_runs);
    hl_counter_set(&e->gauges.waiting_runs, runs->waiting_runs);
    for (int i = 0; i < HL_PRIORITIES; i++)
        hl_counter_set(&e->gauges.queued[i], hl_backlog_ready_of(&e->backlog, (enum hl_priority)i));
    hl_counter_set(&e->gauges.pending_deliveries, deliveries->pending);
    hl_counter_set(&e->gauges.leased_deliveries, deliveries->leased);
    hl_counter_set(&e->gauges.waiting_deliveries, deliveries->waiting);
    hl_counter_set(&e->gauges.dead_letters, deliveries->dead);
    hl_counter_set(&e->gauges.lanes_at_limit, deliveries->at_limit);
}

void hl_maintenance_note_commit(struct hl_engine *e, uint64_t began_us)
{
    uint64_t now_us = hl_clock_mono_us();
    hl_counter_add(&e->gauges.commits, 1);
    hl_histogram_add(&e->gauges.commit_latency, now_us - began_us);
    show_backlog(e);
    e->survey_us = sooner(e->survey_us, now_us + SURVEY_US);
    e->settle_us = e->room ? now_us : now_us + QUIET_US;
    e->purge_us =
        e->driver->wants_purge ? 0 : sooner(e->purge_us, now_us + (uint64_t)e->keep_ms * 1000);
}

/* As far as is known: with those that go on; and some have ended, which can make room. */
static bool are_streams_over(const struct hl_engine *e)
{
    uint64_t ended = hl_counter_get(&e->gauges.stream_bytes);
    return ended > 0 &&
           ended + hl_driver_live_streams(e->driver) > hl_counter_get(&e->gauges.max_stream_bytes);
}

static void survey(struct hl_engine *e)
{
    struct hl_survey now;
    e->driver->vt->survey(e->driver, &now);
    hl_counter_set(&e->gauges.oldest_queued_ms, (uint64_t)now.queued_ms);
    hl_counter_set(&e->gauges.oldest_delivery_ms, (uint64_t)now.delivery_ms);
    hl_counter_set(&e->gauges.bytes, now.bytes);
    hl_counter_set(&e->gauges.log_bytes, now.log_bytes);
    hl_counter_set(&e->gauges.max_bytes, now.max_bytes);
    hl_counter_set(&e->gauges.stream_bytes, now.stream_bytes);
    hl_counter_set(&e->gauges.max_stream_bytes, now.max_stream_bytes);
    hl_counter_set(&e->gauges.purged_runs, now.purged_runs);
    hl_counter_set(&e->gauges.shed_runs, now.shed_runs);
    hl_counter_set(&e->gauges.shed_bodies, now.shed_bodies);
    hl_counter_set(&e->gauges.swept_files, now.swept_files);
    e->survey_us = HL_NEVER;
    if (are_streams_over(e)) /* what grew meanwhile was compared with an older figure */
        atomic_store(&e->wants_trim, true);
}

void hl_maintenance_show_all(struct hl_engine *e)
{
    show_backlog(e);
    survey(e);
}

/* --- steps ---------------------------------------------------------------------------------- */

/* A clock that is not believed is not noted, but that it was set is. */
void hl_maintenance_note_time(struct hl_engine *e, uint64_t now_us)
{
    struct hl_driver *d = e->driver;
    (void)hl_steady_clock_hold(&e->steady, hl_clock_wall_ms(), now_us);
    int64_t lead_ms = hl_clock_lead_ms();
    bool was_set = lead_ms != e->steady.noted_ms && now_us >= e->steady.again_us;
    if (e->is_failing || (!was_set && now_us < e->clock_us))
        return;
    e->clock_us = now_us + NOTE_US;
    bool is_known = hl_clock_guard_trusts(&e->clock_guard, hl_clock_wall_ms(), now_us);
    if (!d->vt->note_time || e->room || (!is_known && !was_set))
        return;
    enum hl_err err = begin_step(e);
    if (!err)
        err = commit_step(e, d->vt->note_time(d, &(struct hl_noted_time){e->clock_guard.seen_ms,
                                                     hl_clock_steady_ms(), lead_ms}));
    if (err)
        e->clock_us = e->steady.again_us = now_us + DOUBT_US;
    else
        e->steady.noted_ms = lead_ms;
}

static void note_expired(struct hl_engine *e, uint64_t n)
{
    if (n == 0)
        return;
    HL_LOG(INFO, "store: queued runs expired before they could start", HL_LOG_INT("runs", n));
    hl_counter_add(&e->gauges.expired_runs, n);
}

/* While requests come, three parts of the time in four are theirs. */
static void purge(struct hl_engine *e, uint64_t now_us, bool is_idle)
{
    int64_t now_ms = hl_clock_wall_ms(), due_ms = INT64_MAX;
    if (!hl_clock_guard_trusts(&e->clock_guard, now_ms, now_us)) {
        e->purge_us = now_us + DOUBT_US;
        return;
    }
    e->driver->wants_purge = false;
    enum hl_err err = begin_step(e);
    if (!err)
        err = commit_step(e, e->driver->vt->purge(e->driver, now_ms, PURGE_STEP, &due_ms));
    HL_CRASH_POINT(PURGE_COMMITTED);
    if (err && err != HL_ERR_FULL)
        HL_LOG(WARN, "store: runs past retention were not removed, trying again",
            HL_LOG_TEXT("why", hl_err_text(err)));
    if (err)
        due_ms = now_ms + 1000;
    uint64_t rest_us = is_idle ? 0 : 4 * (hl_clock_mono_us() - now_us);
    if (due_ms == INT64_MAX)
        e->purge_us = HL_NEVER;
    else
        e->purge_us = now_us + (due_ms > now_ms ? (uint64_t)(due_ms - now_ms) * 1000 : rest_us);
    e->settle_us = now_us + QUIET_US;
    e->survey_us = sooner(e->survey_us, now_us + SURVEY_US);
}

/* Until it is held it follows the wall clock, which may be wrong. */
static bool trusts_steady(struct hl_engine *e, uint64_t now_us)
{
    return e->steady.is_held || hl_clock_guard_trusts(&e->clock_guard, hl_clock_wall_ms(), now_us);
}

void hl_maintenance_expire(struct hl_engine *e)
{
    int64_t *due_ms = &e->backlog.expire_ms;
    if (*due_ms == INT64_MAX || e->is_failing)
        return;
    int64_t now_ms = hl_clock_steady_ms(), next_ms = INT64_MAX;
    uint64_t now_us = hl_clock_mono_us();
    if (now_ms < *due_ms || now_us < e->expire_us)
        return;
    if (!trusts_steady(e, now_us)) {
        e->expire_us = now_us + DOUBT_US;
        return;
    }
    uint64_t expired = e->backlog.now.expired_runs;
    enum hl_err err = begin_step(e);
    if (!err)
        err = commit_step(e, e->driver->vt->expire(e->driver, now_ms, PURGE_STEP, &next_ms));
    if (err)
        e->expire_us = now_us + AGAIN_US;
    else
        *due_ms = next_ms;
    e->is_expiring = !err && next_ms <= now_ms;
    if (err)
        return;
    note_expired(e, e->backlog.now.expired_runs - expired);
    hl_maintenance_note_commit(e, now_us); /* runs whose next attempt is due are queued again */
}

/* A few at a time: who has other requests does not wait for a million that fall due at once. */
void hl_maintenance_recall(struct hl_engine *e)
{
    int64_t *due_ms = &e->backlog.lanes.recall_ms;
    int64_t now_ms = hl_clock_steady_ms(), next_ms = INT64_MAX;
    uint64_t now_us = hl_clock_mono_us();
    if (*due_ms == INT64_MAX || e->is_failing || now_ms < *due_ms || now_us < e->recall_us)
        return;
    if (!trusts_steady(e, now_us)) {
        e->recall_us = now_us + DOUBT_US;
        return;
    }
    enum hl_err err = begin_step(e);
    if (!err)
        err = commit_step(e, e->driver->vt->recall(e->driver, now_ms, RECALL_STEP, &next_ms));
    if (err)
        e->recall_us = now_us + AGAIN_US;
    else
        *due_ms = next_ms;
    if (!err)
        hl_maintenance_note_commit(e, now_us);
}

/* By the clock that says when it is over and now `now_ms`, and which may be set meanwhile. */
static uint64_t due_us_by(int64_t now_ms, int64_t at_ms, uint64_t least_us)
{
    if (at_ms == INT64_MAX)
        return HL_NEVER;
    uint64_t now_us = hl_clock_mono_us();
    int64_t left_ms = at_ms - now_ms;
    uint64_t due_us = left_ms > 0 ? now_us + (uint64_t)left_ms * 1000 : now_us;
    due_us = due_us > least_us ? due_us : least_us;
    return sooner(due_us, now_us + DOUBT_US);
}

/* On a full volume what can be given back to it is, without waiting for quiet; but what cannot be is
 * not tried all the time: it may write as much as the whole log. */
static void settle(struct hl_engine *e, uint64_t now_us, bool is_idle)
{
    bool is_time = is_idle && now_us >= e->settle_us;
    bool has_more = e->driver->vt->settle(e->driver, is_time);
    if (!is_time)
        return;
    if (e->room)
        e->settle_us = has_more ? now_us : now_us + hl_maintenance_pause(e);
    else
        e->settle_us = has_more ? now_us + QUIET_US : HL_NEVER;
}

/* Not at once: one that grows too long to be kept at all is no reason to give others up. */
static void heed_trim(struct hl_engine *e, uint64_t now_us)
{
    if (!atomic_load(&e->wants_trim))
        return;
    if (e->trim_us == 0)
        e->trim_us = now_us + TRIM_US;
    if (now_us < e->trim_us)
        return;
    atomic_store(&e->wants_trim, false);
    e->trim_us = 0;
    if (are_streams_over(e))
        e->purge_us = now_us;
}

void hl_maintenance_tend(struct hl_engine *e, bool is_idle)
{
    if (e->is_failing)
        return;
    uint64_t now_us = hl_clock_mono_us();
    settle(e, now_us, is_idle);
    hl_maintenance_note_time(e, now_us);
    heed_trim(e, now_us);
    if (now_us >= e->purge_us && !e->is_failing)
        purge(e, now_us, is_idle);
    bool is_due = now_us >= e->survey_us;
    bool waits = e->retry_us != HL_NEVER || e->held.first;
    if ((is_due || e->room) && !waits && !e->is_failing)
        hl_maintenance_look_for_room(
            e, now_us); /* the last finish may have gone beyond the limit */
    if (is_due)
        survey(e);
}

uint64_t hl_maintenance_next_due(const struct hl_engine *e)
{
    if (e->is_failing)
        return e->reopening.next_us;
    uint64_t due = sooner(sooner(e->retry_us, e->settle_us), sooner(e->survey_us, e->purge_us));
    uint64_t expire_us = due_us_by(hl_clock_steady_ms(), e->backlog.expire_ms, e->expire_us);
    uint64_t recall_us = due_us_by(hl_clock_steady_ms(), e->backlog.lanes.recall_ms, e->recall_us);
    due = sooner(sooner(due, e->clock_us), sooner(expire_us, recall_us));
    if (e->serve_us > 0)
        due = sooner(due, e->serve_us);
    if (atomic_load(&e->wants_trim))
        due = sooner(due, e->trim_us);
    if (e->held.first)
        return sooner(due, e->held.retry_us);
    return e->room && e->retry_us == HL_NEVER ? sooner(due, e->room_us) : due;
}
