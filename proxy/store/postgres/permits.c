/* permits.c - see thread.h. What this replica holds of max_running that replicas share (base/permit.h is the arithmetic,
 * `hold` of the schema gives out): whoever has something to say meanwhile is in one message, and one is under way at a
 * time. It says how many are held, so that it may be said again.
 * Promise: a caller waits PATIENCE_MS at most: then, until the database has answered again, this replica lets in its share. */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "store/lender.h"
#include "store/postgres/param.h"
#include "store/postgres/row.h"
#include "store/quota.h"

#define GAP_MS      20 /* between two messages */
#define AGAIN_MS    1000
#define PATIENCE_MS 2000
#define RETRY_MS    50 /* those that wait: a call may have ended here, or it is time to speak again */
#define LOOK_MS     250

static struct hl_quota *quota_at(struct hl_list *node)
{
    return HL_CONTAINER_OF(node, struct hl_quota, holder.due);
}

static uint32_t share_of(const struct hl_pg_store *s, const struct hl_quota *quota)
{
    return hl_lender_share(&s->lender, atomic_load(&quota->max_running));
}

/* --- whose a queued run is ------------------------------------------------------------------- */

int hl_pg_subject_names(const struct hl_pg_store *s)
{
    return s->keys.has_previous ? 2 : 1;
}

uint64_t hl_pg_subject(const struct hl_pg_store *s, struct hl_quota *quota, int name)
{
    return name == 0 ? hl_quota_blocked_subject(quota, &s->keys.key)
                     : hl_quota_subject_by(quota, &s->keys.previous);
}

struct hl_quota *hl_pg_quota_of(struct hl_pg_store *s, uint64_t subject)
{
    struct hl_quota *first = hl_quota_blocked_first(atomic_load(&s->base.quotas));
    for (int name = 0; name < hl_pg_subject_names(s); name++)
        for (struct hl_quota *q = first; q; q = q->next)
            if (hl_pg_subject(s, q, name) == subject)
                return q;
    return NULL;
}

/* --- who speaks ----------------------------------------------------------------------------- */

static void queue(struct hl_pg_store *s, struct hl_quota *quota, uint64_t now_ms)
{
    struct hl_pg_permits *l = &s->permits;
    if (hl_list_is_empty(&l->due) && l->n_told == 0)
        l->since_ms = now_ms;
    hl_list_push_back(&l->due, &quota->holder.due);
}

static void know(struct hl_pg_store *s, struct hl_quota *quota)
{
    if (quota->holder.is_known)
        return;
    quota->holder.is_known = true;
    hl_list_push_back(&s->permits.all, &quota->holder.all);
}

/* What other threads have asked for. */
static void note_call(struct hl_quota *quota, uint64_t now_ms)
{
    if (atomic_exchange(&quota->permits_call.wants, false))
        hl_permit_want(&quota->holder.book, now_ms);
    if (atomic_exchange(&quota->permits_call.must_say, false))
        hl_permit_say_again(&quota->holder.book);
}

void hl_pg_permits_take(struct hl_pg_store *s, struct hl_msg *call)
{
    struct hl_quota *quota = HL_CONTAINER_OF(call, struct hl_quota, permits_call.msg);
    uint64_t now_ms = hl_clock_mono_ms();
    know(s, quota);
    note_call(quota, now_ms);
    queue(s, quota, now_ms);
}

/* Nothing where it is about to speak in any case. */
static void speak(struct hl_pg_store *s, struct hl_quota *quota, uint64_t now_ms)
{
    if (!atomic_exchange(&quota->permits_call.is_out, true))
        queue(s, quota, now_ms);
}

void hl_pg_permits_want(struct hl_pg_store *s, struct hl_quota *quota)
{
    uint64_t now_ms = hl_clock_mono_ms();
    if (now_ms < atomic_load(&quota->permits.none_until_ms))
        return;
    know(s, quota);
    quota->holder.is_for_runs = true;
    hl_permit_want(&quota->holder.book, now_ms);
    speak(s, quota, now_ms);
}

