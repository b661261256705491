/* membership.c - this replica among the others: one row with the time until which it is believed to live,
 * renewed by a single UPDATE however many runs it has.
 *
 *              connected            it is told what it may lack      its row is there
 *   AWAY ──────────────▶ LOOKING ──────────────▶ TELLING ──▶ JOINING ──────────────▶ JOINED ──▶ LEAVING ──▶ LEFT
 *    ▲                    ▲  ▲                     │           ▲                       │ │
 *    │ from each, when    │  └─────────────────────┘           └───────────────────────┘ │
 *    │ the connection     │    out of memory            it counted as dead, or           │
 *    └ is lost            │                             another connection has joined    │
 *                         └──────────────────────────────────────────────────────────────┘
 *                                          a beat has found another database
 *
 * A connection may lead to another database after a failover, or when it was moved or restored: it may lack the last
 * commits, and its numbers may be given once more. A server is known by its system identifier, its timeline, which each
 * promotion raises, and the table that this schema's events are in; a state of the same server that was brought back, by
 * beats that are not there.
 *
 * A replica whose time is past is buried by any other: its runs end as interrupted, or are queued
 * again, its deliveries go on elsewhere. A dead one never comes back: who finds its row dead goes on
 * under a new id, with empty hands. Nobody buries others before its own beats have succeeded for a
 * whole lifetime: the first to come back after an outage must not end the runs of all the rest. Who has left
 * in order with something unfinished has said so, and is buried by whoever comes next. */
#include "config/option.h"
#include "store/postgres/thread.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/id_map.h"
#include "base/log.h"
#include "store/backend.h"
#include "store/key.h"
#include "store/postgres/bodies.h"
#include "store/postgres/diary.h"
#include "store/postgres/row.h"

#define AGAIN_MS       250
#define CLOCK_WRONG_MS (60 * 1000)

/* --- the mover ------------------------------------------------------------------------------- */

#define TO(name) (1U << HL_PG_##name)
static const unsigned moves[] = {
    [HL_PG_AWAY] = TO(LOOKING) | TO(JOINED), /* a guest */
    [HL_PG_LOOKING] = TO(TELLING) | TO(AWAY),
    [HL_PG_TELLING] = TO(JOINING) | TO(LOOKING) | TO(AWAY),
    [HL_PG_JOINING] = TO(JOINED) | TO(AWAY),
    [HL_PG_JOINED] = TO(JOINING) | TO(LOOKING) | TO(LEAVING) | TO(AWAY),
    [HL_PG_LEAVING] = TO(LEFT) | TO(AWAY),
    [HL_PG_LEFT] = TO(AWAY),
};
#undef TO

static const char *const texts[] = {
    "away", "looking", "telling", "joining", "joined", "leaving", "left"};

/* What the new state does first is due at `due_ms`. */
static void move(struct hl_pg_store *s, enum hl_pg_member_state to, uint64_t due_ms)
{
    struct hl_pg_member *m = &s->member;
    HL_ASSERT(moves[m->state] >> to & 1U);
    HL_LOG(DEBUG, "store: this replica goes on", HL_LOG_TEXT("from", texts[m->state]),
        HL_LOG_TEXT("to", texts[to]));
    m->state = to;
    m->due_ms = due_ms;
}

void hl_pg_member_connect(struct hl_pg_store *s, bool is_up)
{
    if (s->member.state != HL_PG_AWAY)
        move(s, HL_PG_AWAY, UINT64_MAX);
    if (is_up)
        move(s, s->is_guest ? HL_PG_JOINED : HL_PG_LOOKING, 0);
}

/* --- which database it is -------------------------------------------------------------------- */

/* `beat_ms`: when this replica's row there says that it beat last, by the server's clock; 0: there is no such row; below
 * 0: not asked. True: it is another one, or lacks a beat that was acknowledged. What is believed of the old one's
 * numbers is then forgotten. */
