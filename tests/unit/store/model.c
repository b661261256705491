/* model.c - see model.h. What store.h and contract 4 to 6 say, in the plainest words. */
#include "model.h"

struct model_run *model_find(struct model *m, const struct hl_id *id)
{
    for (size_t i = 0; i < m->n; i++)
        if (hl_id_eq(&m->runs[i].id, id))
            return &m->runs[i];
    return NULL;
}

/* --- counts --------------------------------------------------------------------------------- */

uint64_t model_queued(const struct model *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->runs[i].state == HL_RUN_QUEUED;
    return n;
}

uint64_t model_deliveries(const struct model *m, enum model_delivery state)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->runs[i].delivery == state;
    return n;
}

static uint32_t places_taken(const struct model *m, unsigned lane)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n +=
            m->runs[i].delivery == MODEL_LEASED && m->runs[i].lane == lane && !m->runs[i].is_parked;
    return n;
}

uint32_t model_leasable(const struct model *m)
{
    uint32_t sum = 0;
    for (unsigned lane = 0; lane < MODEL_LANES; lane++) {
        uint32_t pending = 0, free = m->per_lane - places_taken(m, lane);
        for (size_t i = 0; i < m->n; i++)
            pending += m->runs[i].delivery == MODEL_PENDING && m->runs[i].lane == lane;
        sum += pending < free ? pending : free;
    }
    return sum;
}

bool model_may_be_gone(const struct model_run *run, int64_t now_ms, int64_t retention_ms)
{
    return run->is_gone ||
           (hl_run_state_is_final(run->state) && run->delivery != MODEL_PENDING &&
               run->delivery != MODEL_LEASED && run->finished_ms + retention_ms <= now_ms);
}

/* --- runs ----------------------------------------------------------------------------------- */

/* Runs that go on and deliveries that do, of one destination. */
static uint64_t count_of_lane(const struct model *m, unsigned lane)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct model_run *run = &m->runs[i];
        bool is_counted = !hl_run_state_is_final(run->state) || run->delivery == MODEL_PENDING ||
                          run->delivery == MODEL_LEASED;
        n += run->has_webhook && run->lane == lane && is_counted;
    }
    return n;
}

static enum hl_err check_limits(const struct model *m, const struct model_run *run)
{
    if (model_queued(m) >= m->max_queued)
        return HL_ERR_BUSY;
    uint64_t pending = model_deliveries(m, MODEL_PENDING) + model_deliveries(m, MODEL_LEASED);
    bool is_over = pending >= m->max_pending || count_of_lane(m, run->lane) >= m->max_pending / 2;
    return run->has_webhook && is_over ? HL_ERR_BUSY : HL_OK;
}

static void add(struct model *m, const struct model_run *run)
{
    struct model_run *added = &m->runs[m->n++];
    *added = *run;
    added->response = -1;
    added->max_attempts = m->webhook_attempts;
}

enum hl_err model_accept(struct model *m, const struct model_run *run, int key, uint8_t fingerprint,
    int64_t now_ms, struct hl_id *existing)
{
    struct model_key *k = key >= 0 ? &m->keys[key] : NULL;
    if (k && k->expires_ms > now_ms) {
        *existing = k->run_id;
        return k->fingerprint == fingerprint ? HL_ERR_EXISTS : HL_ERR_CONFLICT;
    }
    enum hl_err err = check_limits(m, run);
    if (err)
        return err;
    if (k)
        *k = (struct model_key){run->id, fingerprint, now_ms + m->key_ms};
    add(m, run);
    m->runs[m->n - 1].is_async = true;
    return HL_OK;
}

void model_record(struct model *m, const struct model_run *run)
{
    add(m, run);
    m->runs[m->n - 1].state = HL_RUN_RUNNING;
    m->runs[m->n - 1].epoch = m->runs[m->n - 1].attempt = 1;
}

struct model_run *model_claim(struct model *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct model_run *run = &m->runs[i];
        if (run->state != HL_RUN_QUEUED)
            continue;
        run->state = HL_RUN_RUNNING;
        run->epoch++;
        run->attempt++;
        return run;
    }
    return NULL;
}

static void end(struct model_run *run, enum hl_run_state state, enum hl_run_reason reason,
    int response, int64_t finished_ms)
{
    run->state = state;
    run->reason = reason;
    run->response = response;
    run->finished_ms = finished_ms;
    if (run->has_webhook) {
        run->delivery = MODEL_PENDING;
        run->round = 1;
    }
}

