/* memory.c - opens and closes the memory driver, and keeps it within its bounds. A commit is
 * nothing here: each operation is whole by itself, so that a transaction is never broken and never
 * rolled back. */
#include "store/memory/memory.h"

#include <stdlib.h>

#include "base/clock.h"
#include "config/config.h"
#include "store/memory/account.h"
#include "store/memory/answer.h"
#include "store/memory/delivery.h"
#include "store/memory/minute.h"
#include "store/memory/run.h"
#include "store/message.h"
#include "store/store.h"

/* When HOOKLINE_STORE_MAX_BYTES is a share of a volume: there is none. */
#define DEFAULT_MAX_BYTES (256ull << 20)
/* Runs that one step of shedding looks at. */
#define SHED_LOOKS 256

uint64_t hl_store_memory_max(const struct hl_config *config)
{
    return config->store_max_bytes.bytes ? config->store_max_bytes.bytes : DEFAULT_MAX_BYTES;
}

static enum hl_err begin(struct hl_driver *d)
{
    (void)d;
    return HL_OK;
}

static enum hl_err commit(struct hl_driver *d)
{
    (void)d;
    return HL_OK;
}

static void rollback(struct hl_driver *d)
{
    (void)d;
}

static bool is_pending(const struct hl_memory_run *run)
{
    return run->delivery == HL_MEMORY_PENDING || run->delivery == HL_MEMORY_WAITING ||
           run->delivery == HL_MEMORY_LEASED;
}

static int64_t purge_keys(struct hl_memory *m, int64_t now_ms, unsigned max)
{
    unsigned n = 0;
    HL_LIST_EACH_SAFE (node, &m->expiring) {
        struct hl_memory_key *key = HL_CONTAINER_OF(node, struct hl_memory_key, node);
        if (key->expires_ms > now_ms || n++ == max)
            return key->expires_ms;
        hl_memory_key_free(m, key);
    }
    return INT64_MAX;
}

/* The last of its end, its delivery's end and a redelivery (contract 6), with the retention. */
static int64_t kept_until_ms(const struct hl_memory *m, const struct hl_memory_run *run)
{
    int64_t ended_ms = run->outcome.finished_ms;
    return (run->done_ms > ended_ms ? run->done_ms : ended_ms) + m->retention_ms;
}

/* Those with pending deliveries stay; they are passed over, and asked about again a little later.
 */
static int64_t purge_runs(struct hl_memory *m, int64_t now_ms, unsigned max)
{
    int64_t due_ms = INT64_MAX;
    unsigned n = 0;
    HL_LIST_EACH_SAFE (node, &m->final) {
        struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, final);
        int64_t end_ms = run->outcome.finished_ms + m->retention_ms;
        if (end_ms > now_ms)
            return end_ms < due_ms ? end_ms : due_ms;
        end_ms = is_pending(run) ? now_ms + 60000 : kept_until_ms(m, run);
        if (end_ms > now_ms)
            due_ms = end_ms < due_ms ? end_ms : due_ms;
        else if (n++ == max)
            return now_ms;
        else {
            hl_memory_run_free(m, run);
            m->purged_runs++;
        }
    }
    return due_ms;
}

/* Past their retention, or more than they may be: they lose their bodies. */
static int64_t purge_streams(struct hl_memory *m, int64_t now_ms, unsigned max)
{
    unsigned n = 0;
    HL_LIST_EACH_SAFE (node, &m->streams) {
        struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, stream);
        int64_t end_ms = run->outcome.finished_ms + m->stream_retention_ms;
        if (end_ms > now_ms && !hl_memory_streams_are_over(m))
            return end_ms;
        if (n++ == max)
            return now_ms;
        hl_memory_run_drop_result(m, run);
    }
    return INT64_MAX;
}

