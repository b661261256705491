/* dispatch.c - runs for workers and deliveries for the sender are asked for, as far as their credit goes.
 *
 * What was accepted here is claimed with the next flush; what others accepted, or gave back, is looked
 * for every 250 ms while there is work and every 2 s while there is none. That nothing was found is an
 * answer and no error: others were faster.
 * Not here: what is found goes out (handout.c). */
#include "store/postgres/thread.h"

#include "base/clock.h"
#include "base/id_map.h"
#include "base/log.h"
#include "base/metric.h"
#include "loop/mailbox.h"
#include "store/backend.h"
#include "store/credit.h"
#include "store/gauges.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/operation.h"
#include "store/postgres/link.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/row.h"
#include "store/quota.h"

#define POLL_MAX_MS 2000
#define PEEK_MAX    1000
#define WAKE_MAX    500
#define REFUSED_MAX 3 /* in a row: it is no accident */

/* --- asking --------------------------------------------------------------------------------- */

static uint32_t take_credit(struct hl_credit_book *book, struct hl_credit_note *notes)
{
    uint32_t n = 0;
    while (n < HL_PG_HAND_OUT && hl_credit_take(book, &notes[n]))
        n++;
    return n;
}

/* Of those that are known to wait; none is, that is said by no gauge: then the first there is. */
static unsigned waiting_classes(const struct hl_pg_store *s)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < HL_PRIORITIES; i++)
        if (hl_counter_get(&s->gauges.queued[i]) > 0)
            waiting |= hl_priority_bit((enum hl_priority)i);
    return waiting;
}

/* Whoever holds a slot of the app was told for which class; for the others it is decided here. */
static void share_out(
    const struct hl_pg_store *s, const struct hl_pg_flush *f, uint32_t wanted[HL_PRIORITIES])
{
    struct hl_priority_rule rule = s->dispatch.rule;
    for (uint32_t i = 0; i < f->n_claims; i++) {
        const struct hl_credit_note *note = &f->claims[i];
        if (note->has_wish) {
            wanted[note->wish]++;
        } else if (f->waiting) {
            enum hl_priority next = hl_priority_pick(rule, f->waiting);
            rule = hl_priority_note(rule, f->waiting, next);
            wanted[next]++;
        }
    }
}

/* For how many runs there is room. Where some are known to be queued, it is taken before the claim: else callers, who
 * need not ask the database, would nearly always be there first. */
static int64_t reserve(struct hl_quota *quota, uint32_t n_claims)
{
    struct hl_quota_holder *h = &quota->holder;
    if (!h->has_queued)
        return hl_quota_room(quota);
    while (h->reserved < n_claims && hl_quota_enter(quota))
        h->reserved++;
    return h->reserved;
}

static void leave_reserved(struct hl_pg_store *s)
{
    struct hl_quota *first = hl_quota_blocked_first(atomic_load(&s->base.quotas));
    for (struct hl_quota *q = first; q; q = q->next)
        for (; q->holder.reserved > 0; q->holder.reserved--)
            hl_quota_leave(q);
}

/* Accounts that have, or had, a max_running, `first` and behind it: the list may grow meanwhile, at its beginning. How
 * many values there are. */
static size_t add_subjects(struct hl_pg_store *s, struct hl_quota *first)
{
    size_t n = 0;
    for (const struct hl_quota *q = first; q; q = q->next)
        n += (size_t)hl_pg_subject_names(s);
    hl_pg_array_begin(&s->params, HL_PG_P_SUBJECT, HL_PG_INT, n);
    for (int name = 0; name < hl_pg_subject_names(s); name++)
        for (struct hl_quota *q = first; q; q = q->next)
            hl_pg_item_int(&s->params, (int64_t)hl_pg_subject(s, q, name));
    hl_pg_array_end(&s->params);
    return n;
}

/* How many more this replica may have of each; what is claimed beyond that by two names goes back. */
static void add_room(struct hl_pg_store *s, uint32_t n_claims)
{
    struct hl_quota *first = hl_quota_blocked_first(atomic_load(&s->base.quotas));
    size_t n = add_subjects(s, first);
    hl_pg_array_begin(&s->params, HL_PG_P_ROOM, HL_PG_INT, n);
    for (int name = 0; name < hl_pg_subject_names(s); name++)
        for (struct hl_quota *q = first; q; q = q->next)
            hl_pg_item_int(&s->params, reserve(q, n_claims));
    hl_pg_array_end(&s->params);
}

