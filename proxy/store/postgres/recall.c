/* recall.c - see thread.h.
 *
 * A run that had ended may stand there as running here, as queued, or as somebody's earlier attempt: its ticket is
 * taken again, under the epoch that it had here, which later claims of the lost time cannot have, and then it
 * ends as it did, with the same delivery. Runs that go on here are taken again likewise. What an earlier process of
 * this directory had is taken again for that one, which has left: where its app's call was cut, it ends as
 * interrupted, or waits for another attempt, as anybody's who died. A delivery that was
 * settled is settled, a run that was cancelled is cancelled, an account that was revoked is revoked. What the database
 * knows is not touched, and what it has lost altogether stays lost.
 *
 * Others may have ended what this replica would find queued: until each that was there when the database was lost has
 * beaten since, which it does once it has told what it knows, nothing is claimed; but no longer than a lifetime. */
#include "store/postgres/thread.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/credit.h"
#include "store/key.h"
#include "store/postgres/diary.h"
#include "store/postgres/op.h"
#include "store/postgres/row.h"

#define STEP    256
#define LOOK_MS 250
#define CALM_MS 1000 /* what those who came last have told is seen by then */

/* The database is another one; it was told; the others have told. */
static void move(struct hl_pg_recall *r, enum hl_pg_recall_state to)
{
    static const unsigned moves[] = {
        [HL_PG_KNOWN] = 1U << HL_PG_UNTOLD,
        [HL_PG_UNTOLD] = 1U << HL_PG_UNHEARD | 1U << HL_PG_UNTOLD,
        [HL_PG_UNHEARD] = 1U << HL_PG_KNOWN | 1U << HL_PG_UNTOLD,
    };
    HL_ASSERT(moves[r->state] >> to & 1U);
    r->state = to;
}

/* --- telling -------------------------------------------------------------------------------- */

void hl_pg_recall_begin(struct hl_pg_store *s, int64_t now_ms)
{
    struct hl_pg_recall *r = &s->recall;
    move(r, HL_PG_UNTOLD);
    r->since_ms = now_ms;
    r->until_ms = hl_clock_mono_ms() + s->settings.ttl_ms;
    r->calm_ms = 0;
    hl_counter_add(&s->gauges.turns, 1);
    hl_credit_return_unused(
        &s->dispatch.workers); /* slots of the app, which are of no use meanwhile */
}

static void add_settled(struct hl_pg_store *s, struct hl_pg_transaction *e)
{
    const struct hl_pg_settled *of[HL_PG_DIARY_MAX];
    struct hl_pg_params *p = &s->params;
    size_t n = 0;
    HL_LIST_EACH_SAFE (node, &s->recall.deliveries)
        of[n++] = hl_pg_settled_of(node);
    HL_PG_EACH(p, HL_PG_P_DELIVERY_ID, HL_PG_ID, n, hl_pg_item_id(p, &of[i]->id));
    HL_PG_EACH(p, HL_PG_P_ROUND, HL_PG_INT, n, hl_pg_item_int(p, of[i]->round));
    HL_PG_EACH(p, HL_PG_P_N, HL_PG_INT, n, hl_pg_item_int(p, of[i]->n));
    HL_PG_EACH(p, HL_PG_P_STATE, HL_PG_INT, n, hl_pg_item_int(p, of[i]->state));
    HL_PG_EACH(p, HL_PG_P_VERDICT, HL_PG_INT, n, hl_pg_item_int(p, of[i]->verdict));
    HL_PG_EACH(p, HL_PG_P_HTTP_STATUS, HL_PG_INT, n, hl_pg_item_int(p, of[i]->http_status));
    HL_PG_EACH(p, HL_PG_P_STARTED_MS, HL_PG_INT, n, hl_pg_item_int(p, of[i]->started_ms));
    HL_PG_EACH(p, HL_PG_P_ENDED_MS, HL_PG_INT, n, hl_pg_item_int(p, of[i]->ended_ms));
    hl_pg_transaction_add(e, HL_PG_DO_DELIVERY_RECALL);
}

static void add_words(struct hl_pg_store *s, struct hl_pg_transaction *e)
{
    struct hl_pg_op *cancels[HL_PG_WORDS_MAX];
    const struct hl_pg_word *revoked[HL_PG_WORDS_MAX];
    struct hl_pg_params *p = &s->params;
    size_t n = 0, n_revoked = 0;
    HL_LIST_EACH_SAFE (node, &s->recall.words) {
        if (hl_pg_word_of(node)->op.how == &hl_pg_op_cancel)
            cancels[n++] = &hl_pg_word_of(node)->op;
        else
            revoked[n_revoked++] = hl_pg_word_of(node);
    }
    if (n > 0) {
        hl_pg_op_bind(s, cancels, n);
        hl_pg_transaction_add(e, HL_PG_DO_RUN_CANCEL);
    }
    if (n_revoked > 0) {
        HL_PG_EACH(
            p, HL_PG_P_ACCOUNT_ID, HL_PG_ID, n_revoked, hl_pg_item_id(p, &revoked[i]->ref.run_id));
        HL_PG_EACH(
            p, HL_PG_P_REVOKED_MS, HL_PG_INT, n_revoked, hl_pg_item_int(p, revoked[i]->revoked_ms));
        hl_pg_transaction_add(e, HL_PG_DO_ACCOUNT_RECALL);
    }
}

