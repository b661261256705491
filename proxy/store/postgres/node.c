/* node.c - this replica among the others: one row with the time until which it is believed to live,
 * renewed by a single UPDATE however many runs it has.
 *
 * A replica whose time is past is buried by any other: its runs end as interrupted, or are queued
 * again, its deliveries go on elsewhere. A dead one never comes back: who finds its row dead goes on
 * under a new id, with empty hands. Nobody buries others before its own beats have succeeded for a
 * whole lifetime: the first to come back after an outage must not end the runs of all the rest. Who has left
 * in order with something unfinished has said so, and is buried by whoever comes next. */
#include "store/postgres/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/id_map.h"
#include "base/log.h"
#include "store/backend.h"
#include "store/key.h"
#include "store/postgres/bodies.h"
#include "store/postgres/deed.h"
#include "store/postgres/doubt.h"
#include "store/postgres/era.h"
#include "store/postgres/errand.h"
#include "store/postgres/link.h"
#include "store/postgres/live.h"
#include "store/postgres/notify.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/pooler.h"
#include "store/postgres/row.h"
#include "store/postgres/session.h"
#include "store/postgres/state.h"

#define JOIN_PAUSE_MS  250
#define CLOCK_WRONG_MS (60 * 1000)

/* --- joining -------------------------------------------------------------------------------- */

static void add_ids(struct hl_pg_params *p, const struct hl_id_map *map)
{
    hl_pg_array_begin(p, HL_PG_P_KNOWN, HL_PG_ID, map->n);
    for (size_t i = 0; i < map->cap; i++)
        if (map->entries[i].value)
            hl_pg_item_id(p, &map->entries[i].id);
    hl_pg_array_end(p);
}

static void add_strays(struct hl_pg_store *s, struct hl_pg_errand *e, enum hl_pg_sql query,
    const struct hl_id_map *known)
{
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->node_id);
    add_ids(&s->params, known);
    hl_pg_errand_add(e, query);
}

static void on_joined(struct hl_pg_store *s, const PGresult *result)
{
    hl_pg_doubt_settle(s, result);
    if (!result) {
        s->join_ms = hl_clock_mono_ms() + JOIN_PAUSE_MS;
        return;
    }
    s->is_joined = true;
    if (!hl_id_eq(&s->recall.self.id, &s->node_id))
        s->era.beat_ms = 0;
    hl_pg_deed_note_self(s);
    s->claims_more = s->leases_more = true;
    s->beat_ms = 0;
}

/* Claims whose answer was lost with the connection belong to nobody. */
void hl_pg_node_join(struct hl_pg_store *s)
{
    s->is_joined = false;
    s->join_ms = 0;
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_joined);
    if (!e) {
        s->join_ms = hl_clock_mono_ms() + JOIN_PAUSE_MS;
        return;
    }
    struct hl_pg_params *p = &s->params;
    hl_pg_add_id(p, HL_PG_P_ME, &s->node_id);
    hl_pg_add_str(p, HL_PG_P_NAME, hl_str_from(s->name));
    hl_pg_add_str(p, HL_PG_P_VERSION, HL_STR(HL_VERSION));
    hl_pg_add_str(p, HL_PG_P_ADDRESS, hl_str_from(s->address));
    hl_pg_add_int(p, HL_PG_P_TTL_MS, (int64_t)s->settings.ttl_ms);
    hl_pg_add_str(p, HL_PG_P_KEY_CHECK, hl_key_check(&s->keys.key));
    s->session = hl_id_next(&s->ids, hl_clock_wall_ms());
    hl_pg_add_id(p, HL_PG_P_SESSION, &s->session);
    hl_pg_errand_add(e, HL_PG_DO_NODE_JOIN);
    add_strays(s, e, HL_PG_DO_RUN_STRAYS, &s->live.boxes);
    add_strays(s, e, HL_PG_DO_DELIVERY_STRAYS, &s->places.held);
    hl_pg_doubt_add(s, e);
    if (!hl_pg_errand_send(e))
        hl_pg_doubt_settle(s, NULL);
}

static void on_strays(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    int64_t n = result ? hl_pg_int(&row) : 0;
    if (n == 0)
        return;
    HL_LOG(WARN, "store: what this replica was said to have, and had not, was given back",
        HL_LOG_INT("n", n));
    s->claims_more = s->leases_more = true;
    hl_pg_notify_work(s);
}