/* Accounts of which there may be no permits here, for runs that wait for one. */
static void ask_held_back(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    hl_pg_params_clear(&s->params);
    add_subjects(s, hl_quota_blocked_first(atomic_load(&s->base.quotas)));
    f->held_back_at = (int)f->flight.n;
    hl_pg_link_add(&s->writer, &f->flight, HL_PG_DO_RUN_HELD_BACK, &s->params);
}

static void ask_runs(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    uint32_t wanted[HL_PRIORITIES] = {0};
    f->n_claims = take_credit(&s->dispatch.workers, f->claims);
    f->claim_at = (int)f->flight.n;
    f->waiting = waiting_classes(s);
    s->dispatch.is_claiming = true;
    share_out(s, f, wanted);
    hl_pg_params_clear(&s->params);
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(&s->params, HL_PG_P_MAX, f->n_claims);
    hl_pg_add_int(&s->params, HL_PG_P_NOW_MS, hl_clock_wall_ms());
    hl_pg_add_int(&s->params, HL_PG_P_HIGH, wanted[HL_PRIORITY_HIGH]);
    hl_pg_add_int(&s->params, HL_PG_P_NORMAL, wanted[HL_PRIORITY_NORMAL]);
    hl_pg_add_int(&s->params, HL_PG_P_LOW, wanted[HL_PRIORITY_LOW]);
    bool has_limits = hl_quota_blocked_first(atomic_load(&s->base.quotas));
    if (has_limits)
        add_room(s, f->n_claims);
    hl_pg_add_id(&s->params, HL_PG_P_SESSION, &s->member.session);
    hl_pg_link_add(&s->writer, &f->flight,
        has_limits ? HL_PG_DO_RUN_CLAIM_WITHIN : HL_PG_DO_RUN_CLAIM, &s->params);
    if (has_limits)
        ask_held_back(s, f);
}

/* Lanes where this replica has taken places, and how many. */
static void add_taken(struct hl_pg_params *p, const struct hl_pg_places *places)
{
    const struct hl_id_map *lanes = &places->lanes;
    for (int is_count = 0; is_count < 2; is_count++) {
        hl_pg_array_begin(p, is_count ? HL_PG_P_TAKEN : HL_PG_P_LANE, HL_PG_INT, places->busy);
        for (size_t i = 0; i < lanes->cap; i++) {
            const struct hl_pg_place *place = lanes->entries[i].value;
            if (place && place->taken > 0)
                hl_pg_item_int(p, is_count ? place->taken : place->lane);
        }
        hl_pg_array_end(p);
    }
}

static void add_proven(struct hl_pg_params *p, const struct hl_pg_places *places)
{
    hl_pg_array_begin(p, HL_PG_P_PROVEN, HL_PG_INT, places->proven);
    for (size_t i = 0; i < places->lanes.cap; i++) {
        const struct hl_pg_place *place = places->lanes.entries[i].value;
        if (place && place->health == HL_LANE_PROVEN)
            hl_pg_item_int(p, place->lane);
    }
    hl_pg_array_end(p);
}

static void wake(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    f->wake_at = (int)f->flight.n;
    s->dispatch.wake_ms = UINT64_MAX;
    hl_pg_params_clear(&s->params);
    hl_pg_add_int(&s->params, HL_PG_P_MAX, WAKE_MAX);
    hl_pg_link_add(&s->writer, &f->flight, HL_PG_DO_DELIVERY_WAKE, &s->params);
}