static bool is_called(const struct hl_quota *quota)
{
    const struct hl_quota_call *call = &quota->permits_call;
    return atomic_load(&call->wants) || atomic_load(&call->must_say);
}

/* It may speak again; for whoever has called meanwhile it does. */
static void release(struct hl_pg_store *s, struct hl_quota *quota)
{
    atomic_store(&quota->permits_call.is_out, false);
    if (is_called(quota) && !atomic_exchange(&quota->permits_call.is_out, true))
        queue(s, quota, hl_clock_mono_ms());
}

/* --- the message ---------------------------------------------------------------------------- */

/* The subject has become another one: the first word is that nothing is held under the name before. */
static void bid_farewell(struct hl_quota_holder *h)
{
    h->is_farewell = true;
    h->ask = (struct hl_permit_ask){0};
}

/* False: there is nothing to say, or nobody to say it of. */
static bool prepare(struct hl_pg_store *s, struct hl_quota *quota, uint64_t now_ms)
{
    struct hl_quota_holder *h = &quota->holder;
    struct hl_id name;
    uint32_t version;
    note_call(quota, now_ms);
    if (!hl_quota_read_name(quota, &name, &version))
        return false;
    if (version != h->version && h->book.told > 0) {
        bid_farewell(h);
        return true;
    }
    h->is_farewell = false;
    h->version = version;
    h->name = name;
    return hl_permit_say(&quota->permits, &h->book, &quota->running,
        atomic_load(&quota->max_running), share_of(s, quota), now_ms, &h->ask);
}

/* The first that are due, as many as one message is for. */
static void gather(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_permits *l = &s->permits;
    struct hl_list *node;
    bool is_any_over = false;
    l->n_told = 0;
    while (l->n_told < HL_PG_PERMITS_MAX && (node = hl_list_pop_front(&l->due)) != NULL) {
        struct hl_quota *quota = quota_at(node);
        if (!hl_permit_may_say(&quota->holder.book, now_ms)) {
            hl_list_push_back(&l->waiting, node);
        } else if (prepare(s, quota, now_ms)) {
            l->told[l->n_told++] = quota;
        } else {
            release(s, quota);
            is_any_over = true;
        }
    }
    if (is_any_over)
        hl_lender_ring(&s->lender);
}

#define TOLD(i) (l->told[i]->holder)

static void add_message(struct hl_pg_store *s, struct hl_pg_transaction *e)
{
    const struct hl_pg_permits *l = &s->permits;
    struct hl_pg_params *p = &s->params;
    size_t n = l->n_told;
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    HL_PG_EACH(p, HL_PG_P_PERMITS_OF, HL_PG_ID, n, hl_pg_item_id(p, &TOLD(i).name));
    HL_PG_EACH(
        p, HL_PG_P_MOST, HL_PG_INT, n, hl_pg_item_int(p, atomic_load(&l->told[i]->max_running)));
    HL_PG_EACH(p, HL_PG_P_HAD, HL_PG_INT, n, hl_pg_item_int(p, TOLD(i).ask.mine));
    HL_PG_EACH(p, HL_PG_P_INSIDE, HL_PG_INT, n, hl_pg_item_int(p, TOLD(i).ask.used));
    HL_PG_EACH(p, HL_PG_P_WANTED, HL_PG_INT, n, hl_pg_item_int(p, TOLD(i).ask.wants));
    hl_pg_transaction_add(e, HL_PG_DO_PERMIT_HOLD);
}

/* --- the answer ----------------------------------------------------------------------------- */

static enum hl_permit_outcome settle_farewell(struct hl_quota_holder *h)
{
    h->book.told = 0;
    h->book.must_tell = true; /* what is held under the name that it has now */
    return HL_PERMIT_WAITS;
}