static enum hl_err purge(struct hl_driver *d, int64_t now_ms, unsigned max, int64_t *due_ms)
{
    struct hl_memory *m = hl_memory_of(d);
    int64_t keys_ms = purge_keys(m, now_ms, max), runs_ms = purge_runs(m, now_ms, max);
    int64_t accounts_ms = hl_memory_account_purge(m, now_ms, max);
    *due_ms = keys_ms < runs_ms ? keys_ms : runs_ms;
    *due_ms = accounts_ms < *due_ms ? accounts_ms : *due_ms;
    int64_t streams_ms = purge_streams(m, now_ms, max);
    *due_ms = streams_ms < *due_ms ? streams_ms : *due_ms;
    int64_t minutes_ms = hl_memory_minute_purge(m, now_ms, max);
    *due_ms = minutes_ms < *due_ms ? minutes_ms : *due_ms;
    return HL_OK;
}

/* Those with pending deliveries go to the end of the list: nothing is looked at twice before a run or
 * a delivery ends. */
static enum hl_err shed_bodies(struct hl_memory *m, unsigned max)
{
    unsigned n = 0;
    for (int i = 0; i < SHED_LOOKS && n < max && m->n_passed < m->n_kept; i++) {
        struct hl_memory_run *run = HL_CONTAINER_OF(m->kept.next, struct hl_memory_run, kept);
        if (is_pending(run)) {
            hl_list_remove(&run->kept);
            hl_list_push_back(&m->kept, &run->kept);
            m->n_passed++;
            continue;
        }
        hl_memory_run_drop_result(m, run);
        m->shed_bodies++;
        n++;
        if (m->bytes <= m->max_bytes)
            break;
    }
    return n > 0 || m->n_passed < m->n_kept ? HL_OK : HL_ERR_NOT_FOUND;
}

static enum hl_err shed_requests(struct hl_memory *m, unsigned max)
{
    unsigned n = 0;
    HL_LIST_EACH_SAFE (node, &m->asked) {
        hl_memory_run_drop_request(m, HL_CONTAINER_OF(node, struct hl_memory_run, asked));
        if (++n == max || m->bytes <= m->max_bytes)
            break;
    }
    return n > 0 ? HL_OK : HL_ERR_NOT_FOUND;
}

static enum hl_err shed_runs(struct hl_memory *m, unsigned max, bool takes_dead)
{
    unsigned n = 0;
    HL_LIST_EACH_SAFE (node, &m->final) {
        struct hl_memory_run *run = HL_CONTAINER_OF(node, struct hl_memory_run, final);
        if (is_pending(run) || (run->delivery == HL_MEMORY_DEAD && !takes_dead))
            continue;
        hl_memory_run_free(m, run);
        m->shed_runs++;
        if (++n == max || m->bytes <= m->max_bytes)
            break;
    }
    return n > 0 ? HL_OK : HL_ERR_NOT_FOUND;
}

static enum hl_err shed(struct hl_driver *d, unsigned max)
{
    struct hl_memory *m = hl_memory_of(d);
    enum hl_err err = shed_requests(m, max);
    if (err == HL_ERR_NOT_FOUND)
        err = shed_bodies(m, max);
    if (err == HL_ERR_NOT_FOUND)
        err = shed_runs(m, max, false);
    return err == HL_ERR_NOT_FOUND ? shed_runs(m, max, true) : err;
}

static enum hl_err room(struct hl_driver *d)
{
    struct hl_memory *m = hl_memory_of(d);
    return m->bytes > m->max_bytes ? HL_ERR_TOO_LARGE : HL_OK;
}

static bool release_reserve(struct hl_driver *d)
{
    (void)d;
    return false;
}

static bool settle(struct hl_driver *d, bool is_idle)
{
    (void)d;
    (void)is_idle;
    return false;
}

static void survey(struct hl_driver *d, struct hl_survey *out)
{
    struct hl_memory *m = hl_memory_of(d);
    *out = (struct hl_survey){
        .bytes = m->bytes,
        .max_bytes = m->max_bytes,
        .stream_bytes = m->stream_bytes,
        .max_stream_bytes = m->max_stream_bytes,
        .purged_runs = m->purged_runs,
        .shed_runs = m->shed_runs,
        .shed_bodies = m->shed_bodies,
    };
    if (!hl_list_is_empty(&m->queued))
        out->queued_ms = HL_CONTAINER_OF(m->queued.next, struct hl_memory_run, queued)->created_ms;
    if (!hl_list_is_empty(&m->unsent))
        out->delivery_ms =
            hl_memory_pending_since(HL_CONTAINER_OF(m->unsent.next, struct hl_memory_run, unsent));
}