static void ask_deliveries(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    uint64_t free_places = s->dispatch.senders.total;
    f->n_leases = take_credit(&s->dispatch.senders, f->leases);
    f->lease_at = (int)f->flight.n;
    s->dispatch.is_leasing = true;
    struct hl_pg_params *p = &s->params;
    hl_pg_params_clear(p);
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(p, HL_PG_P_AFTER, s->dispatch.lane_at);
    hl_pg_add_int(p, HL_PG_P_MAX, f->n_leases);
    hl_pg_add_int(p, HL_PG_P_PER_LANE, s->places.per_lane);
    add_taken(p, &s->places);
    hl_pg_add_int(p, HL_PG_P_DELIVERY_ATTEMPTS, s->webhook_attempts);
    hl_pg_add_int(p, HL_PG_P_NOW_MS, hl_clock_wall_ms());
    hl_pg_add_int(p, HL_PG_P_FREE, (int64_t)free_places);
    hl_pg_add_int(p, HL_PG_P_UNPROVEN,
        (int64_t)hl_lane_unproven(
            s->places.unproven, s->places.leased - s->places.parked, s->all_places, free_places));
    add_proven(p, &s->places);
    hl_pg_add_id(p, HL_PG_P_SESSION, &s->member.session);
    hl_pg_link_add(&s->writer, &f->flight, HL_PG_DO_LEASE, p);
}

static void peek(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    f->peek_at = (int)f->flight.n;
    hl_pg_params_clear(&s->params);
    hl_pg_add_int(&s->params, HL_PG_P_MAX, PEEK_MAX);
    hl_pg_link_add(&s->writer, &f->flight, HL_PG_DO_QUEUE_PEEK, &s->params);
}

static bool wants_hints(const struct hl_pg_store *s)
{
    return s->dispatch.workers.n > 0;
}

/* Nothing has come for long, and nobody has said that something has: the peek says whether there is anything to
 * claim. */
static bool is_idle(const struct hl_pg_store *s)
{
    return s->dispatch.poll_wait_ms >= POLL_MAX_MS && s->dispatch.poll_ms != s->notify.looked_ms;
}

void hl_pg_dispatch_begin(struct hl_pg_store *s, struct hl_pg_flush *f, uint64_t now_ms)
{
    bool is_due = now_ms >= s->dispatch.poll_ms;
    bool accepts = f->n_ops > 0 && f->sorted[0]->how == &hl_pg_op_add;
    bool may_claim = s->dispatch.claims_more || accepts ||
                     (is_due && (!is_idle(s) || s->dispatch.refused_claims > 0));
    if (atomic_load(&s->is_stopping) || hl_pg_recall_waits(s))
        return;
    if (s->dispatch.workers.total > 0 && !s->dispatch.is_claiming && may_claim)
        ask_runs(s, f);
    if (s->dispatch.senders.total > 0 && !s->dispatch.is_leasing &&
        (s->dispatch.leases_more || is_due || now_ms >= s->dispatch.wake_ms)) {
        if (is_due || now_ms >= s->dispatch.wake_ms)
            wake(s, f);
        ask_deliveries(s, f);
    }
    if (is_due && wants_hints(s))
        peek(s, f);
    if (is_due)
        s->dispatch.poll_ms = now_ms + s->dispatch.poll_wait_ms;
}

uint64_t hl_pg_dispatch_due_ms(const struct hl_pg_store *s)
{
    bool is_wanted = s->dispatch.workers.n > 0 || s->dispatch.senders.total > 0;
    if (!is_wanted || !hl_pg_link_is_up(&s->writer) || !hl_pg_is_joined(s) || hl_pg_recall_waits(s))
        return UINT64_MAX;
    bool has_more =
        (s->dispatch.claims_more && s->dispatch.workers.total > 0 && !s->dispatch.is_claiming) ||
        (s->dispatch.leases_more && s->dispatch.senders.total > 0 && !s->dispatch.is_leasing);
    uint64_t wake_ms =
        s->dispatch.senders.total > 0 && !s->dispatch.is_leasing ? s->dispatch.wake_ms : UINT64_MAX;
    uint64_t due_ms = wake_ms < s->dispatch.poll_ms ? wake_ms : s->dispatch.poll_ms;
    return has_more ? 0 : due_ms;
}

/* --- withdrawing ---------------------------------------------------------------------------- */

static void answer_withdrawals(struct hl_pg_store *s)
{
    struct hl_msg *msg = s->dispatch.withdrawals, *next;
    s->dispatch.withdrawals = NULL;
    for (; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        hl_pg_reply(s, m, hl_operation_weigh(m), HL_OK);
    }
}

void hl_pg_dispatch_withdraw(struct hl_pg_store *s, struct hl_store_msg *m)
{
    hl_credit_withdraw(&s->dispatch.workers, m->reply_to);
    m->msg.next = s->dispatch.withdrawals;
    s->dispatch.withdrawals = &m->msg;
    if (!s->dispatch.is_claiming)
        answer_withdrawals(s);
}

