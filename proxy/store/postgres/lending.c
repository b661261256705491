/* lending.c - see thread.h. What this replica borrows of rates that replicas share: whoever asks meanwhile is in one
 * question, and one is under way at a time. What was borrowed and is left alone goes back.
 * Promise: a caller waits PATIENCE_MS at most: then, until the database has answered again, this replica spends its share. */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/lender.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/quota.h"

#define GAP_MS      20 /* between two questions */
#define AGAIN_MS    1000
#define PATIENCE_MS 2000
#define LOOK_MS     1000 /* for what is left alone */

static struct hl_quota *quota_at(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_quota, borrower.due);
}

/* --- who asks ------------------------------------------------------------------------------- */

static void queue(struct hl_pg_store *s, struct hl_quota *quota, uint64_t now_ms)
{
    struct hl_pg_lending *l = &s->lending;
    if (hl_list_is_empty(&l->asking) && l->n_asked == 0)
        l->since_ms = now_ms;
    hl_list_push_back(&l->asking, &quota->borrower.due);
}

void hl_pg_lending_take(struct hl_pg_store *s, struct hl_msg *ask)
{
    struct hl_quota *quota = HL_CONTAINER_OF(ask, struct hl_quota, ask);
    struct hl_quota_borrower *b = &quota->borrower;
    if (!b->is_known) {
        b->is_known = true;
        hl_list_push_back(&s->lending.all, &b->all);
    }
    b->wants = true;
    queue(s, quota, hl_clock_mono_ms());
}

/* It may ask again. */
static void release(struct hl_quota *quota)
{
    atomic_store(&quota->is_asked, false);
}

/* --- the question --------------------------------------------------------------------------- */

/* False: there is nothing to say, or nobody to say it of. */
static bool prepare(struct hl_quota *quota, struct hl_id *name, uint64_t now_ms)
{
    struct hl_quota_borrower *b = &quota->borrower;
    struct hl_rate rate = hl_quota_rate(quota);
    uint32_t version;
    if (!hl_quota_read_name(quota, name, &version) || rate.count == 0)
        return false;
    if (version != b->version)
        b->book = (struct hl_loan_book){0};
    b->version = version;
    b->window_ms = 1000 * rate.window_s;
    b->ask = hl_loan_ask(
        &quota->loan, &b->book, b->wants && hl_loan_is_low(&quota->loan, now_ms), now_ms);
    return b->ask.wanted + b->ask.owed + b->ask.back > 0;
}

/* The first that wait, as many as one question is for. */
static void gather(struct hl_pg_store *s, struct hl_id names[HL_PG_LENDING_MAX], uint64_t now_ms)
{
    struct hl_pg_lending *l = &s->lending;
    struct hl_list *node;
    bool is_any_over = false;
    l->n_asked = 0;
    while (l->n_asked < HL_PG_LENDING_MAX && (node = hl_list_pop_front(&l->asking)) != NULL) {
        struct hl_quota *quota = quota_at(node);
        if (prepare(quota, &names[l->n_asked], now_ms)) {
            l->asked[l->n_asked++] = quota;
        } else {
            release(quota);
            is_any_over = true;
        }
    }
    if (is_any_over)
        hl_lender_ring(&s->lender);
}

#define ASKED(i) (l->asked[i]->borrower.ask)

static void add_question(
    struct hl_pg_store *s, struct hl_pg_transaction *e, const struct hl_id *names)
{
    struct hl_pg_lending *l = &s->lending;
    struct hl_pg_params *p = &s->params;
    size_t n = l->n_asked;
    HL_PG_EACH(p, HL_PG_P_RATE_OF, HL_PG_ID, n, hl_pg_item_id(p, &names[i]));
    HL_PG_EACH(p, HL_PG_P_MOST, HL_PG_INT, n, hl_pg_item_int(p, hl_quota_rate(l->asked[i]).count));
    HL_PG_EACH(
        p, HL_PG_P_WINDOW_MS, HL_PG_INT, n, hl_pg_item_int(p, l->asked[i]->borrower.window_ms));
    HL_PG_EACH(p, HL_PG_P_WANTED, HL_PG_INT, n, hl_pg_item_int(p, ASKED(i).wanted));
    HL_PG_EACH(p, HL_PG_P_HAD, HL_PG_INT, n, hl_pg_item_int(p, ASKED(i).had));
    HL_PG_EACH(p, HL_PG_P_BACK, HL_PG_INT, n, hl_pg_item_int(p, ASKED(i).back));
    HL_PG_EACH(p, HL_PG_P_OWED, HL_PG_INT, n, hl_pg_item_int(p, ASKED(i).owed));
    HL_PG_EACH(
        p, HL_PG_P_WAS_UNTIL_MS, HL_PG_INT, n, hl_pg_item_int(p, (int64_t)ASKED(i).until_ms));
    hl_pg_transaction_add(e, HL_PG_DO_RATE_LEND);
}

/* --- the answer ----------------------------------------------------------------------------- */

static void settle(struct hl_pg_store *s, struct hl_quota *quota, struct hl_pg_row *row)
{
    struct hl_quota_borrower *b = &quota->borrower;
    hl_lender_note(&s->lender, (uint64_t)hl_pg_int(row));
    struct hl_loan_answer answer = {.lent = (uint32_t)hl_pg_int(row),
        .rest = (uint32_t)hl_pg_int(row),
        .until_ms = (uint64_t)hl_pg_int(row),
        .left_ms = (uint64_t)hl_pg_int(row)};
    struct hl_id name;
    uint32_t version;
    hl_counter_add(&s->gauges.lent_calls, answer.lent);
    if (hl_quota_read_name(quota, &name, &version) && version == b->version)
        hl_loan_settle(&quota->loan, &b->book, &b->ask, &answer, b->window_ms, hl_clock_mono_ms());
}