static void look_for_strays(
    struct hl_pg_store *s, enum hl_pg_sql query, const struct hl_id_map *known)
{
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_strays);
    if (!e)
        return;
    add_strays(s, e, query, known);
    bool is_sent = hl_pg_errand_send(e);
    (void)is_sent; /* the next one comes with the next beat */
}

/* With each beat: a claim of a connection before, which was lost, may be committed long after. Not while a claim is
 * under way, which workers are about to have. */
static void give_strays_back(struct hl_pg_store *s)
{
    if (s->has_strays && !s->is_claiming) {
        s->has_strays = false;
        look_for_strays(s, HL_PG_DO_RUN_STRAYS, &s->live.boxes);
    }
    if (s->has_stray_leases && !s->is_leasing) {
        s->has_stray_leases = false;
        look_for_strays(s, HL_PG_DO_DELIVERY_STRAYS, &s->places.held);
    }
}

static void on_left(struct hl_pg_store *s, const PGresult *result)
{
    (void)result;
    s->has_left = true;
}

bool hl_pg_node_leave(struct hl_pg_store *s)
{
    struct hl_pg_errand *e = hl_pg_link_is_up(&s->writer) ? hl_pg_errand_begin(s, on_left) : NULL;
    if (!e)
        return false;
    add_strays(s, e, HL_PG_DO_RUN_STRAYS, &s->live.boxes);
    add_strays(s, e, HL_PG_DO_DELIVERY_STRAYS, &s->places.held);
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->node_id);
    hl_pg_errand_add(e, HL_PG_DO_NODE_LEAVE);
    return hl_pg_errand_send(e);
}

/* --- beats ---------------------------------------------------------------------------------- */

/* What its workers and its sender have goes on to callers and receivers; what they say of it is stale. */
static void start_over(struct hl_pg_store *s)
{
    HL_LOG(WARN,
        "store: this replica counted as dead: its runs were ended, its deliveries go on "
        "elsewhere",
        HL_LOG_INT("runs", s->live.boxes.n), HL_LOG_INT("deliveries", s->places.leased));
    s->node_id = hl_id_next(&s->ids, hl_clock_wall_ms());
    s->era.beat_ms = 0;
    hl_pg_deed_undo_all(s);
    hl_pg_live_clear(&s->live); /* flushes that are under way have reserved room */
    uint32_t per_lane = s->places.per_lane;
    hl_pg_places_fini(&s->places);
    hl_pg_places_init(&s->places, per_lane);
    hl_pg_bodies_drop_all(s);
    s->beats_since_ms = 0;
    hl_pg_node_join(s);
}

/* Once, until it has been right again. */
static void judge_clock(struct hl_pg_store *s)
{
    int64_t offset_ms = hl_clock_offset_ms();
    bool is_wrong = offset_ms >= CLOCK_WRONG_MS || offset_ms <= -CLOCK_WRONG_MS;
    if (is_wrong && !s->is_clock_wrong)
        HL_LOG(WARN,
            "store: the clock of this machine is wrong, or the database's: it counts for ids, "
            "tokens "
            "and times of records; the log and TLS go by the machine's",
            HL_LOG_INT("database_ahead_seconds", offset_ms / 1000));
    s->is_clock_wrong = is_wrong;
}

static void on_beat(struct hl_pg_store *s, const PGresult *result)
{
    uint64_t now_ms = hl_clock_mono_ms();
    s->is_beating = false;
    if (!result) {
        s->beats_since_ms = 0;
        return;
    }
    if (PQntuples(result) == 0) {
        start_over(s);
        return;
    }
    struct hl_pg_row row = {.result = result};
    hl_clock_follow(hl_pg_int(&row), s->beat_sent_ms);
    judge_clock(s);
    bool was_expired = hl_pg_int(&row);
    struct hl_str era = hl_pg_str(&row);
    hl_pg_era_watch(s, era, hl_pg_int(&row));
    s->era.beat_ms = hl_pg_int(&row);
    bool is_session = hl_pg_int(&row);
    int pid = (int)hl_pg_int(&row);
    hl_pg_pooler_watch(s, pid, hl_pg_int(&row));
    bool has_claims = hl_pg_int(&row), has_leases = hl_pg_int(&row);
    if (!s->era.has_turned) { /* another database is told what ended here, first */
        hl_pg_deed_note_self(s);
        s->has_strays |= has_claims;
        s->has_stray_leases |= has_leases;
    }
    bool has_gap = now_ms - s->last_beat_ms > s->settings.ttl_ms / 3;
    if (s->beats_since_ms == 0 || was_expired || has_gap)
        s->beats_since_ms = now_ms;
    s->last_beat_ms = now_ms;
    if (!is_session && !s->era.has_turned) /* an earlier connection's join came after this one's */
        hl_pg_node_join(s);
}