/* --- after a flush -------------------------------------------------------------------------- */

static void take_wake(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    bool is_all = hl_pg_int(&row) < WAKE_MAX;
    int64_t next_ms = is_all ? hl_pg_int(&row) : 0;
    uint64_t due_ms = next_ms < 0 ? UINT64_MAX : hl_clock_mono_ms() + (uint64_t)next_ms;
    if (due_ms < s->dispatch.wake_ms)
        s->dispatch.wake_ms = due_ms;
}

static void take_peek(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    uint64_t n = 0, known = hl_counter_get(&s->gauges.queued_runs);
    for (int i = 0; i < HL_PRIORITIES; i++) {
        uint64_t of_class = (uint64_t)hl_pg_int(&row);
        hl_counter_set(&s->gauges.queued[i], of_class);
        n += of_class;
    }
    if (n < PEEK_MAX || known < n)
        hl_counter_set(&s->gauges.queued_runs, n);
    s->dispatch.claims_more |= n > 0;
    if (n > 0)
        s->dispatch.poll_wait_ms = HL_PG_POLL_MIN_MS;
}

static void take_held_back(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_quotas *quotas = atomic_load(&s->base.quotas);
    for (struct hl_quota *q = hl_quota_blocked_first(quotas); q; q = q->next)
        q->holder.has_queued = false;
    for (int i = 0; i < PQntuples(result); i++) {
        struct hl_pg_row row = {.result = result, .row = i};
        struct hl_quota *quota = hl_pg_quota_of(s, (uint64_t)hl_pg_int(&row));
        if (quota)
            quota->holder.has_queued = true;
        if (quota && hl_quota_room(quota) <= 0)
            hl_pg_permits_want(s, quota);
    }
}

void hl_pg_dispatch_end(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    bool was_poll = f->peek_at >= 0;
    if (was_poll)
        s->dispatch.poll_wait_ms =
            2 * s->dispatch.poll_wait_ms < POLL_MAX_MS ? 2 * s->dispatch.poll_wait_ms : POLL_MAX_MS;
    if (f->claim_at >= 0) {
        s->dispatch.refused_claims = 0;
        hl_pg_hand_out_runs(s, f);
        leave_reserved(s);
        if (f->held_back_at >= 0)
            take_held_back(s, f->flight.results[f->held_back_at]);
        s->dispatch.is_claiming = false;
        answer_withdrawals(s);
    }
    if (f->wake_at >= 0)
        take_wake(s, f->flight.results[f->wake_at]);
    if (f->lease_at >= 0) {
        s->dispatch.refused_leases = 0;
        hl_pg_hand_out_deliveries(s, f);
        s->dispatch.is_leasing = false;
    }
    if (was_poll)
        take_peek(s, f->flight.results[f->peek_at]);
    if (s->dispatch.claims_more && s->dispatch.workers.total == 0)
        hl_credit_hint(&s->dispatch.workers);
}

void hl_pg_dispatch_undo(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    for (uint32_t i = 0; i < f->n_claims; i++)
        hl_credit_put_back(&s->dispatch.workers, f->claims[i]);
    for (uint32_t i = 0; i < f->n_leases; i++)
        hl_credit_put_back(&s->dispatch.senders, f->leases[i]);
    if (f->claim_at >= 0)
        leave_reserved(s);
    s->dispatch.is_claiming &= f->claim_at < 0;
    if (!s->dispatch.is_claiming)
        answer_withdrawals(s);
    s->dispatch.is_leasing &= f->lease_at < 0;
    if (f->wake_at >= 0)
        s->dispatch.wake_ms = 0;
    hl_credit_return_unused(&s->dispatch.workers);
}

void hl_pg_dispatch_note_refusal(struct hl_pg_store *s, const struct hl_pg_flush *f)
{
    s->dispatch.refused_claims += f->claim_at >= 0;
    s->dispatch.refused_leases += f->lease_at >= 0;
}

bool hl_pg_dispatch_is_refused(const struct hl_pg_store *s)
{
    return s->dispatch.refused_claims >= REFUSED_MAX || s->dispatch.refused_leases >= REFUSED_MAX;
}