static bool is_other_database(struct hl_pg_store *s, struct hl_str name, int64_t beat_ms)
{
    struct hl_pg_database *database = &s->member.database;
    bool is_renamed = database->name[0] && !hl_str_eq(name, hl_str_from(database->name));
    bool is_behind = beat_ms >= 0 && beat_ms < database->beat_ms;
    if (is_renamed || is_behind) {
        HL_LOG(WARN,
            "store: this is another database, or an earlier state of it: the latest commits may be "
            "missing; everything is read again",
            HL_LOG_TEXT("was", database->name), HL_LOG_STR("is", name),
            HL_LOG_INT(
                "beats_missing_ms", is_behind && beat_ms > 0 ? database->beat_ms - beat_ms : 0));
        s->outbox.begins_anew = s->outbox.overrules = true;
        database->beat_ms = 0;
    }
    snprintf(database->name, sizeof(database->name), "%.*s", HL_STR_ARG(name));
    return is_renamed || is_behind;
}

static void join(struct hl_pg_store *s);

static void on_told(struct hl_pg_store *s, bool is_told)
{
    if (is_told) {
        move(s, HL_PG_JOINING, UINT64_MAX);
        join(s);
    } else {
        move(s, HL_PG_LOOKING, hl_clock_mono_ms() + AGAIN_MS);
    }
}

static void on_looked(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_member *m = &s->member;
    if (!result) {
        m->due_ms = hl_clock_mono_ms() + AGAIN_MS;
        return;
    }
    struct hl_pg_row row = {.result = result};
    struct hl_str name = hl_pg_str(&row);
    int64_t beat_ms = hl_pg_int(&row), dropped = hl_pg_int(&row), now_ms = hl_pg_int(&row);
    if (dropped > 0)
        HL_LOG(WARN,
            "store: event numbers would have been assigned twice, as in a database that was moved "
            "without its sequences: the events that had them were dropped",
            HL_LOG_INT("events", dropped));
    /* An earlier process that has left in order has no row, nor one that is long dead. */
    bool is_known = beat_ms > 0 || hl_id_eq(&s->recall.self.id, &m->id);
    if (is_other_database(s, name, is_known ? beat_ms : -1))
        hl_pg_recall_begin(s, now_ms);
    move(s, HL_PG_TELLING, UINT64_MAX);
    hl_pg_recall_tell(s, on_told);
}

/* What an earlier process of its directory has seen, and done, is told first: until then it is that one's row that
 * is looked at. */
static const struct hl_id *known_as(const struct hl_pg_store *s)
{
    const struct hl_id *was = &s->recall.self.id;
    return hl_id_is_nil(was) ? &s->member.id : was;
}

static void look(struct hl_pg_store *s)
{
    s->member.due_ms = hl_clock_mono_ms() + AGAIN_MS;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_looked);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, known_as(s));
    hl_pg_transaction_add(e, HL_PG_DO_NODE_LOOK);
    if (hl_pg_transaction_send(e))
        s->member.due_ms = UINT64_MAX;
}

/* --- joining -------------------------------------------------------------------------------- */

static void add_ids(struct hl_pg_params *p, const struct hl_id_map *map)
{
    hl_pg_array_begin(p, HL_PG_P_KNOWN, HL_PG_ID, map->n);
    for (size_t i = 0; i < map->cap; i++)
        if (map->entries[i].value)
            hl_pg_item_id(p, &map->entries[i].id);
    hl_pg_array_end(p);
}

static void add_strays(struct hl_pg_store *s, struct hl_pg_transaction *e, enum hl_pg_sql query,
    const struct hl_id_map *known)
{
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    add_ids(&s->params, known);
    hl_pg_transaction_add(e, query);
}

static void on_joined(struct hl_pg_store *s, const PGresult *result)
{
    hl_pg_uncertain_settle(s, result);
    if (!result) {
        s->member.due_ms = hl_clock_mono_ms() + AGAIN_MS;
        return;
    }
    move(s, HL_PG_JOINED, UINT64_MAX);
    if (!hl_id_eq(&s->recall.self.id, &s->member.id))
        s->member.database.beat_ms = 0;
    hl_pg_diary_note_self(s);
    hl_pg_permits_tell_all(s, false);
    s->dispatch.claims_more = s->dispatch.leases_more = true;
    s->member.beat.due_ms = 0;
}