enum hl_err model_finish(struct model_run *run, uint32_t epoch, int response, int64_t finished_ms)
{
    if (run->state != HL_RUN_RUNNING || run->epoch != epoch)
        return HL_ERR_STALE;
    end(run, run->is_cancel_wished ? HL_RUN_CANCELLED : HL_RUN_SUCCESS, HL_REASON_NONE, response,
        finished_ms);
    return HL_OK;
}

enum hl_err model_release(struct model_run *run, uint32_t epoch, int64_t now_ms)
{
    if (run->state != HL_RUN_RUNNING || run->epoch != epoch)
        return HL_ERR_STALE;
    if (run->is_cancel_wished) {
        end(run, HL_RUN_CANCELLED, HL_REASON_NONE, -1, now_ms);
        return HL_OK;
    }
    run->state = HL_RUN_QUEUED;
    run->epoch++;
    run->attempt--;
    return HL_OK;
}

enum hl_err model_cancel(struct model_run *run, int64_t now_ms)
{
    if (hl_run_state_is_final(run->state))
        return HL_ERR_CONFLICT;
    if (run->state == HL_RUN_RUNNING)
        run->is_cancel_wished = true;
    else
        end(run, HL_RUN_CANCELLED, HL_REASON_NONE, -1, now_ms);
    return HL_OK;
}

/* --- deliveries ----------------------------------------------------------------------------- */

bool model_lease(struct model *m, struct model_run *run)
{
    if (run->delivery != MODEL_PENDING || places_taken(m, run->lane) >= m->per_lane)
        return false;
    run->delivery = MODEL_LEASED;
    run->is_open = true;
    run->is_parked = false;
    run->n++;
    return true;
}

enum hl_err model_attempt(struct model_run *run, uint32_t round, uint32_t n)
{
    if (run->delivery != MODEL_LEASED || run->round != round || n != run->n + 1 ||
        n > run->max_attempts)
        return HL_ERR_STALE;
    run->is_open = true;
    run->n = n;
    return HL_OK;
}

enum hl_err model_outcome(struct model_run *run, uint32_t round, uint32_t n,
    enum hl_attempt_verdict verdict, bool is_unsent, bool parks)
{
    if (run->delivery != MODEL_LEASED || run->round != round || run->n != n)
        return HL_ERR_STALE;
    is_unsent = is_unsent && run->is_open;
    bool is_last = run->n >= run->max_attempts && !is_unsent;
    run->is_open = false;
    run->n -= is_unsent;
    if (verdict == HL_ATTEMPT_RETRY && !is_last)
        run->is_parked |= parks;
    else if (verdict == HL_ATTEMPT_ABANDONED && !is_last)
        run->delivery = MODEL_PENDING;
    else
        run->delivery = verdict == HL_ATTEMPT_OK ? MODEL_OK : MODEL_DEAD;
    return HL_OK;
}

enum hl_err model_redeliver(struct model *m, struct model_run *run)
{
    if (run->delivery == MODEL_PENDING || run->delivery == MODEL_LEASED)
        return HL_ERR_CONFLICT;
    run->delivery = MODEL_PENDING;
    run->round++;
    run->n = 0;
    run->max_attempts = m->webhook_attempts;
    return HL_OK;
}

/* --- the next process ------------------------------------------------------------------------ */

static void interrupt(const struct model *m, struct model_run *run, int64_t now_ms)
{
    if (run->is_cancel_wished) {
        end(run, HL_RUN_CANCELLED, HL_REASON_NONE, -1, now_ms);
    } else if (run->is_async && run->attempt < m->run_attempts) {
        run->state = HL_RUN_QUEUED;
        run->epoch++;
    } else {
        end(run, HL_RUN_FAILURE, HL_REASON_INTERRUPTED, -1, now_ms);
    }
}

void model_restart(struct model *m, int64_t now_ms)
{
    for (size_t i = 0; i < m->n; i++) {
        struct model_run *run = &m->runs[i];
        if (run->state == HL_RUN_RUNNING)
            interrupt(m, run, now_ms);
        if (run->delivery == MODEL_LEASED)
            run->delivery = run->n < run->max_attempts ? MODEL_PENDING : MODEL_DEAD;
        run->is_parked = run->is_open = false;
    }
}
