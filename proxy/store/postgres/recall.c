/* recall.c - see recall.h.
 *
 * A run that had ended may stand there as running here, as queued, or as somebody's earlier attempt: its ticket is
 * taken again, under the epoch that it had here, which later claims of the lost time cannot have, and then it
 * ends as it did, with the same delivery. Runs that go on here are taken again likewise. A delivery that was
 * settled is settled, a run that was cancelled is cancelled, an account that was revoked is revoked. What the database knows is not touched, and what it has lost altogether stays lost.
 *
 * Others may have ended what this replica would find queued: until each that was there when the database was lost has
 * beaten since, which it does once it has told what it knows, nothing is claimed; but no longer than a lifetime.
 *
 * In memory, bounded: what ended longer ago, or in a replica that is gone, may run again. */
#include "store/postgres/recall.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/claim.h"
#include "store/credit.h"
#include "store/lease.h"
#include "store/postgres/errand.h"
#include "store/postgres/op.h"
#include "store/postgres/row.h"

#define KEEP_MS    (10 * 60 * 1000)
#define KEEP_MAX   8192       /* runs, and deliveries */
#define KEEP_BYTES (8u << 20) /* of answers: the oldest runs go when there are more */
#define WORDS_MAX  1024       /* cancels and revocations */
#define STEP       256
#define LOOK_MS    250
#define AGAIN_MS   250
#define CALM_MS    1000 /* what those who came last have told is seen by then */

/* A run that ended. */
struct ended {
    struct hl_list node;
    struct hl_pg_op op; /* as it was sent: the request is the copy */
    struct hl_finish finish;
    struct hl_id as; /* the replica that it was sent as */
};

/* A delivery that is settled. */
struct settled {
    struct hl_list node;
    struct hl_id id;
    uint64_t at_ms;
    uint32_t round, n;
    enum hl_delivery_state state;
    enum hl_attempt_verdict verdict;
    uint16_t http_status;
    int64_t started_ms, ended_ms;
};

/* A run that was cancelled, or an account that was revoked. */
struct word {
    struct hl_list node;
    struct hl_pg_op op;
    struct hl_run_ref ref; /* of an account: its id is `run_id` */
    int64_t revoked_ms;
};

void hl_pg_recall_init(struct hl_pg_store *s)
{
    hl_list_init(&s->recall.words);
    hl_list_init(&s->recall.runs);
    hl_list_init(&s->recall.deliveries);
}

/* --- remembering ---------------------------------------------------------------------------- */

static struct ended *ended_of(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct ended, node);
}

static struct settled *settled_of(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct settled, node);
}

static struct word *word_of(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct word, node);
}

static bool is_cancel(const struct word *w)
{
    return w->op.how == &hl_pg_op_cancel;
}

static size_t size_of(const struct hl_finish *f)
{
    return f->log.n + (f->outcome.body.where == HL_BODY_INLINE ? f->outcome.body.size : 0);
}

static void forget_run(struct hl_pg_recall *r, struct ended *e)
{
    hl_list_remove(&e->node);
    r->n_runs--;
    r->bytes -= size_of(&e->finish);
    hl_body_fini(&e->finish.outcome.body);
    hl_buf_fini(&e->finish.log);
    free(e);
}

static void forget_delivery(struct hl_pg_recall *r, struct settled *d)
{
    hl_list_remove(&d->node);
    r->n_deliveries--;
    free(d);
}

static void forget_word(struct hl_pg_recall *r, struct word *w)
{
    hl_list_remove(&w->node);
    r->n_words--;
    free(w);
}

static void forget_old(struct hl_pg_recall *r, uint64_t now_ms)
{
    while (r->n_runs > 0 && (r->n_runs > KEEP_MAX || r->bytes > KEEP_BYTES ||
                                now_ms - ended_of(r->runs.next)->op.posted_ms > KEEP_MS))
        forget_run(r, ended_of(r->runs.next));
    while (r->n_deliveries > 0 &&
           (r->n_deliveries > KEEP_MAX || now_ms - settled_of(r->deliveries.next)->at_ms > KEEP_MS))
        forget_delivery(r, settled_of(r->deliveries.next));
    while (r->n_words > 0 &&
           (r->n_words > WORDS_MAX || now_ms - word_of(r->words.next)->op.posted_ms > KEEP_MS))
        forget_word(r, word_of(r->words.next));
}