static enum hl_permit_outcome settle(
    struct hl_pg_store *s, struct hl_quota *quota, struct hl_pg_row *row)
{
    struct hl_quota_holder *h = &quota->holder;
    uint32_t told = h->book.told, version;
    struct hl_id name;
    hl_lender_note(&s->lender, (uint64_t)hl_pg_int(row));
    struct hl_permit_answer answer = {
        .has = (uint32_t)hl_pg_int(row), .rest = hl_pg_int(row), .idle = (uint32_t)hl_pg_int(row)};
    bool others_are_told = hl_pg_int(row);
    if (others_are_told || answer.has < told)
        hl_pg_notify_all(s);
    if (h->is_farewell)
        return settle_farewell(h);
    if (!hl_quota_read_name(quota, &name, &version) || version != h->version) {
        h->book.told = answer.has;
        return HL_PERMIT_WAITS;
    }
    return hl_permit_settle(&quota->permits, &h->book, &quota->running, &h->ask, &answer,
        share_of(s, quota), hl_clock_mono_ms());
}

static void take_outcome(
    struct hl_pg_store *s, struct hl_quota *quota, enum hl_permit_outcome outcome)
{
    struct hl_pg_permits *l = &s->permits;
    if (outcome == HL_PERMIT_HAS && quota->holder.is_for_runs)
        s->dispatch.claims_more = true;
    if (outcome == HL_PERMIT_WAITS) {
        hl_list_push_back(&l->waiting, &quota->holder.due);
        return;
    }
    quota->holder.is_for_runs = false;
    release(s, quota);
}

static void on_lost(struct hl_pg_store *s)
{
    struct hl_pg_permits *l = &s->permits;
    for (size_t i = l->n_told; i-- > 0;) {
        hl_permit_say_again(&TOLD(i).book);
        hl_list_push_front(&l->due, &TOLD(i).due);
    }
    l->n_told = 0;
    l->due_ms = hl_pg_is_joined(s) ? hl_clock_mono_ms() + AGAIN_MS : 0;
}

static void on_answer(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_permits *l = &s->permits;
    l->is_under_way = false;
    if (!result) {
        on_lost(s);
        return;
    }
    size_t n = l->n_told;
    l->since_ms = hl_clock_mono_ms();
    l->n_told = 0;
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        int64_t ord = hl_pg_int(&row);
        if (ord >= 1 && (size_t)ord <= n)
            take_outcome(s, l->told[ord - 1], settle(s, l->told[ord - 1], &row));
    }
    if (l->look_ms == UINT64_MAX)
        l->look_ms = l->since_ms + LOOK_MS;
    hl_pg_lending_set_cut_off(s, false);
    hl_lender_ring(&s->lender);
}

static void send_message(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_permits *l = &s->permits;
    gather(s, now_ms);
    if (l->n_told == 0)
        return;
    l->due_ms = now_ms + GAP_MS;
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, on_answer);
    if (e)
        add_message(s, e);
    l->is_under_way = e && hl_pg_transaction_send(e);
    if (l->is_under_way)
        hl_counter_add(&s->gauges.permit_questions, 1);
    else
        on_lost(s);
}

/* --- what others do ------------------------------------------------------------------------- */

void hl_pg_permits_hear(
    struct hl_pg_store *s, const struct hl_id *subject, enum hl_permit_wish wish)
{
    uint64_t now_ms = hl_clock_mono_ms();
    HL_LIST_EACH (node, &s->permits.all) {
        struct hl_quota *quota = HL_CONTAINER_OF(node, struct hl_quota, holder.all);
        struct hl_quota_holder *h = &quota->holder;
        if (h->book.told == 0 || !hl_id_eq(&h->name, subject))
            continue;
        hl_permit_hear(&h->book, wish);
        if (hl_permit_is_due(&quota->permits, &h->book, &quota->running, now_ms))
            speak(s, quota, now_ms);
    }
}

void hl_pg_permits_hurry(struct hl_pg_store *s)
{
    s->permits.retry_ms = 0;
    HL_LIST_EACH (node, &s->permits.waiting)
        hl_permit_hurry(&quota_at(node)->holder.book);
}

