/* gauging.c - see thread.h. Three small statements: the queue and the replicas each COUNT_MS, the server's
 * statistics each MEASURE_MS, what is kept of streams, which may be too much, each TRIM_MS. While the server is gone, and until it was asked again, all of that is not known. */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "store/gauges.h"
#include "store/postgres/link.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/row.h"

#define COUNT_MS   5000
#define ASLEEP_MS  1000 /* in place of COUNT_MS, while the app sleeps: its waking goes by that */
#define MEASURE_MS 15000
#define TRIM_MS    30000

/* --- the queue, the replicas ---------------------------------------------------------------- */

static void on_count(struct hl_pg_store *s, const PGresult *result)
{
    s->gauging.count.is_under_way = false;
    hl_counter_set(&s->gauges.is_uncounted, !result);
    if (!result)
        return;
    struct hl_pg_row row = {.result = result};
    hl_counter_set(&s->gauges.queued_runs, (uint64_t)hl_pg_int(&row));
    hl_counter_set(&s->gauges.oldest_queued_ms, (uint64_t)hl_pg_int(&row));
    hl_counter_set(&s->gauges.pending_deliveries, (uint64_t)hl_pg_int(&row));
    hl_counter_set(&s->gauges.oldest_delivery_ms, (uint64_t)hl_pg_int(&row));
    hl_counter_set(&s->gauges.replicas, (uint64_t)hl_pg_int(&row));
    hl_lender_note(&s->lender, hl_counter_get(&s->gauges.replicas));
    int64_t taken_ms = hl_pg_int(&row);
    if (!hl_pg_member_knows_others(s, hl_clock_mono_ms()))
        taken_ms = hl_clock_wall_ms(); /* perhaps they do, and could not say so */
    hl_counter_set(&s->gauges.app_taken_ms, (uint64_t)taken_ms);
    hl_counter_set(&s->gauges.leased_deliveries, s->places.leased);
    int64_t start_ms = hl_pg_int(&row);
    if (start_ms >= 0)
        hl_pg_expire_note(s, (uint64_t)start_ms);
    hl_counter_set(&s->gauges.waiting_runs, (uint64_t)hl_pg_int(&row));
    hl_pg_full_total(s, hl_counter_get(&s->gauges.pending_deliveries) + (uint64_t)hl_pg_int(&row));
    hl_counter_set(&s->gauges.others_up, (uint64_t)hl_pg_int(&row));
    hl_counter_set(&s->gauges.others_waking, (uint64_t)hl_pg_int(&row));
}

/* --- others' snapshots ----------------------------------------------------------------------- */

uint64_t hl_pg_snapshot_age_look(
    struct hl_pg_snapshot_age *h, uint32_t xid, uint64_t seen_ms, uint64_t now_ms)
{
    if (xid != h->xid) {
        h->xid = xid;
        h->since_ms = now_ms;
    }
    uint64_t watched_ms = xid ? now_ms - h->since_ms : 0;
    return seen_ms > watched_ms ? seen_ms : watched_ms;
}

bool hl_pg_snapshot_age_says(struct hl_pg_snapshot_age *h, uint64_t age_ms, uint64_t now_ms)
{
    bool is_quiet = h->said_ms > 0 && now_ms - h->said_ms < HL_PG_SNAPSHOT_QUIET_MS;
    if (age_ms < HL_PG_SNAPSHOT_OLD_MS || is_quiet)
        return false;
    h->said_ms = now_ms;
    return true;
}

/* --- the server's statistics ---------------------------------------------------------------- */

static void on_measure(struct hl_pg_store *s, const PGresult *result)
{
    uint64_t now_ms = hl_clock_mono_ms();
    s->gauging.measure.is_under_way = false;
    hl_counter_set(&s->gauges.is_unmeasured, !result);
    if (!result)
        return;
    struct hl_pg_row row = {.result = result};
    hl_counter_set(&s->gauges.dead_tickets, (uint64_t)hl_pg_int(&row));
    hl_counter_set(&s->gauges.dead_delivery_tickets, (uint64_t)hl_pg_int(&row));
    int64_t seen_ms = hl_pg_int(&row);
    uint32_t xid = (uint32_t)hl_pg_int(&row);
    uint64_t age_ms = hl_pg_snapshot_age_look(
        &s->gauging.snapshots, xid, seen_ms > 0 ? (uint64_t)seen_ms : 0, now_ms);
    hl_counter_set(&s->gauges.oldest_xmin_ms, age_ms);
    if (hl_pg_snapshot_age_says(&s->gauging.snapshots, age_ms, now_ms))
        HL_LOG(WARN,
            "store: an old snapshot of the database is held open (a report, pg_dump, a forgotten "
            "transaction): dead rows of the queue cannot be removed, and it slows down",
            HL_LOG_INT("seconds", age_ms / 1000));
}

