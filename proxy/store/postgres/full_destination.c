/* full_destination.c - see thread.h. While all destinations together have less than half of what one may have nothing is
 * counted by lane. Answers come in the order of commits: what was noted before one is in it. */
#include "store/postgres/thread.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/id_map.h"
#include "base/str.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

#define COUNT_MS  1000
#define LANES_MAX 4096 /* beyond, lanes are known with the next count */

struct hl_pg_pending_lane {
    uint64_t lane;
    int64_t n; /* what was counted, and what has changed here since */
};

static void clear(struct hl_pg_full_destinations *c)
{
    for (size_t i = 0; i < c->lanes.cap; i++)
        free(c->lanes.entries[i].value);
    hl_id_map_clear(&c->lanes);
}

void hl_pg_full_init(struct hl_pg_full_destinations *c, uint32_t max_pending)
{
    hl_id_map_init(&c->lanes);
    c->half = hl_lane_half(max_pending);
}

void hl_pg_full_fini(struct hl_pg_full_destinations *c)
{
    clear(c);
    hl_id_map_fini(&c->lanes);
}

/* --- who is full ------------------------------------------------------------------------------- */

static int find(const struct hl_pg_full_destinations *c, uint64_t lane)
{
    for (int i = 0; i < HL_PG_FULL_MAX; i++)
        if (atomic_load_explicit(&c->full[i], memory_order_relaxed) == lane)
            return i;
    return -1;
}

static uint64_t lane_of(const struct hl_pg_store *s, struct hl_str url)
{
    return url.n > 0 ? hl_key_lane(&s->keys.key, url) : 0;
}

bool hl_pg_is_destination_full(const struct hl_pg_store *s, struct hl_str webhook_url)
{
    uint64_t lane = find(&s->full_destinations, 0) == 0 ? 0 : lane_of(s, webhook_url);
    return lane != 0 && find(&s->full_destinations, lane) >= 0;
}

/* Those that are full come first. */
static void publish(struct hl_pg_full_destinations *c)
{
    uint64_t full[HL_PG_FULL_MAX] = {0};
    size_t n = 0;
    for (size_t i = 0; i < c->lanes.cap && n < HL_PG_FULL_MAX; i++) {
        const struct hl_pg_pending_lane *lane = c->lanes.entries[i].value;
        if (lane && lane->n >= (int64_t)c->half)
            full[n++] = lane->lane;
    }
    for (size_t i = 0; i < HL_PG_FULL_MAX; i++)
        atomic_store_explicit(&c->full[i], full[i], memory_order_relaxed);
}

/* --- what happens here ------------------------------------------------------------------------- */

static struct hl_pg_pending_lane *known(struct hl_pg_full_destinations *c, uint64_t lane)
{
    struct hl_id key = hl_lane_key(lane);
    struct hl_pg_pending_lane *found = hl_id_map_find(&c->lanes, &key);
    if (found || c->lanes.n >= LANES_MAX || hl_id_map_reserve(&c->lanes, 1) != HL_OK)
        return found;
    found = calloc(1, sizeof(*found));
    if (!found)
        return NULL;
    found->lane = lane;
    hl_id_map_put(&c->lanes, &key, found);
    return found;
}

static void note(struct hl_pg_full_destinations *c, uint64_t lane, int change)
{
    struct hl_pg_pending_lane *of = known(c, lane);
    if (!of)
        return;
    bool was_full = of->n >= (int64_t)c->half;
    of->n += change;
    if (was_full != (of->n >= (int64_t)c->half))
        publish(c);
}

void hl_pg_full_note_url(struct hl_pg_store *s, struct hl_str webhook_url)
{
    if (webhook_url.n == 0)
        return;
    s->full_destinations.since++;
    note(&s->full_destinations, lane_of(s, webhook_url), 1);
}

void hl_pg_full_note_end(struct hl_pg_store *s, int64_t lane)
{
    if (lane != 0)
        note(&s->full_destinations, (uint64_t)lane, -1);
}

/* --- what all replicas have -------------------------------------------------------------------- */

static bool may_be_much(const struct hl_pg_full_destinations *c)
{
    return c->total + c->since >= c->half / 2;
}

void hl_pg_full_total(struct hl_pg_store *s, uint64_t total)
{
    struct hl_pg_full_destinations *c = &s->full_destinations;
    c->total = total;
    c->since = 0;
    if (may_be_much(c))
        return;
    clear(c);
    publish(c);
}

static void on_count(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_full_destinations *c = &s->full_destinations;
    c->count.is_under_way = false;
    c->count.due_ms = hl_clock_mono_ms() + COUNT_MS;
    if (!result)
        return;
    clear(c);
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        struct hl_pg_pending_lane *lane = known(c, (uint64_t)hl_pg_int(&row));
        if (lane)
            lane->n = hl_pg_int(&row);
    }
    publish(c);
}

void hl_pg_full_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_full_destinations *c = &s->full_destinations;
    if (now_ms < hl_pg_full_due_ms(s))
        return;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_count);
    c->count.due_ms = now_ms + COUNT_MS;
    if (!e)
        return;
    hl_pg_add_int(&s->params, HL_PG_P_MIN, (int64_t)(c->half / 2 > 0 ? c->half / 2 : 1));
    hl_pg_transaction_add(e, HL_PG_DO_DESTINATION_COUNT);
    c->count.is_under_way = hl_pg_transaction_send(e);
}

uint64_t hl_pg_full_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_full_destinations *c = &s->full_destinations;
    return hl_pg_is_joined(s) && may_be_much(c) ? hl_pg_repeat_due_ms(&c->count) : UINT64_MAX;
}