/* A long answer has rows of its own, which may be lost as well: it counts as not kept any more. */
static enum hl_err copy_outcome(struct hl_outcome *to, const struct hl_outcome *from)
{
    *to = *from;
    to->body.bytes = NULL;
    if (from->body.where == HL_BODY_INLINE)
        return hl_body_copy(&to->body, (struct hl_str){from->body.bytes, from->body.size});
    if (from->body.where == HL_BODY_FILE) {
        to->body.where = HL_BODY_DROPPED;
        to->encoding = HL_ENCODING_NONE;
    }
    return HL_OK;
}

static void note_run(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    const struct hl_finish *f = (const struct hl_finish *)op->m;
    struct ended *e = calloc(1, sizeof(*e));
    if (!e)
        return;
    e->finish = (struct hl_finish){
        .run_id = f->run_id, .epoch = f->epoch, .run_us = f->run_us, .queued_us = f->queued_us};
    enum hl_err err = copy_outcome(&e->finish.outcome, &f->outcome);
    if (!err && f->log.n > 0)
        err = hl_buf_append_str(&e->finish.log, hl_buf_str(&f->log));
    e->op = (struct hl_pg_op){.m = &e->finish.m,
        .how = op->how,
        .posted_ms = hl_clock_mono_ms(), /* it may have waited for the database for long */
        .posted_ahead_ms = op->posted_ahead_ms,
        .delivery_id = op->delivery_id};
    e->as = s->node_id;
    s->recall.n_runs++;
    s->recall.bytes += size_of(&e->finish);
    hl_list_push_back(&s->recall.runs, &e->node);
    if (err)
        forget_run(&s->recall, e);
}

static void note_delivery(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    const struct hl_attempt_outcome *o = (const struct hl_attempt_outcome *)op->m;
    struct settled *d = calloc(1, sizeof(*d));
    if (!d)
        return;
    *d = (struct settled){.id = o->delivery_id,
        .at_ms = hl_clock_mono_ms(),
        .round = o->round,
        .n = o->n,
        .state = (enum hl_delivery_state)op->number,
        .verdict = o->verdict,
        .http_status = o->http_status,
        .started_ms = o->started_ms,
        .ended_ms = o->ended_ms};
    s->recall.n_deliveries++;
    hl_list_push_back(&s->recall.deliveries, &d->node);
}

static void note_word(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    struct word *w = calloc(1, sizeof(*w));
    if (!w)
        return;
    if (op->how == &hl_pg_op_cancel)
        w->ref = *(const struct hl_run_ref *)op->m;
    else
        w->ref.run_id = ((const struct hl_revoke_account *)op->m)->id;
    w->op = (struct hl_pg_op){.m = &w->ref.m,
        .how = op->how,
        .posted_ms = hl_clock_mono_ms(),
        .delivery_id = op->delivery_id};
    w->revoked_ms = hl_clock_wall_ms();
    s->recall.n_words++;
    hl_list_push_back(&s->recall.words, &w->node);
}

void hl_pg_recall_note(struct hl_pg_store *s, const struct hl_pg_op *op)
{
    if (op->rc != HL_OK)
        return;
    if (op->how == &hl_pg_op_finish)
        note_run(s, op);
    else if (op->how == &hl_pg_op_outcome && op->number != HL_DELIVERY_PENDING)
        note_delivery(s, op);
    else if (op->how == &hl_pg_op_cancel || op->how == &hl_pg_op_account_revoke)
        note_word(s, op);
    if (!s->recall.is_due) /* what is to be told is walked over */
        forget_old(&s->recall, hl_clock_mono_ms());
}

/* --- telling -------------------------------------------------------------------------------- */