/* --- kept streams of synchronous calls, destinations that failed ------------------------------ */

/* It is not known before the store has opened. */
static bool has_share(const struct hl_pg_store *s)
{
    return hl_counter_get(&s->gauges.max_stream_bytes) > 0;
}

static void on_trim(struct hl_pg_store *s, const PGresult *result)
{
    s->gauging.trim.is_under_way = false;
    hl_counter_set(&s->gauges.is_untrimmed, !result || !has_share(s));
    if (!result || !has_share(s))
        return;
    struct hl_pg_row row = {.result = result};
    hl_counter_set(&s->gauges.stream_bytes, (uint64_t)hl_pg_int(&row));
}

static bool trim(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_trim);
    if (!e)
        return false;
    hl_pg_transaction_add(e, HL_PG_DO_FAILING_TRIM);
    if (!has_share(s))
        return hl_pg_transaction_send(e);
    hl_pg_add_int(
        &s->params, HL_PG_P_UNTIL_MS, hl_clock_wall_ms() - (int64_t)s->stream_retention_ms);
    uint64_t max = hl_counter_get(&s->gauges.max_stream_bytes);
    /* Here: of those that go on at other replicas nothing is known. */
    int64_t live = atomic_load_explicit(&s->base.live_streams, memory_order_relaxed);
    hl_pg_add_int(&s->params, HL_PG_P_MAX_BYTES, live < (int64_t)max ? (int64_t)max - live : 0);
    hl_pg_transaction_add(e, HL_PG_DO_STREAM_TRIM);
    return hl_pg_transaction_send(e);
}

void hl_pg_gauging_forget(struct hl_pg_store *s)
{
    hl_counter_set(&s->gauges.is_uncounted, 1);
    hl_counter_set(&s->gauges.is_unmeasured, 1);
    hl_counter_set(&s->gauges.is_untrimmed, 1);
    s->gauging.count.due_ms = s->gauging.measure.due_ms = s->gauging.trim.due_ms = 0;
}

/* --- turns ---------------------------------------------------------------------------------- */

static bool count(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_count);
    if (!e)
        return false;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_transaction_add(e, HL_PG_DO_COUNT);
    return hl_pg_transaction_send(e);
}

static bool measure(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_measure);
    if (!e)
        return false;
    hl_pg_transaction_add(e, HL_PG_DO_MEASURE);
    return hl_pg_transaction_send(e);
}

/* Its next time is noted, so that it is to be asked now. */
static bool take_time(struct hl_pg_repeat *r, uint64_t now_ms, uint64_t every_ms)
{
    if (now_ms < hl_pg_repeat_due_ms(r))
        return false;
    r->due_ms = now_ms + every_ms;
    return true;
}

void hl_pg_gauging_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_gauging *v = &s->gauging;
    if (!hl_pg_is_joined(s))
        return;
    if (atomic_load(&s->base.sleeps) && v->count.due_ms > now_ms + ASLEEP_MS)
        v->count.due_ms = now_ms + ASLEEP_MS; /* it has just fallen asleep */
    if (take_time(&v->count, now_ms, atomic_load(&s->base.sleeps) ? ASLEEP_MS : COUNT_MS))
        v->count.is_under_way = count(s);
    if (take_time(&v->measure, now_ms, MEASURE_MS))
        v->measure.is_under_way = measure(s);
    if (take_time(&v->trim, now_ms, TRIM_MS))
        v->trim.is_under_way = trim(s);
}

uint64_t hl_pg_gauging_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_gauging *v = &s->gauging;
    if (!hl_pg_is_joined(s))
        return UINT64_MAX;
    uint64_t count_ms = hl_pg_repeat_due_ms(&v->count), trim_ms = hl_pg_repeat_due_ms(&v->trim);
    uint64_t measure_ms = hl_pg_repeat_due_ms(&v->measure);
    uint64_t due_ms = count_ms < measure_ms ? count_ms : measure_ms;
    return due_ms < trim_ms ? due_ms : trim_ms;
}