static bool holds_any(const struct hl_quota *quota)
{
    return quota->holder.book.told > 0 || atomic_load(&quota->running) > 0;
}

void hl_pg_permits_tell_all(struct hl_pg_store *s, bool is_anew)
{
    uint64_t now_ms = hl_clock_mono_ms();
    HL_LIST_EACH (node, &s->permits.all) {
        struct hl_quota *quota = HL_CONTAINER_OF(node, struct hl_quota, holder.all);
        struct hl_permit_book *book = &quota->holder.book;
        bool says = holds_any(quota);
        if (is_anew) {
            atomic_store(&quota->permits.held, 0);
            book->told = 0;
        }
        if (!says)
            continue;
        book->must_tell = true;
        speak(s, quota, now_ms);
    }
}

/* --- turns ---------------------------------------------------------------------------------- */

static void look(struct hl_pg_store *s, uint64_t now_ms)
{
    struct hl_pg_permits *l = &s->permits;
    bool is_any_held = false;
    HL_LIST_EACH (node, &l->all) {
        struct hl_quota *quota = HL_CONTAINER_OF(node, struct hl_quota, holder.all);
        struct hl_quota_holder *h = &quota->holder;
        bool is_other = h->version != atomic_load(&quota->name.version);
        is_any_held |= h->book.told > 0;
        if (hl_permit_is_due(&quota->permits, &h->book, &quota->running, now_ms) ||
            (h->book.told > 0 && is_other))
            speak(s, quota, now_ms);
    }
    l->look_ms = is_any_held ? now_ms + LOOK_MS : UINT64_MAX;
}

void hl_pg_permits_init(struct hl_pg_store *s)
{
    hl_list_init(&s->permits.all);
    hl_list_init(&s->permits.due);
    hl_list_init(&s->permits.waiting);
    s->permits.look_ms = UINT64_MAX;
}

static uint64_t send_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_permits *l = &s->permits;
    bool may_send = hl_pg_is_joined(s) && s->member.state != HL_PG_LEAVING && !l->is_under_way &&
                    !hl_list_is_empty(&l->due);
    return may_send ? l->due_ms : UINT64_MAX;
}

static uint64_t retry_due_ms(const struct hl_pg_store *s)
{
    return hl_list_is_empty(&s->permits.waiting) ? UINT64_MAX : s->permits.retry_ms;
}

static uint64_t patience_due_ms(const struct hl_pg_store *s)
{
    const struct hl_pg_permits *l = &s->permits;
    bool may_end =
        (l->n_told > 0 || !hl_list_is_empty(&l->due)) && !atomic_load(&s->lender.is_cut_off);
    return may_end ? l->since_ms + PATIENCE_MS : UINT64_MAX;
}

static void retry(struct hl_pg_store *s, uint64_t now_ms)
{
    HL_LIST_EACH_SAFE (node, &s->permits.waiting) {
        if (!hl_permit_may_say(&quota_at(node)->holder.book, now_ms))
            continue;
        hl_list_remove(node);
        queue(s, quota_at(node), now_ms);
    }
    s->permits.retry_ms = now_ms + RETRY_MS;
    hl_lender_ring(&s->lender);
}

void hl_pg_permits_turn(struct hl_pg_store *s, uint64_t now_ms)
{
    if (now_ms >= s->permits.look_ms)
        look(s, now_ms);
    if (now_ms >= retry_due_ms(s))
        retry(s, now_ms);
    if (now_ms >= send_due_ms(s))
        send_message(s, now_ms);
    if (now_ms >= patience_due_ms(s)) {
        hl_pg_lending_set_cut_off(s, true);
        hl_lender_ring(&s->lender);
    }
}

uint64_t hl_pg_permits_due_ms(const struct hl_pg_store *s)
{
    const uint64_t times[] = {
        send_due_ms(s), retry_due_ms(s), patience_due_ms(s), s->permits.look_ms};
    uint64_t due_ms = UINT64_MAX;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (times[i] < due_ms)
            due_ms = times[i];
    return due_ms;
}
