/* tee.c - how long the copy of a response for a webhook may hold up the caller who reads it.
 * Owns: the clock of those pauses. Thread: the worker's.
 * Promise: a caller waits at most five seconds in all, one when the disk stands still, and is never
 * cut: the copy is given up for it, and the webhook says so. Without a caller the copy takes its time.
 * Not here: how much may wait before a pause (spool.c), the pausing itself (respond.c). */
#include "run/tee.h"

#include "body/spool.h"
#include "run/run.h"
#include "run/runs.h"
#include "run/service.h"
#include "store/gauges.h"
#include "store/store.h"

#define LOOK_MS       200
#define STILL_MAX_MS  1000
#define PAUSED_MAX_MS 5000

static void on_look(struct hl_timer *timer);

static void begin_pause(struct hl_run *run)
{
    struct hl_runs *runs = run->runs;
    struct hl_tee *tee = &run->tee;
    if (tee->paused_since)
        return;
    tee->paused_since = tee->moved_at = uv_now(runs->loop);
    tee->written = hl_spool_written(run->spool);
    if (!tee->look.on_fire)
        hl_timer_init(&tee->look, on_look);
    hl_timer_arm(runs->wheel, &tee->look, LOOK_MS);
}

static void end_pause(struct hl_run *run)
{
    struct hl_tee *tee = &run->tee;
    if (!tee->paused_since)
        return;
    tee->paused_ms += uv_now(run->runs->loop) - tee->paused_since;
    tee->paused_since = 0;
    hl_timer_disarm(&tee->look);
}

bool hl_tee_lags(struct hl_run *run)
{
    bool has_caller = run->client != NULL;
    hl_spool_set_hurried(run->spool, has_caller);
    bool is_full = hl_spool_is_full(run->spool);
    if (is_full && has_caller)
        begin_pause(run);
    else
        end_pause(run);
    return is_full;
}

/* A store on this disk that takes nothing will not take the copy either. */
static bool is_hopeless(const struct hl_run *run, uint64_t now)
{
    const struct hl_store_gauges *store = hl_store_gauges(run->runs->service->store);
    const struct hl_tee *tee = &run->tee;
    return now - tee->moved_at >= STILL_MAX_MS ||
           tee->paused_ms + (now - tee->paused_since) >= PAUSED_MAX_MS ||
           hl_counter_get(&store->is_full) || hl_service_store_fails(run->runs->service);
}

static void on_look(struct hl_timer *timer)
{
    struct hl_run *run = HL_CONTAINER_OF(timer, struct hl_run, tee.look);
    struct hl_tee *tee = &run->tee;
    uint64_t now = uv_now(run->runs->loop), written = hl_spool_written(run->spool);
    if (written != tee->written)
        tee->moved_at = now;
    tee->written = written;
    if (is_hopeless(run, now)) {
        hl_spool_give_up(run->spool, HL_ERR_TIMEOUT);
    } else {
        hl_timer_arm(run->runs->wheel, timer, LOOK_MS);
    }
}