static void say_told(const struct hl_pg_recall *r)
{
    HL_LOG(WARN, "store: reported to this database what became of this replica's runs and webhooks",
        HL_LOG_INT("ended_runs", r->ended), HL_LOG_INT("running_runs", r->running),
        HL_LOG_INT("cut_runs", r->cut), HL_LOG_INT("lost_runs", r->lost),
        HL_LOG_INT("runs_elsewhere", r->elsewhere));
}

static void tell_next(struct hl_pg_store *s);

/* All of it: that a part is told twice changes nothing. */
static void tell_again(struct hl_pg_store *s)
{
    s->recall.then(s, false);
}

/* A refusal is logged with its statement; what was not told runs again. */
static void on_rest_told(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_recall *r = &s->recall;
    struct hl_pg_row row = {.result = result};
    if (!hl_pg_link_is_up(&s->writer))
        return;
    r->running = result ? (uint64_t)hl_pg_int(&row) : 0;
    move(r, HL_PG_UNHEARD);
    say_told(r);
    r->then(s, true);
}

/* That one has left: it is this process, some time ago. */
static void add_past(struct hl_pg_store *s, struct hl_pg_transaction *e, const struct hl_id *as)
{
    struct hl_pg_params *p = &s->params;
    if (hl_id_eq(as, &s->member.id))
        return;
    hl_pg_add_id(p, HL_PG_P_ME, as);
    hl_pg_add_str(p, HL_PG_P_NAME, hl_str_from(s->member.name));
    hl_pg_add_str(p, HL_PG_P_VERSION, HL_STR(HL_VERSION));
    hl_pg_add_str(p, HL_PG_P_KEY_CHECK, hl_key_check(&s->keys.key));
    hl_pg_transaction_add(e, HL_PG_DO_NODE_PAST);
}

static void tell_rest(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_rest_told);
    struct hl_pg_params *p = &s->params;
    const struct hl_id_map *live = &s->runs.epochs;
    if (!e) {
        tell_again(s);
        return;
    }
    if (!hl_id_is_nil(&s->recall.self.id))
        add_past(s, e, &s->recall.self.id); /* where it had no runs, too: nobody waits for it */
    add_settled(s, e);
    add_words(s, e);
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_array_begin(p, HL_PG_P_RUN_ID, HL_PG_ID, live->n);
    for (size_t i = 0; i < live->cap; i++)
        if (live->entries[i].value)
            hl_pg_item_id(p, &live->entries[i].id);
    hl_pg_array_end(p);
    hl_pg_array_begin(p, HL_PG_P_EPOCH, HL_PG_INT, live->n);
    for (size_t i = 0; i < live->cap; i++)
        if (live->entries[i].value)
            hl_pg_item_int(p, (int64_t)(uintptr_t)live->entries[i].value);
    hl_pg_array_end(p);
    hl_pg_add_int(p, HL_PG_P_NOW_MS, hl_clock_wall_ms());
    hl_pg_transaction_add(e, HL_PG_DO_RUN_RETAKE);
    hl_pg_transaction_send(e);
}

static void tell_past(struct hl_pg_store *s);

static void on_past_told(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    if (!hl_pg_link_is_up(&s->writer))
        return;
    s->recall.cut += result ? (uint64_t)hl_pg_int(&row) : 0;
    tell_past(s);
}

static void tell_begun(struct hl_pg_store *s, struct hl_pg_begun *const begun[], size_t n)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_past_told);
    struct hl_pg_params *p = &s->params;
    if (!e) {
        tell_again(s);
        return;
    }
    add_past(s, e, &begun[0]->as);
    hl_pg_add_id(p, HL_PG_P_ME, &begun[0]->as);
    HL_PG_EACH(p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &begun[i]->run_id));
    HL_PG_EACH(p, HL_PG_P_EPOCH, HL_PG_INT, n, hl_pg_item_int(p, begun[i]->epoch));
    hl_pg_add_int(p, HL_PG_P_NOW_MS, hl_clock_wall_ms());
    hl_pg_transaction_add(e, HL_PG_DO_RUN_RETAKE);
    hl_pg_transaction_send(e);
}

static void tell_past(struct hl_pg_store *s)
{
    struct hl_pg_recall *r = &s->recall;
    struct hl_pg_begun *begun[STEP];
    size_t n = 0;
    for (; r->at != &r->past && n < STEP; r->at = r->at->next) {
        begun[n] = hl_pg_begun_of(r->at);
        if (!hl_id_eq(&begun[n]->as, &begun[0]->as))
            break;
        n++;
    }
    if (n > 0)
        tell_begun(s, begun, n);
    else
        tell_rest(s);
}

static void on_runs_told(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_recall *r = &s->recall;
    if (!hl_pg_link_is_up(&s->writer))
        return;
    for (int i = 0; result && i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i, .column = 1};
        int64_t code = hl_pg_int(&row);
        r->ended += code == HL_PG_DONE;
        hl_counter_add(&s->gauges.recalled_runs, code == HL_PG_DONE);
        r->lost += code == HL_PG_NOT_FOUND;
        r->elsewhere += code == HL_PG_STALE;
    }
    tell_next(s);
}