void hl_pg_recall_begin(struct hl_pg_store *s, int64_t now_ms)
{
    struct hl_pg_recall *r = &s->recall;
    r->is_due = r->waits = true;
    r->since_ms = now_ms;
    r->until_ms = hl_clock_mono_ms() + s->settings.ttl_ms;
    r->calm_ms = 0;
    hl_counter_add(&s->gauges.turns, 1);
    hl_credit_return_unused(&s->workers); /* slots of the app, which are of no use meanwhile */
}

static void add_settled(struct hl_pg_store *s, struct hl_pg_errand *e)
{
    const struct settled *of[KEEP_MAX];
    struct hl_pg_params *p = &s->params;
    size_t n = 0;
    HL_LIST_EACH_SAFE (node, &s->recall.deliveries)
        of[n++] = settled_of(node);
    HL_PG_EACH(p, HL_PG_ID, n, hl_pg_item_id(p, &of[i]->id));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, of[i]->round));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, of[i]->n));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, of[i]->state));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, of[i]->verdict));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, of[i]->http_status));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, of[i]->started_ms));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, of[i]->ended_ms));
    hl_pg_errand_add(e, HL_PG_DO_DELIVERY_RECALL);
}

static void add_words(struct hl_pg_store *s, struct hl_pg_errand *e)
{
    struct hl_pg_op *cancels[WORDS_MAX];
    const struct word *revoked[WORDS_MAX];
    struct hl_pg_params *p = &s->params;
    size_t n = 0, n_revoked = 0;
    HL_LIST_EACH_SAFE (node, &s->recall.words) {
        if (is_cancel(word_of(node)))
            cancels[n++] = &word_of(node)->op;
        else
            revoked[n_revoked++] = word_of(node);
    }
    if (n > 0) {
        hl_pg_op_cancel.bind(s, p, cancels, n);
        hl_pg_errand_add(e, HL_PG_DO_RUN_CANCEL);
    }
    if (n_revoked > 0) {
        HL_PG_EACH(p, HL_PG_ID, n_revoked, hl_pg_item_id(p, &revoked[i]->ref.run_id));
        HL_PG_EACH(p, HL_PG_INT, n_revoked, hl_pg_item_int(p, revoked[i]->revoked_ms));
        hl_pg_errand_add(e, HL_PG_DO_ACCOUNT_RECALL);
    }
}

static void say_told(const struct hl_pg_recall *r)
{
    HL_LOG(WARN, "store: this database was told what became of runs and webhooks here",
        HL_LOG_INT("ended_runs", r->ended), HL_LOG_INT("running_runs", r->running),
        HL_LOG_INT("lost_runs", r->lost), HL_LOG_INT("runs_elsewhere", r->elsewhere));
}

static void tell_next(struct hl_pg_store *s);

/* All of it: that a part is told twice changes nothing. */
static void tell_again(struct hl_pg_store *s)
{
    s->arrival_ms = hl_clock_mono_ms() + AGAIN_MS;
}

/* A refusal is logged with its statement; what was not told runs again. */
static void on_rest_told(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_recall *r = &s->recall;
    struct hl_pg_row row = {.result = result};
    if (!hl_pg_link_is_up(&s->writer))
        return;
    r->running = result ? (uint64_t)hl_pg_int(&row) : 0;
    r->is_due = false;
    say_told(r);
    r->then(s);
}

static void tell_rest(struct hl_pg_store *s)
{
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_rest_told);
    struct hl_pg_params *p = &s->params;
    const struct hl_id_map *live = &s->live.epochs;
    if (!e) {
        tell_again(s);
        return;
    }
    add_settled(s, e);
    add_words(s, e);
    hl_pg_add_id(p, &s->node_id);
    hl_pg_array_begin(p, HL_PG_ID, live->n);
    for (size_t i = 0; i < live->cap; i++)
        if (live->entries[i].value)
            hl_pg_item_id(p, &live->entries[i].id);
    hl_pg_array_end(p);
    hl_pg_array_begin(p, HL_PG_INT, live->n);
    for (size_t i = 0; i < live->cap; i++)
        if (live->entries[i].value)
            hl_pg_item_int(p, (int64_t)(uintptr_t)live->entries[i].value);
    hl_pg_array_end(p);
    hl_pg_add_int(p, hl_clock_wall_ms());
    hl_pg_errand_add(e, HL_PG_DO_RUN_RETAKE);
    hl_pg_errand_send(e);
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

