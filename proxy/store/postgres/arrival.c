/* arrival.c - see arrival.h. */
#include "store/postgres/arrival.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/era.h"
#include "store/postgres/errand.h"
#include "store/postgres/node.h"
#include "store/postgres/recall.h"
#include "store/postgres/row.h"

#define AGAIN_MS 250

static void on_looked(struct hl_pg_store *s, const PGresult *result)
{
    s->arrival_ms = result ? 0 : hl_clock_mono_ms() + AGAIN_MS;
    if (!result)
        return;
    struct hl_pg_row row = {.result = result};
    struct hl_str name = hl_pg_str(&row);
    int64_t beat_ms = hl_pg_int(&row), dropped = hl_pg_int(&row), now_ms = hl_pg_int(&row);
    if (dropped > 0)
        HL_LOG(WARN,
            "store: numbers of events would have been given once more, as in a database that was "
            "moved without its sequences: what had them was dropped",
            HL_LOG_INT("events", dropped));
    /* An earlier process that has left in order has no row, nor one that is long dead. */
    bool is_known = beat_ms > 0 || hl_id_eq(&s->recall.self.id, &s->node_id);
    if (hl_pg_era_take(s, name, is_known ? beat_ms : -1) || s->era.has_turned)
        hl_pg_recall_begin(s, now_ms);
    s->era.has_turned = false;
    hl_pg_recall_tell(s, hl_pg_node_join);
}

/* What an earlier process of its directory has seen, and done, is told first: until then it is that one's row that
 * is looked at. */
static const struct hl_id *known_as(const struct hl_pg_store *s)
{
    const struct hl_id *was = &s->recall.self.id;
    return hl_id_is_nil(was) ? &s->node_id : was;
}

void hl_pg_arrive(struct hl_pg_store *s)
{
    s->is_joined = false;
    s->join_ms = 0;
    s->arrival_ms = hl_clock_mono_ms() + AGAIN_MS;
    if (!atomic_load(&s->is_settled)) {
        s->arrival_ms = hl_clock_mono_ms();
        return;
    }
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_looked);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, known_as(s));
    hl_pg_errand_add(e, HL_PG_DO_NODE_LOOK);
    if (hl_pg_errand_send(e))
        s->arrival_ms = 0;
}

void hl_pg_arrival_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    bool is_due = s->arrival_ms > 0 && now_ms >= s->arrival_ms && atomic_load(&s->is_settled);
    if (hl_pg_link_is_up(&s->writer) && (is_due || (s->is_joined && s->era.has_turned)))
        hl_pg_arrive(s);
}

uint64_t hl_pg_arrival_due_ms(const struct hl_pg_store *s)
{
    if (!hl_pg_link_is_up(&s->writer) || !atomic_load(&s->is_settled))
        return UINT64_MAX;
    if (s->is_joined && s->era.has_turned)
        return 0;
    return s->arrival_ms > 0 ? s->arrival_ms : UINT64_MAX;
}