/* Who ended them, the statement's first parameter, is who they were sent as. */
static void bind_ended(
    struct hl_pg_store *s, const struct hl_id *as, struct hl_pg_op *const ops[], size_t n)
{
    struct hl_id me = s->member.id;
    s->member.id = *as;
    hl_pg_op_bind(s, ops, n);
    s->member.id = me;
}

static void tell_runs(
    struct hl_pg_store *s, const struct hl_id *as, struct hl_pg_op *ops[], size_t n)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_runs_told);
    struct hl_pg_params *p = &s->params;
    if (!e) {
        tell_again(s);
        return;
    }
    add_past(s, e, as);
    hl_pg_add_id(p, HL_PG_P_ME, as);
    HL_PG_EACH(
        p, HL_PG_P_RUN_ID, HL_PG_ID, n, hl_pg_item_id(p, &((struct hl_finish *)ops[i]->m)->run_id));
    HL_PG_EACH(
        p, HL_PG_P_EPOCH, HL_PG_INT, n, hl_pg_item_int(p, ((struct hl_finish *)ops[i]->m)->epoch));
    hl_pg_add_int(p, HL_PG_P_NOW_MS, hl_clock_wall_ms());
    hl_pg_transaction_add(e, HL_PG_DO_RUN_RETAKE);
    bind_ended(s, as, ops, n);
    hl_pg_transaction_add(e, HL_PG_DO_RUN_FINISH);
    hl_pg_transaction_send(e);
}

/* Nothing is noted, or forgotten, before this is over: this replica is not among the others. */
static void tell_next(struct hl_pg_store *s)
{
    struct hl_pg_recall *r = &s->recall;
    struct hl_pg_op *ops[STEP];
    struct hl_id as;
    size_t n = 0;
    for (; r->at != &r->runs && n < STEP; r->at = r->at->next) {
        struct hl_pg_ended *e = hl_pg_ended_of(r->at);
        if (n > 0 && !hl_id_eq(&e->as, &as))
            break;
        as = e->as;
        ops[n++] = &e->op;
    }
    if (n > 0) {
        tell_runs(s, &as, ops, n);
    } else {
        r->at = r->past.next;
        tell_past(s);
    }
}

void hl_pg_recall_tell(struct hl_pg_store *s, void (*then)(struct hl_pg_store *s, bool is_told))
{
    struct hl_pg_recall *r = &s->recall;
    if (r->state != HL_PG_UNTOLD) {
        then(s, true);
        return;
    }
    r->then = then;
    r->at = r->runs.next;
    r->ended = r->running = r->cut = r->lost = r->elsewhere = 0;
    tell_next(s);
}

/* --- until the others have told -------------------------------------------------------------- */

static void open_up(struct hl_pg_store *s, uint64_t unheard)
{
    move(&s->recall, HL_PG_KNOWN);
    s->dispatch.claims_more = s->dispatch.leases_more = true;
    if (unheard == 0)
        return;
    HL_LOG(WARN,
        "store: some earlier replicas have not come back: what they began or ended after the state "
        "of this database may run again",
        HL_LOG_INT("replicas", unheard));
    hl_counter_add(&s->gauges.unheard_replicas, unheard);
}

static void on_looked(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_recall *r = &s->recall;
    uint64_t now_ms = hl_clock_mono_ms();
    r->look.is_under_way = false;
    if (!result || r->state != HL_PG_UNHEARD)
        return;
    struct hl_pg_row row = {.result = result};
    uint64_t unheard = (uint64_t)hl_pg_int(&row);
    if (unheard > 0)
        r->calm_ms = 0;
    else if (r->calm_ms == 0)
        r->calm_ms = now_ms;
    if ((r->calm_ms > 0 && now_ms - r->calm_ms >= CALM_MS) || now_ms >= r->until_ms)
        open_up(s, unheard);
}

/* What others have told meanwhile may have begun a delivery that was settled here. */
static void look(struct hl_pg_store *s)
{
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_looked);
    if (!e)
        return;
    if (s->recall.n_deliveries > 0)
        add_settled(s, e);
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(&s->params, HL_PG_P_SINCE_MS, s->recall.since_ms);
    hl_pg_add_int(&s->params, HL_PG_P_TTL_MS, (int64_t)s->settings.ttl_ms);
    hl_pg_transaction_add(e, HL_PG_DO_NODE_UNHEARD);
    s->recall.look.is_under_way = hl_pg_transaction_send(e);
}

void hl_pg_recall_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms < hl_pg_recall_due_ms(s))
        return;
    s->recall.look.due_ms = now_ms + LOOK_MS;
    look(s);
}

uint64_t hl_pg_recall_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_recall *r = &s->recall;
    bool is_idle = r->state != HL_PG_UNHEARD || !hl_pg_is_joined(s);
    return is_idle ? UINT64_MAX : hl_pg_repeat_due_ms(&r->look);
}