static void beat(struct hl_pg_store *s)
{
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_beat);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->node_id);
    hl_pg_add_int(&s->params, HL_PG_P_TTL_MS, (int64_t)s->settings.ttl_ms);
    hl_pg_add_int(&s->params, HL_PG_P_TAKES_CALLS, atomic_load(&s->base.takes_calls));
    hl_pg_add_id(&s->params, HL_PG_P_SESSION, &s->session);
    hl_pg_errand_add(e, HL_PG_DO_NODE_BEAT);
    s->beat_sent_ms = hl_clock_mono_ms();
    s->is_beating = hl_pg_errand_send(e);
}

/* --- the dead ------------------------------------------------------------------------------- */

static void on_stream_buried(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    s->is_burying = false;
    if (result && hl_pg_int(&row) > 0)
        s->bury_ms = 0; /* there may be another one */
}

static void bury_stream(struct hl_pg_store *s)
{
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_stream_buried);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->node_id);
    hl_pg_add_int(&s->params, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_errand_add(e, HL_PG_DO_NODE_BURY_STREAM);
    s->is_burying = hl_pg_errand_send(e);
}

static void on_buried(struct hl_pg_store *s, const PGresult *result)
{
    s->is_burying = false;
    if (!result)
        return;
    struct hl_pg_row row = {.result = result};
    int64_t nodes = hl_pg_int(&row), ended = hl_pg_int(&row), back = hl_pg_int(&row);
    int64_t deliveries = hl_pg_int(&row), streams = hl_pg_int(&row);
    if (streams > 0)
        bury_stream(s);
    if (nodes == 0)
        return;
    HL_LOG(WARN, "store: replicas are gone; what they had was taken over",
        HL_LOG_INT("replicas", nodes), HL_LOG_INT("interrupted_runs", ended),
        HL_LOG_INT("queued_runs", back), HL_LOG_INT("deliveries", deliveries));
    s->claims_more = s->leases_more = true;
    s->bury_ms = 0;
    hl_pg_notify_work(s);
}

static void bury(struct hl_pg_store *s)
{
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_buried);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->node_id);
    hl_pg_add_int(&s->params, HL_PG_P_RUN_ATTEMPTS, s->retries_interrupted ? s->run_attempts : 1);
    hl_pg_add_int(&s->params, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_add_int(&s->params, HL_PG_P_SILENT_TOO, hl_pg_node_knows_others(s, hl_clock_mono_ms()));
    hl_pg_errand_add(e, HL_PG_DO_NODE_BURY);
    s->is_burying = hl_pg_errand_send(e);
}

/* Not between the end of an outage and the first beat after it. */
bool hl_pg_node_knows_others(const struct hl_pg_store *s, uint64_t now_ms)
{
    return s->beats_since_ms > 0 && now_ms - s->beats_since_ms >= s->settings.ttl_ms &&
           now_ms - s->last_beat_ms <= s->settings.ttl_ms / 3;
}

/* --- turns ---------------------------------------------------------------------------------- */

/* A beat behind the leave would find no row, and join again. */
static bool has_turns(const struct hl_pg_store *s)
{
    return hl_pg_link_is_up(&s->writer) && !s->is_leaving;
}

void hl_pg_node_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (!has_turns(s))
        return;
    if (!s->is_joined) {
        if (s->join_ms > 0 && now_ms >= s->join_ms)
            hl_pg_node_join(s);
        return;
    }
    give_strays_back(s);
    if (now_ms >= s->beat_ms && !s->is_beating) {
        s->beat_ms = now_ms + s->settings.ttl_ms / 12;
        beat(s);
    }
    if (now_ms >= s->bury_ms && !s->is_burying) {
        s->bury_ms = now_ms + s->settings.ttl_ms / 6;
        bury(s);
    }
}

/* What is under way is not due: its answer wakes the thread. */
uint64_t hl_pg_node_due_ms(const struct hl_pg_store *s)
{
    if (!has_turns(s))
        return UINT64_MAX;
    if (!s->is_joined)
        return s->join_ms > 0 ? s->join_ms : UINT64_MAX;
    uint64_t beat_ms = s->is_beating ? UINT64_MAX : s->beat_ms;
    uint64_t bury_ms = s->is_burying ? UINT64_MAX : s->bury_ms;
    return beat_ms < bury_ms ? beat_ms : bury_ms;
}
