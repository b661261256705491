/* outbox.c - what other replicas tell this one.
 *
 * Numbers of events are given before the commit, so that one may appear behind a higher one. What is
 * read is therefore all that is younger than a minute, without what was seen; no transaction lasts as
 * long as that. Whatever is heard twice, or in another order, means the same.
 * Promise: an event is noticed with the next notification, or at the latest when it is polled for:
 * every 500 ms while a run is here that it could be about, else every 2 s, or 1 s when nobody
 * notifies. Who has read nothing for so long that events were deleted meanwhile looks at the accounts
 * themselves, and so does who has a new connection or comes to another database: numbers that were
 * seen may be given once more there. */
#include "store/postgres/thread.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "base/id_map.h"
#include "base/limits.h"
#include "store/postgres/link.h"
#include "store/postgres/run_map.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

#define BUSY_MS    500
#define DEAF_MS    1000
#define IDLE_MS    2000
#define FASTEST_MS 20 /* between two looks, however many notifications come */
/* Events are deleted after an hour (upkeep.c): who has not read for half of that may have missed some. */
#define MISSED_MS (30 * 60 * 1000)

/* --- what they say -------------------------------------------------------------------------- */

/* The row goes on with its limits. */
static void tell_account(
    struct hl_pg_store *s, const struct hl_id *id, bool is_revoked, struct hl_pg_row *row)
{
    struct hl_limits limits;
    hl_pg_limits(row, &limits);
    limits.overrules = s->outbox.overrules;
    if (s->outbox.watch)
        s->outbox.watch(s->outbox.watcher, id, is_revoked, &limits);
}

/* False: it is to be heard again. */
static bool hear(struct hl_pg_store *s, enum hl_pg_event kind, const struct hl_id *subject,
    struct hl_pg_row *row)
{
    switch (kind) {
    case HL_PG_EVENT_CANCEL:
        /* There may be no memory; or the answer that gives this replica the run is still on its way. */
        return hl_pg_push_cancel(s, subject, NULL) && hl_pg_run_map_find(&s->runs, subject);
    case HL_PG_EVENT_SPARE:
        hl_pg_permits_hear(s, subject, HL_PERMIT_SPARE);
        break;
    case HL_PG_EVENT_SHARE:
        hl_pg_permits_hear(s, subject, HL_PERMIT_SHARE);
        break;
    case HL_PG_EVENT_REVOKED:
    case HL_PG_EVENT_ADDED:
    case HL_PG_EVENT_LIMITED:
        tell_account(s, subject, kind == HL_PG_EVENT_REVOKED, row);
    }
    return true;
}

/* Out of memory: it is heard again. */
static void note_seen(struct hl_pg_outbox *o, int64_t event)
{
    if (o->seen_n == o->seen_cap) {
        size_t cap = o->seen_cap ? 2 * o->seen_cap : 64;
        int64_t *more = reallocarray(o->seen, cap, sizeof(*more));
        if (!more)
            return;
        o->seen = more;
        o->seen_cap = cap;
    }
    o->seen[o->seen_n++] = event;
}

/* Everything up to there is over. */
static void move_mark(struct hl_pg_outbox *o, int64_t mark)
{
    size_t n = 0;
    for (size_t i = 0; i < o->seen_n; i++)
        if (o->seen[i] > mark)
            o->seen[n++] = o->seen[i];
    o->seen_n = n;
    o->mark = mark;
}

/* --- reading -------------------------------------------------------------------------------- */

static void on_all_read(struct hl_pg_flight *flight, enum hl_pg_fate fate);

/* Events may be gone that this replica never saw. */
static void read_all(struct hl_pg_store *s)
{
    struct hl_pg_outbox *o = &s->outbox;
    hl_pg_flight_init(&o->reading, on_all_read);
    hl_pg_params_clear(&s->params);
    hl_pg_link_add(&s->reader, &o->reading, HL_PG_DO_EVENT_ACCOUNTS, &s->params);
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_link_add(&s->reader, &o->reading, HL_PG_DO_EVENT_CANCELS, &s->params);
    o->is_reading = hl_pg_link_end(&s->reader, &o->reading);
    o->has_missed = !o->is_reading;
}

static void begin_anew(struct hl_pg_outbox *o)
{
    o->begins_anew = false;
    o->has_missed = true;
    o->mark = 0;
    o->seen_n = 0;
}

static int64_t highest(const struct hl_pg_outbox *o)
{
    int64_t highest = o->mark;
    for (size_t i = 0; i < o->seen_n; i++)
        if (o->seen[i] > highest)
            highest = o->seen[i];
    return highest;
}