static void tell_runs(struct hl_pg_store *s, struct hl_pg_op *ops[], size_t n)
{
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_runs_told);
    struct hl_pg_params *p = &s->params;
    if (!e) {
        tell_again(s);
        return;
    }
    hl_pg_add_id(p, &s->node_id);
    HL_PG_EACH(p, HL_PG_ID, n, hl_pg_item_id(p, &((struct hl_finish *)ops[i]->m)->run_id));
    HL_PG_EACH(p, HL_PG_INT, n, hl_pg_item_int(p, ((struct hl_finish *)ops[i]->m)->epoch));
    hl_pg_add_int(p, hl_clock_wall_ms());
    hl_pg_errand_add(e, HL_PG_DO_RUN_RETAKE);
    hl_pg_op_finish.bind(s, p, ops, n);
    hl_pg_errand_add(e, HL_PG_DO_RUN_FINISH);
    hl_pg_errand_send(e);
}

/* Nothing is noted, or forgotten, before this is over: this replica is not among the others. */
static void tell_next(struct hl_pg_store *s)
{
    struct hl_pg_recall *r = &s->recall;
    struct hl_pg_op *ops[STEP];
    size_t n = 0;
    for (; r->at != &r->runs && n < STEP; r->at = r->at->next)
        if (hl_id_eq(&ended_of(r->at)->as, &s->node_id))
            ops[n++] = &ended_of(r->at)->op;
    if (n > 0)
        tell_runs(s, ops, n);
    else
        tell_rest(s);
}

void hl_pg_recall_tell(struct hl_pg_store *s, void (*then)(struct hl_pg_store *s))
{
    struct hl_pg_recall *r = &s->recall;
    if (!r->is_due) {
        then(s);
        return;
    }
    r->then = then;
    r->at = r->runs.next;
    r->ended = r->running = r->lost = r->elsewhere = 0;
    tell_next(s);
}

/* --- until the others have told -------------------------------------------------------------- */

static void open_up(struct hl_pg_store *s, uint64_t unheard)
{
    s->recall.waits = false;
    s->claims_more = s->leases_more = true;
    if (unheard == 0)
        return;
    HL_LOG(WARN,
        "store: replicas that were there have not come back: what they had begun or ended since "
        "the state that this database has may run again",
        HL_LOG_INT("replicas", unheard));
    hl_counter_add(&s->gauges.unheard_replicas, unheard);
}

static void on_looked(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_recall *r = &s->recall;
    uint64_t now_ms = hl_clock_mono_ms();
    r->is_looking = false;
    if (!result)
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
    struct hl_pg_errand *e = hl_pg_errand_begin(s, on_looked);
    if (!e)
        return;
    if (s->recall.n_deliveries > 0)
        add_settled(s, e);
    hl_pg_add_id(&s->params, &s->node_id);
    hl_pg_add_int(&s->params, s->recall.since_ms);
    hl_pg_add_int(&s->params, (int64_t)s->settings.ttl_ms);
    hl_pg_errand_add(e, HL_PG_DO_NODE_UNHEARD);
    s->recall.is_looking = hl_pg_errand_send(e);
}

void hl_pg_recall_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms < hl_pg_recall_due_ms(s))
        return;
    s->recall.look_ms = now_ms + LOOK_MS;
    look(s);
}

uint64_t hl_pg_recall_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_recall *r = &s->recall;
    bool is_idle = !r->waits || r->is_looking || !s->is_joined;
    return is_idle || !hl_pg_link_is_up(&s->writer) ? UINT64_MAX : r->look_ms;
}

void hl_pg_recall_fini(struct hl_pg_store *s)
{
    while (s->recall.n_runs > 0)
        forget_run(&s->recall, ended_of(s->recall.runs.next));
    while (s->recall.n_deliveries > 0)
        forget_delivery(&s->recall, settled_of(s->recall.deliveries.next));
    while (s->recall.n_words > 0)
        forget_word(&s->recall, word_of(s->recall.words.next));
}
