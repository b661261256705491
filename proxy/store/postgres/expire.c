/* expire.c - see thread.h. Each replica ends those that it accepted itself when they are due, and finds
 * others' when it surveys the queue: whoever accepted them may be gone. What is over is claimed by nobody,
 * by the server's clock. */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "store/gauges.h"
#include "store/postgres/link.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

#define STEP     256
#define AGAIN_MS 1000

static void note_expired(struct hl_pg_store *s, uint64_t n)
{
    if (n == 0)
        return;
    HL_LOG(INFO, "store: queued runs expired before they could start", HL_LOG_INT("runs", n));
    hl_counter_add(&s->gauges.expired_runs, n);
    s->dispatch.leases_more = true;
    hl_pg_watch_hurry(s);
    hl_pg_notify_work(s);
}

static void on_expired(struct hl_pg_store *s, const PGresult *result)
{
    s->expiry.is_under_way = false;
    if (!result) {
        hl_pg_expire_note(s, AGAIN_MS);
        return;
    }
    struct hl_pg_row row = {.result = result};
    uint64_t n = (uint64_t)hl_pg_int(&row);
    int64_t next_ms = hl_pg_int(&row);
    note_expired(s, n);
    if (next_ms >= 0)
        hl_pg_expire_note(s, (uint64_t)next_ms);
}

void hl_pg_expire_note(struct hl_pg_store *s, uint64_t in_ms)
{
    uint64_t due_ms = hl_clock_mono_ms() + in_ms;
    if (due_ms < s->expiry.due_ms)
        s->expiry.due_ms = due_ms;
}

void hl_pg_expire_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms < hl_pg_expire_due_ms(s))
        return;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_expired);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(&s->params, HL_PG_P_MAX, STEP);
    hl_pg_add_int(&s->params, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_transaction_add(e, HL_PG_DO_RUN_EXPIRE);
    s->expiry.due_ms = UINT64_MAX;
    s->expiry.is_under_way = hl_pg_transaction_send(e);
    if (!s->expiry.is_under_way)
        hl_pg_expire_note(s, AGAIN_MS);
}

uint64_t hl_pg_expire_due_ms(const struct hl_pg_store *s)
{
    if (!hl_pg_is_joined(s) || hl_pg_recall_waits(s))
        return UINT64_MAX;
    return hl_pg_repeat_due_ms(&s->expiry);
}