/* Claims whose answer was lost with the connection belong to nobody. */
static void join(struct hl_pg_store *s)
{
    s->member.due_ms = hl_clock_mono_ms() + AGAIN_MS;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_joined);
    if (!e)
        return;
    s->member.due_ms = UINT64_MAX;
    struct hl_pg_params *p = &s->params;
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_str(p, HL_PG_P_NAME, hl_str_from(s->member.name));
    hl_pg_add_str(p, HL_PG_P_VERSION, HL_STR(HL_VERSION));
    hl_pg_add_str(p, HL_PG_P_ADDRESS, hl_str_from(s->member.address));
    hl_pg_add_int(p, HL_PG_P_TTL_MS, (int64_t)s->settings.ttl_ms);
    hl_pg_add_str(p, HL_PG_P_ROLE, hl_str_from(hl_replica_role_words[s->role]));
    hl_pg_add_str(p, HL_PG_P_KEY_CHECK, hl_key_check(&s->keys.key));
    s->member.session = hl_id_next(&s->ids, hl_clock_wall_ms());
    hl_pg_add_id(p, HL_PG_P_SESSION, &s->member.session);
    hl_pg_transaction_add(e, HL_PG_DO_NODE_JOIN);
    add_strays(s, e, HL_PG_DO_RUN_STRAYS, &s->runs.boxes);
    add_strays(s, e, HL_PG_DO_DELIVERY_STRAYS, &s->places.held);
    hl_pg_uncertain_add(s, e);
    if (!hl_pg_transaction_send(e))
        hl_pg_uncertain_settle(s, NULL);
}

static void on_strays(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    int64_t n = result ? hl_pg_int(&row) : 0;
    if (n == 0)
        return;
    HL_LOG(WARN,
        "store: gave back work that the database had assigned to this replica but that it did not "
        "have",
        HL_LOG_INT("n", n));
    s->dispatch.claims_more = s->dispatch.leases_more = true;
    hl_pg_notify_work(s);
}

static void look_for_strays(
    struct hl_pg_store *s, enum hl_pg_sql query, const struct hl_id_map *known)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_strays);
    if (!e)
        return;
    add_strays(s, e, query, known);
    bool is_sent = hl_pg_transaction_send(e);
    (void)is_sent; /* the next one comes with the next beat */
}

/* With each beat: a claim of a connection before, which was lost, may be committed long after. Not while a claim is
 * under way, which workers are about to have. */
static void give_strays_back(struct hl_pg_store *s)
{
    if (s->member.has_strays && !s->dispatch.is_claiming) {
        s->member.has_strays = false;
        look_for_strays(s, HL_PG_DO_RUN_STRAYS, &s->runs.boxes);
    }
    if (s->member.has_stray_leases && !s->dispatch.is_leasing) {
        s->member.has_stray_leases = false;
        look_for_strays(s, HL_PG_DO_DELIVERY_STRAYS, &s->places.held);
    }
}

static void on_left(struct hl_pg_store *s, const PGresult *result)
{
    (void)result;
    move(s, HL_PG_LEFT, UINT64_MAX);
}

bool hl_pg_member_leave(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_left);
    if (!e)
        return false;
    hl_pg_lending_leave(s, e);
    add_strays(s, e, HL_PG_DO_RUN_STRAYS, &s->runs.boxes);
    add_strays(s, e, HL_PG_DO_DELIVERY_STRAYS, &s->places.held);
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_transaction_add(e, HL_PG_DO_NODE_LEAVE);
    if (!hl_pg_transaction_send(e))
        return false;
    move(s, HL_PG_LEAVING, UINT64_MAX);
    return true;
}

/* --- beats ---------------------------------------------------------------------------------- */

