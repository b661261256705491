/* watch.c - see thread.h. The end of a run that this replica has is known here when it is committed. That of
 * another one, by whoever ended it, is asked for: soon after each notification, and twice a second, for as
 * long as somebody waits. */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/id_map.h"
#include "base/metric.h"
#include "loop/mailbox.h"
#include "store/claim.h"
#include "store/gauges.h"
#include "store/intake.h"
#include "store/operation.h"
#include "store/postgres/link.h"
#include "store/postgres/run_map.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"

#define LOOK_MS 500
#define SOON_MS 20
#define CALL_MS 2 /* the same, where callers at this front wait */

static void answer(struct hl_pg_store *s, struct hl_watch *watch, enum hl_err rc)
{
    hl_counter_set(&s->gauges.waiters, s->watchers.n);
    watch->m.rc = rc;
    hl_mailbox_post(watch->m.reply_to, &watch->m.msg);
}

static void look_within(struct hl_pg_store *s, uint64_t ms)
{
    uint64_t soon_ms = hl_clock_mono_ms() + ms;
    if (soon_ms < s->look.due_ms)
        s->look.due_ms = soon_ms;
}

/* Who waits is in nobody's way: what the intake has room for are requests that there is work with. */
void hl_pg_watch_take(struct hl_pg_store *s, struct hl_watch *watch)
{
    bool is_watch = watch->m.msg.type == HL_STORE_WATCH;
    struct hl_watch *withdrawn = is_watch ? NULL : hl_watchers_remove(&s->watchers, watch);
    enum hl_err err = is_watch ? hl_watchers_add(&s->watchers, watch) : HL_OK;
    hl_intake_leave(&s->intake, hl_operation_weigh(&watch->m));
    hl_counter_set(&s->gauges.waiters, s->watchers.n);
    if (is_watch && s->watchers.n == 1)
        s->look.due_ms = hl_clock_mono_ms() + LOOK_MS;
    if (is_watch && watch->wants_head)
        look_within(s, SOON_MS); /* it may have ended; mostly that is notified before */
    if (withdrawn)
        answer(s, withdrawn, HL_ERR_CANCELLED);
    if (err || !is_watch)
        answer(s, watch, err);
}

static void answer_noted(struct hl_pg_store *s)
{
    for (struct hl_watch *w = hl_watchers_take(&s->watchers), *next; w; w = next) {
        next = w->next;
        answer(s, w, HL_OK);
    }
}

void hl_pg_watch_end(struct hl_pg_store *s, const struct hl_id *run_id)
{
    hl_watchers_note_end(&s->watchers, run_id);
    answer_noted(s);
}

void hl_pg_watch_hurry(struct hl_pg_store *s)
{
    look_within(s, s->role == HL_REPLICA_FRONT ? CALL_MS : SOON_MS);
}

static void on_ended(struct hl_pg_store *s, const PGresult *result)
{
    s->look.is_under_way = false;
    for (int i = 0; result && i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        struct hl_id run_id;
        if (!hl_pg_id(&row, &run_id))
            continue;
        if (hl_pg_int(&row))
            hl_watchers_note_end(&s->watchers, &run_id);
        else
            hl_watchers_note_head(&s->watchers, &run_id);
        answer_noted(s);
    }
}

static bool is_asked_for(const struct hl_pg_store *s, const struct hl_id_map_entry *entry)
{
    return entry->value && !hl_pg_run_map_find(&s->runs, &entry->id);
}

/* Those that are not inside the app here. */
static void add_runs(struct hl_pg_store *s)
{
    const struct hl_id_map *runs = &s->watchers.runs;
    size_t n = 0;
    for (size_t i = 0; i < runs->cap; i++)
        n += is_asked_for(s, &runs->entries[i]);
    hl_pg_array_begin(&s->params, HL_PG_P_RUN_ID, HL_PG_ID, n);
    for (size_t i = 0; i < runs->cap; i++)
        if (is_asked_for(s, &runs->entries[i]))
            hl_pg_item_id(&s->params, &runs->entries[i].id);
    hl_pg_array_end(&s->params);
}

void hl_pg_watch_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms < hl_pg_watch_due_ms(s))
        return;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_ended);
    if (!e)
        return;
    add_runs(s);
    hl_pg_transaction_add(e, HL_PG_DO_RUN_ENDED);
    s->look.is_under_way = hl_pg_transaction_send(e);
    s->look.due_ms = now_ms + LOOK_MS;
}

uint64_t hl_pg_watch_due_ms(const struct hl_pg_store *s)
{
    if (s->watchers.n == 0 || !hl_pg_is_joined(s))
        return UINT64_MAX;
    return hl_pg_repeat_due_ms(&s->look);
}

void hl_pg_watch_refuse_all(struct hl_pg_store *s)
{
    for (struct hl_watch *w; (w = hl_watchers_take_any(&s->watchers)) != NULL;)
        answer(s, w, HL_ERR_UNAVAILABLE);
}