/* Freeing a run takes it out of the map, which moves others: from the first entry each time. */
static void close_all(struct hl_driver *d)
{
    struct hl_memory *m = hl_memory_of(d);
    for (size_t i = 0; m->runs.n > 0; i = (i + 1) & (m->runs.cap - 1))
        while (m->runs.entries[i].value)
            hl_memory_run_free(m, m->runs.entries[i].value);
    while (!hl_list_is_empty(&m->expiring))
        hl_memory_key_free(m, HL_CONTAINER_OF(m->expiring.next, struct hl_memory_key, node));
    for (size_t i = 0; i < m->lanes.cap; i++)
        free(m->lanes.entries[i].value);
    hl_memory_account_free_all(m);
    hl_memory_minute_free_all(m);
    hl_id_map_fini(&m->runs);
    hl_id_map_fini(&m->deliveries);
    hl_id_map_fini(&m->lanes);
    hl_id_map_fini(&m->keys);
    hl_heap_fini(&m->starts);
    hl_heap_fini(&m->retries);
    hl_heap_fini(&m->waiting);
    for (int i = 0; i < HL_PRIORITIES; i++)
        hl_heap_fini(&m->turns[i]);
    hl_key_wipe(&m->key);
    free(m);
}

static const struct hl_driver_vt vt = {
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .accept = hl_memory_run_accept,
    .record = hl_memory_run_record,
    .claim = hl_memory_run_claim,
    .finish = hl_memory_run_finish,
    .release = hl_memory_run_release,
    .cancel = hl_memory_run_cancel,
    .expire = hl_memory_run_expire,
    .recall = hl_memory_delivery_recall,
    .lease = hl_memory_delivery_lease,
    .attempt = hl_memory_delivery_attempt,
    .outcome = hl_memory_delivery_outcome,
    .redeliver = hl_memory_delivery_redeliver,
    .add_account = hl_memory_account_add,
    .revoke_account = hl_memory_account_revoke,
    .limit_account = hl_memory_account_limit,
    .touch_accounts = hl_memory_account_touch,
    .tally = hl_memory_minute_tell,
    .answer = hl_memory_answer,
    .purge = purge,
    .shed = shed,
    .room = room,
    .release_reserve = release_reserve,
    .settle = settle,
    .survey = survey,
    .close = close_all,
};

enum hl_err hl_memory_open(
    struct hl_driver **out, const struct hl_config *config, struct hl_backlog *backlog)
{
    struct hl_memory *m = calloc(1, sizeof(*m));
    if (!m)
        return HL_ERR_NOMEM;
    m->base = (struct hl_driver){.vt = &vt, .backlog = backlog};
    hl_list_init(&m->queued);
    hl_list_init(&m->final);
    hl_list_init(&m->kept);
    hl_list_init(&m->unsent);
    hl_list_init(&m->known);
    hl_list_init(&m->begun);
    hl_list_init(&m->expiring);
    hl_list_init(&m->accounts);
    hl_list_init(&m->minutes);
    m->counted_ms = hl_clock_wall_ms();
    hl_heap_init(&m->starts);
    hl_heap_init(&m->retries);
    hl_heap_init(&m->waiting);
    m->keep_requests = config->keep_requests;
    m->keeps_request = config->run_attempts > 1 || config->keep_requests != HL_KEEP_REQUESTS_NONE;
    hl_list_init(&m->asked);
    for (int i = 0; i < HL_PRIORITIES; i++)
        hl_heap_init(&m->turns[i]);
    hl_id_source_init(&m->ids);
    hl_key_random(&m->key);
    m->base.lane_key = &m->key;
    m->max_bytes = hl_store_memory_max(config);
    m->retention_ms = (int64_t)config->retention_ms;
    hl_list_init(&m->streams);
    m->stream_retention_ms = (int64_t)config->stream_retention_ms;
    m->max_stream_bytes = hl_store_limit_bytes(&config->stream_keep_max_bytes, m->max_bytes);
    m->key_ms = hl_store_key_ms(config);
    m->webhook_attempts = config->webhook_attempts;
    *out = &m->base;
    return HL_OK;
}