/* What its workers and its sender have goes on to callers and receivers; what they say of it is stale. */
static void start_over(struct hl_pg_store *s)
{
    HL_LOG(WARN,
        "store: this replica was considered dead: its runs were ended, its deliveries continue "
        "elsewhere",
        HL_LOG_INT("runs", s->runs.boxes.n), HL_LOG_INT("deliveries", s->places.leased));
    s->member.id = hl_id_next(&s->ids, hl_clock_wall_ms());
    s->member.database.beat_ms = 0;
    hl_pg_diary_undo_all(s);
    hl_pg_run_map_clear(&s->runs); /* flushes that are under way have reserved room */
    uint32_t per_lane = s->places.per_lane;
    hl_pg_places_fini(&s->places);
    hl_pg_places_init(&s->places, per_lane);
    hl_pg_bodies_drop_all(s);
    hl_pg_permits_tell_all(s, true);
    s->member.beats_since_ms = 0;
    move(s, HL_PG_JOINING, UINT64_MAX);
    join(s);
}

/* Once, until it has been right again. */
static void judge_clock(struct hl_pg_store *s)
{
    int64_t offset_ms = hl_clock_offset_ms();
    bool is_wrong = offset_ms >= CLOCK_WRONG_MS || offset_ms <= -CLOCK_WRONG_MS;
    if (is_wrong && !s->member.is_clock_wrong)
        HL_LOG(WARN,
            "store: the clock of this machine or of the database is wrong: ids, tokens and times "
            "of records use the database's, the log and TLS the machine's",
            HL_LOG_INT("database_ahead_seconds", offset_ms / 1000));
    s->member.is_clock_wrong = is_wrong;
}

static void count_beat(struct hl_pg_store *s, bool was_expired)
{
    struct hl_pg_member *m = &s->member;
    uint64_t now_ms = hl_clock_mono_ms();
    bool has_gap = now_ms - m->last_beat_ms > s->settings.ttl_ms / 3;
    if (m->beats_since_ms == 0 || was_expired || has_gap)
        m->beats_since_ms = now_ms;
    m->last_beat_ms = now_ms;
}

static void take_beat(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_member *m = &s->member;
    struct hl_pg_row row = {.result = result};
    int64_t server_ms = hl_pg_int(&row);
    hl_clock_follow(server_ms, m->beat_sent_ms);
    judge_clock(s);
    count_beat(s, hl_pg_int(&row));
    struct hl_str name = hl_pg_str(&row);
    bool is_other = is_other_database(s, name, hl_pg_int(&row));
    m->database.beat_ms = hl_pg_int(&row);
    bool is_session = hl_pg_int(&row);
    int pid = (int)hl_pg_int(&row);
    hl_pg_pooler_watch(s, pid, hl_pg_int(&row));
    if (is_other) { /* it is told what ended here, first */
        hl_pg_recall_begin(s, server_ms);
        move(s, HL_PG_LOOKING, 0);
        return;
    }
    hl_pg_diary_note_self(s);
    m->has_strays |= (bool)hl_pg_int(&row);
    m->has_stray_leases |= (bool)hl_pg_int(&row);
    m->has_dead |= (bool)hl_pg_int(&row);
    if (is_session)
        return;
    move(s, HL_PG_JOINING, UINT64_MAX); /* an earlier connection's join came after this one's */
    join(s);
}

static void on_beat(struct hl_pg_store *s, const PGresult *result)
{
    s->member.beat.is_under_way = false;
    s->member.is_beat_refused = !result && hl_pg_link_is_up(&s->writer);
    if (!result)
        s->member.beats_since_ms = 0;
    if (!result || s->member.state != HL_PG_JOINED) /* it leaves */
        return;
    if (PQntuples(result) == 0)
        start_over(s);
    else
        take_beat(s, result);
}

static void beat(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_beat);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(&s->params, HL_PG_P_TTL_MS, (int64_t)s->settings.ttl_ms);
    s->member.said_presence = atomic_load(&s->base.presence);
    hl_pg_add_int(&s->params, HL_PG_P_TAKES_CALLS, s->member.said_presence);
    hl_pg_add_id(&s->params, HL_PG_P_SESSION, &s->member.session);
    hl_pg_transaction_add(e, HL_PG_DO_NODE_BEAT);
    s->member.beat_sent_ms = hl_clock_mono_ms();
    s->member.beat.is_under_way = hl_pg_transaction_send(e);
}

/* --- the dead ------------------------------------------------------------------------------- */