void hl_pg_lending_set_cut_off(struct hl_pg_store *s, bool is_cut_off)
{
    if (atomic_exchange(&s->lender.is_cut_off, is_cut_off) == is_cut_off)
        return;
    hl_counter_set(&s->gauges.spends_shares, is_cut_off);
    HL_LOG(WARN,
        is_cut_off ? "store: the database does not say what is left of callers' limits: this "
                     "replica lets in its share of them"
                   : "store: the database says again what is left of callers' limits",
        HL_LOG_INT("replicas", atomic_load(&s->lender.replicas)));
}

static void on_refused(struct hl_pg_store *s)
{
    struct hl_pg_lending *l = &s->lending;
    for (size_t i = l->n_asked; i-- > 0;) {
        hl_loan_ask_again(&l->asked[i]->loan, &ASKED(i));
        hl_list_push_front(&l->asking, &l->asked[i]->borrower.due);
    }
    l->n_asked = 0;
    l->due_ms = hl_pg_is_joined(s) ? hl_clock_mono_ms() + AGAIN_MS : 0;
}

static void on_answer(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_lending *l = &s->lending;
    l->is_under_way = false;
    if (!result) {
        on_refused(s);
        return;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        int64_t ord = hl_pg_int(&row);
        if (ord >= 1 && (size_t)ord <= l->n_asked)
            settle(s, l->asked[ord - 1], &row);
    }
    for (size_t i = 0; i < l->n_asked; i++)
        release(l->asked[i]);
    l->n_asked = 0;
    l->since_ms = hl_clock_mono_ms();
    if (l->look_ms == UINT64_MAX)
        l->look_ms = l->since_ms + LOOK_MS;
    hl_pg_lending_set_cut_off(s, false);
    hl_lender_ring(&s->lender);
}

static void send_question(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_lending *l = &s->lending;
    struct hl_id names[HL_PG_LENDING_MAX];
    gather(s, names, now_ms);
    if (l->n_asked == 0)
        return;
    l->due_ms = now_ms + GAP_MS;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_answer);
    if (e)
        add_question(s, e, names);
    l->is_under_way = e && hl_pg_transaction_send(e);
    if (l->is_under_way)
        hl_counter_add(&s->gauges.rate_questions, 1);
    else
        on_refused(s);
}

/* --- what is left alone --------------------------------------------------------------------- */

static void give_back(struct hl_pg_store *s, struct hl_quota *quota, uint64_t now_ms)
{
    if (atomic_exchange(&quota->is_asked, true))
        return;
    hl_loan_return(&quota->loan);
    quota->borrower.wants = false;
    queue(s, quota, now_ms);
}

static void look(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_lending *l = &s->lending;
    bool is_any_lent = false;
    HL_LIST_EACH (node, &l->all) {
        struct hl_quota *quota = HL_CONTAINER_OF(node, struct hl_quota, borrower.all);
        struct hl_quota_borrower *b = &quota->borrower;
        is_any_lent |= hl_loan_left_ms(&quota->loan, now_ms) > 0;
        if (hl_loan_is_idle(&quota->loan, &b->book, b->window_ms, now_ms))
            give_back(s, quota, now_ms);
    }
    l->look_ms = is_any_lent ? now_ms + LOOK_MS : UINT64_MAX;
}

void hl_pg_lending_leave(struct hl_pg_store *s, struct hl_pg_transaction *e)
{
    struct hl_id names[HL_PG_LENDING_MAX];
    uint64_t now_ms = hl_clock_mono_ms();
    if (s->lending.is_under_way)
        return;
    HL_LIST_EACH (node, &s->lending.all)
        give_back(s, HL_CONTAINER_OF(node, struct hl_quota, borrower.all), now_ms);
    gather(s, names, now_ms);
    if (s->lending.n_asked > 0)
        add_question(s, e, names);
}

/* --- turns ---------------------------------------------------------------------------------- */

void hl_pg_lending_init(struct hl_pg_store *s)
{
    hl_lender_init(&s->lender, &s->mail.box);
    hl_list_init(&s->lending.all);
    hl_list_init(&s->lending.asking);
    s->lending.look_ms = UINT64_MAX;
}

static bool is_waited_for(const struct hl_pg_store *s)
{
    return s->lending.n_asked > 0 || !hl_list_is_empty(&s->lending.asking);
}

static uint64_t send_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_lending *l = &s->lending;
    bool may_send = hl_pg_is_joined(s) && !l->is_under_way && !hl_list_is_empty(&l->asking);
    return may_send ? l->due_ms : UINT64_MAX;
}

static uint64_t patience_due_ms(const struct hl_pg_store *s)
{
    bool may_end = is_waited_for(s) && !atomic_load(&s->lender.is_cut_off);
    return may_end ? s->lending.since_ms + PATIENCE_MS : UINT64_MAX;
}

void hl_pg_lending_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms >= s->lending.look_ms)
        look(s, now_ms);
    if (now_ms >= send_due_ms(s))
        send_question(s, now_ms);
    if (now_ms >= patience_due_ms(s)) {
        hl_pg_lending_set_cut_off(s, true);
        hl_lender_ring(&s->lender);
    }
}

uint64_t hl_pg_lending_due_ms(const struct hl_pg_store *s)
{
    uint64_t due_ms = send_due_ms(s), patience_ms = patience_due_ms(s);
    if (patience_ms < due_ms)
        due_ms = patience_ms;
    return s->lending.look_ms < due_ms ? s->lending.look_ms : due_ms;
}