/* What was asked for by numbers that say nothing there. `last`: the last one that was given. */
static bool is_void(struct hl_pg_outbox *o, struct hl_str database, int64_t last)
{
    bool is_other = o->database[0] && !hl_str_eq(database, hl_str_from(o->database));
    if (is_other || last < highest(o))
        o->begins_anew = o->overrules = true;
    snprintf(o->database, sizeof(o->database), "%.*s", HL_STR_ARG(database));
    o->is_asked |= o->begins_anew;
    return o->begins_anew;
}

static void on_read(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct hl_pg_store *s = HL_CONTAINER_OF(flight, struct hl_pg_store, outbox.reading);
    struct hl_pg_outbox *o = &s->outbox;
    const PGresult *result = flight->results[0];
    o->is_reading = false;
    o->is_asked |= fate != HL_PG_COMMITTED;
    for (int i = 0; fate == HL_PG_COMMITTED && i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        int64_t at_ms = hl_pg_int(&row);
        struct hl_str database = hl_pg_str(&row);
        int64_t last = hl_pg_int(&row), mark = hl_pg_int(&row), event = hl_pg_int(&row);
        enum hl_pg_event kind = (enum hl_pg_event)hl_pg_int(&row);
        struct hl_id subject;
        if (i == 0 && is_void(o, database, last))
            return;
        if (i == 0) {
            o->has_missed |= o->read_at_ms > 0 && at_ms - o->read_at_ms > MISSED_MS;
            o->read_at_ms = at_ms;
            move_mark(o, mark);
        }
        if (hl_pg_id(&row, &subject) && hear(s, kind, &subject, &row) && event > mark)
            note_seen(o, event);
    }
}

static void on_all_read(struct hl_pg_flight *flight, enum hl_pg_fate fate)
{
    struct hl_pg_store *s = HL_CONTAINER_OF(flight, struct hl_pg_store, outbox.reading);
    const PGresult *accounts = flight->results[0], *cancels = flight->results[1];
    s->outbox.is_reading = false;
    s->outbox.has_missed = fate != HL_PG_COMMITTED;
    if (fate != HL_PG_COMMITTED)
        return;
    for (int i = 0; i < PQntuples(accounts); i++) {
        struct hl_pg_row row = {.result = accounts, .row = i};
        struct hl_id account;
        if (hl_pg_id(&row, &account))
            tell_account(s, &account, hl_pg_int(&row), &row);
    }
    s->outbox.overrules = false;
    for (int i = 0; i < PQntuples(cancels); i++) {
        struct hl_pg_row row = {.result = cancels, .row = i};
        struct hl_id run;
        if (hl_pg_id(&row, &run) && !hl_pg_push_cancel(s, &run, NULL))
            s->outbox.has_missed = true;
    }
}

static void read_events(struct hl_pg_store *s)
{
    struct hl_pg_outbox *o = &s->outbox;
    struct hl_pg_params *p = &s->params;
    hl_pg_flight_init(&o->reading, on_read);
    hl_pg_params_clear(p);
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(p, HL_PG_P_AFTER, o->mark);
    HL_PG_EACH(p, HL_PG_P_SEEN, HL_PG_INT, o->seen_n, hl_pg_item_int(p, o->seen[i]));
    hl_pg_link_add(&s->reader, &o->reading, HL_PG_DO_EVENT_READ, p);
    o->is_reading = hl_pg_link_end(&s->reader, &o->reading);
}

/* --- turns ---------------------------------------------------------------------------------- */

static uint64_t read_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_outbox *o = &s->outbox;
    uint64_t wait_ms = s->runs.boxes.n > 0 ? BUSY_MS : s->notify.hears ? IDLE_MS : DEAF_MS;
    if (!hl_pg_link_is_up(&s->reader) || o->is_reading)
        return UINT64_MAX;
    return o->read_ms + (o->is_asked ? FASTEST_MS : wait_ms);
}

void hl_pg_outbox_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_outbox *o = &s->outbox;
    if (atomic_load(&s->is_stopping))
        return;
    if (now_ms < read_due_ms(s))
        return;
    o->read_ms = now_ms;
    if (o->begins_anew)
        begin_anew(o);
    if (o->has_missed) {
        read_all(s);
        return;
    }
    o->is_asked = false;
    read_events(s);
}

uint64_t hl_pg_outbox_due_ms(const struct hl_pg_store *s)
{
    return atomic_load(&s->is_stopping) ? UINT64_MAX : read_due_ms(s);
}

void hl_pg_outbox_hurry(struct hl_pg_store *s)
{
    s->outbox.is_asked = true;
}

void hl_pg_outbox_fini(struct hl_pg_store *s)
{
    free(s->outbox.seen);
}