static void on_stream_buried(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    s->member.burial.is_under_way = false;
    if (result && hl_pg_int(&row) > 0) { /* there may be another one */
        s->member.has_dead = true;
        s->member.burial.due_ms = 0;
    }
}

static void bury_stream(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_stream_buried);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(&s->params, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_transaction_add(e, HL_PG_DO_NODE_BURY_STREAM);
    s->member.burial.is_under_way = hl_pg_transaction_send(e);
}

static void on_buried(struct hl_pg_store *s, const PGresult *result)
{
    s->member.burial.is_under_way = false;
    if (!result)
        return;
    struct hl_pg_row row = {.result = result};
    int64_t nodes = hl_pg_int(&row), ended = hl_pg_int(&row), back = hl_pg_int(&row);
    int64_t deliveries = hl_pg_int(&row), streams = hl_pg_int(&row);
    if (streams > 0)
        bury_stream(s);
    if (nodes == 0)
        return;
    HL_LOG(WARN, "store: took over the work of replicas that are gone",
        HL_LOG_INT("replicas", nodes), HL_LOG_INT("interrupted_runs", ended),
        HL_LOG_INT("queued_runs", back), HL_LOG_INT("deliveries", deliveries));
    s->dispatch.claims_more = s->dispatch.leases_more = true;
    s->member.has_dead = true;
    s->member.burial.due_ms = 0;
    hl_pg_notify_work(s);
}

static void bury(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_buried);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(&s->params, HL_PG_P_RUN_ATTEMPTS, s->retries_interrupted ? s->run_attempts : 1);
    hl_pg_add_int(&s->params, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_add_int(&s->params, HL_PG_P_SILENT_TOO, hl_pg_member_knows_others(s, hl_clock_mono_ms()));
    hl_pg_transaction_add(e, HL_PG_DO_NODE_BURY);
    s->member.burial.is_under_way = hl_pg_transaction_send(e);
}

/* Not between the end of an outage and the first beat after it. */
bool hl_pg_member_knows_others(const struct hl_pg_store *s, uint64_t now_ms)
{
    return s->member.beats_since_ms > 0 &&
           now_ms - s->member.beats_since_ms >= s->settings.ttl_ms &&
           now_ms - s->member.last_beat_ms <= s->settings.ttl_ms / 3;
}

/* --- turns ---------------------------------------------------------------------------------- */

/* Only where a beat, or the last burial, has seen somebody: the statement that buries is the largest of all, each session
 * would have it planned again, several times, and nearly always find nobody. */
static uint64_t burial_due_ms(const struct hl_pg_member *m)
{
    return m->has_dead ? hl_pg_repeat_due_ms(&m->burial) : UINT64_MAX;
}

static void be_among_others(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_member *m = &s->member;
    give_strays_back(s);
    if (atomic_load(&s->base.presence) != m->said_presence && !m->beat.is_under_way)
        m->beat.due_ms = 0; /* others wake theirs, or do not, for what they hear of it */
    if (now_ms >= hl_pg_repeat_due_ms(&m->beat)) {
        m->beat.due_ms = now_ms + s->settings.ttl_ms / 12;
        beat(s);
    }
    if (now_ms >= burial_due_ms(m)) {
        m->has_dead = false;
        m->burial.due_ms = now_ms + s->settings.ttl_ms / 6;
        bury(s);
    }
}

/* A beat behind the leave would find no row, and join again. */
void hl_pg_member_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (s->member.state == HL_PG_JOINED)
        be_among_others(s, now_ms);
    else if (now_ms < hl_pg_member_due_ms(s))
        return;
    else if (s->member.state == HL_PG_LOOKING)
        look(s);
    else
        join(s);
}

/* Nothing is told before it is known what an earlier process remembered. */
uint64_t hl_pg_member_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_member *m = &s->member;
    if (m->state == HL_PG_LOOKING && !atomic_load(&s->is_settled))
        return UINT64_MAX;
    if (m->state != HL_PG_JOINED)
        return m->due_ms;
    uint64_t beat_ms = hl_pg_repeat_due_ms(&m->beat), bury_ms = burial_due_ms(m);
    return beat_ms < bury_ms ? beat_ms : bury_ms;
}
