/* serve.c - what is handed out: runs to workers, deliveries to the sender, as far as their credit goes.
 *
 * What was accepted here is claimed with the next flush; what others accepted, or gave back, is looked
 * for every 250 ms while there is work and every 2 s while there is none. That nothing was found is an
 * answer and no error: others were faster. */
#include "store/postgres/serve.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/log.h"
#include "base/metric.h"
#include "loop/mailbox.h"
#include "store/backend.h"
#include "store/barred.h"
#include "store/claim.h"
#include "store/credit.h"
#include "store/gauges.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/lease.h"
#include "store/operation.h"
#include "store/postgres/bodies.h"
#include "store/postgres/deed.h"
#include "store/postgres/errand.h"
#include "store/postgres/link.h"
#include "store/postgres/live.h"
#include "store/postgres/op.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/push.h"
#include "store/postgres/reply.h"
#include "store/postgres/row.h"
#include "store/postgres/state.h"

#define POLL_MIN_MS 250
#define POLL_MAX_MS 2000
#define PEEK_MAX    1000
#define WAKE_MAX    500

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
    struct hl_priority_rule rule = s->rule;
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

/* No limit is as much as there may be at all. */
static int64_t room_of(const struct hl_quota *quota)
{
    uint32_t max = atomic_load(&quota->max_running);
    return max == 0 ? HL_LIMIT_MAX : (int64_t)max - (int64_t)atomic_load(&quota->running);
}

/* Accounts that have, or had, a max_running, and how many more this replica may have of each. The list may
 * grow meanwhile: at its beginning. */
static void add_room(struct hl_pg_store *s)
{
    struct hl_quota *first = hl_barred_first(atomic_load(&s->base.quotas));
    size_t n = 0;
    for (const struct hl_quota *q = first; q; q = q->next)
        n++;
    hl_pg_array_begin(&s->params, HL_PG_P_SUBJECT, HL_PG_INT, n);
    for (struct hl_quota *q = first; q; q = q->next)
        hl_pg_item_int(&s->params, (int64_t)hl_barred_subject(q, &s->keys.key));
    hl_pg_array_end(&s->params);
    hl_pg_array_begin(&s->params, HL_PG_P_ROOM, HL_PG_INT, n);
    for (const struct hl_quota *q = first; q; q = q->next)
        hl_pg_item_int(&s->params, room_of(q));
    hl_pg_array_end(&s->params);
}

static void ask_runs(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    uint32_t wanted[HL_PRIORITIES] = {0};
    f->n_claims = take_credit(&s->workers, f->claims);
    if (hl_barred_first(atomic_load(&s->base.quotas))) {
        hl_pg_params_clear(&s->params);
        hl_pg_link_add(&s->writer, &f->flight, HL_PG_DO_CLAIM_LOCK, &s->params);
    }
    f->claim_at = (int)f->flight.n;
    f->waiting = waiting_classes(s);
    s->is_claiming = true;
    share_out(s, f, wanted);
    hl_pg_params_clear(&s->params);
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(&s->params, HL_PG_P_MAX, f->n_claims);
    hl_pg_add_int(&s->params, HL_PG_P_NOW_MS, hl_clock_wall_ms());
    hl_pg_add_int(&s->params, HL_PG_P_HIGH, wanted[HL_PRIORITY_HIGH]);
    hl_pg_add_int(&s->params, HL_PG_P_NORMAL, wanted[HL_PRIORITY_NORMAL]);
    hl_pg_add_int(&s->params, HL_PG_P_LOW, wanted[HL_PRIORITY_LOW]);
    bool has_limits = hl_barred_first(atomic_load(&s->base.quotas));
    if (has_limits)
        add_room(s);
    hl_pg_add_id(&s->params, HL_PG_P_SESSION, &s->member.session);
    hl_pg_link_add(&s->writer, &f->flight,
        has_limits ? HL_PG_DO_RUN_CLAIM_WITHIN : HL_PG_DO_RUN_CLAIM, &s->params);
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
    s->wake_ms = UINT64_MAX;
    hl_pg_params_clear(&s->params);
    hl_pg_add_int(&s->params, HL_PG_P_MAX, WAKE_MAX);
    hl_pg_link_add(&s->writer, &f->flight, HL_PG_DO_DELIVERY_WAKE, &s->params);
}

static void ask_deliveries(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    uint64_t free_places = s->senders.total;
    f->n_leases = take_credit(&s->senders, f->leases);
    f->lease_at = (int)f->flight.n;
    s->is_leasing = true;
    struct hl_pg_params *p = &s->params;
    hl_pg_params_clear(p);
    hl_pg_add_id(p, HL_PG_P_ME, &s->member.id);
    hl_pg_add_int(p, HL_PG_P_AFTER, s->lane_at);
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
    return s->workers.n > 0;
}

/* Nothing has come for long, and nobody has said that something has: the peek says whether there is anything to claim. */
static bool is_idle(const struct hl_pg_store *s)
{
    return s->poll_wait_ms >= POLL_MAX_MS && s->poll_ms != s->notify.looked_ms;
}

void hl_pg_serve_begin(struct hl_pg_store *s, struct hl_pg_flush *f, uint64_t now_ms)
{
    bool is_due = now_ms >= s->poll_ms;
    bool accepts = f->n_ops > 0 && f->sorted[0]->how == &hl_pg_op_add;
    bool may_claim = s->claims_more || accepts || (is_due && !is_idle(s));
    if (atomic_load(&s->is_stopping) || hl_pg_recall_waits(s))
        return;
    if (s->workers.total > 0 && !s->is_claiming && may_claim)
        ask_runs(s, f);
    if (s->senders.total > 0 && !s->is_leasing &&
        (s->leases_more || is_due || now_ms >= s->wake_ms)) {
        if (is_due || now_ms >= s->wake_ms)
            wake(s, f);
        ask_deliveries(s, f);
    }
    if (is_due && wants_hints(s))
        peek(s, f);
    if (is_due)
        s->poll_ms = now_ms + s->poll_wait_ms;
}

uint64_t hl_pg_serve_due_ms(const struct hl_pg_store *s)
{
    bool is_wanted = s->workers.n > 0 || s->senders.total > 0;
    if (!is_wanted || !hl_pg_link_is_up(&s->writer) || !hl_pg_is_joined(s) || hl_pg_recall_waits(s))
        return UINT64_MAX;
    bool has_more = (s->claims_more && s->workers.total > 0 && !s->is_claiming) ||
                    (s->leases_more && s->senders.total > 0 && !s->is_leasing);
    uint64_t wake_ms = s->senders.total > 0 && !s->is_leasing ? s->wake_ms : UINT64_MAX;
    uint64_t due_ms = wake_ms < s->poll_ms ? wake_ms : s->poll_ms;
    return has_more ? 0 : due_ms;
}

/* --- runs ----------------------------------------------------------------------------------- */

/* What cannot be opened is another key's, or damaged: that is for somebody to look at, and it is not this
 * replica's to end. */
static void put_off(
    struct hl_pg_store *s, enum hl_pg_sql query, const struct hl_id *id, enum hl_err why)
{
    /* Nothing is wrong with it: the next beat gives it back, not before there may be some again. */
    if (why == HL_ERR_NOMEM || why == HL_ERR_EXHAUSTED)
        return;
    HL_LOG(ERROR,
        query == HL_PG_DO_RUN_PUT_OFF ? "store: a queued run's request cannot be read; put off"
                                      : "store: a webhook's records cannot be read; put off",
        HL_LOG_ID(query == HL_PG_DO_RUN_PUT_OFF ? "run_id" : "delivery_id", id),
        HL_LOG_TEXT("why", hl_err_text(why)));
    struct hl_pg_errand *e = hl_pg_errand_begin(s, NULL);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_array_begin(&s->params,
        query == HL_PG_DO_RUN_PUT_OFF ? HL_PG_P_RUN_ID : HL_PG_P_DELIVERY_ID, HL_PG_ID, 1);
    hl_pg_item_id(&s->params, id);
    hl_pg_array_end(&s->params);
    hl_pg_errand_add(e, query);
    hl_pg_errand_send(e);
}

/* Something that is handed out when its body is in a file here. */
struct parcel {
    struct hl_pg_store *store;
    struct hl_credit_note note;
    struct hl_claimed *claimed; /* one of the two */
    struct hl_leased *leased;
};

static void push_run(struct hl_pg_store *s, struct hl_credit_note note, struct hl_claimed *claimed)
{
    hl_mailbox_post(s->workers.accounts[note.account].box, &claimed->msg);
    hl_credit_spend(&s->workers, note);
}

/* Without its body it is not handed out, nor to who has stopped, nor when this replica counted as dead
 * meanwhile and others took it over: what is held goes back with what was never heard of. */
static void on_run_body(void *self, enum hl_err rc)
{
    struct parcel *parcel = self;
    struct hl_pg_store *s = parcel->store;
    struct hl_claimed *claimed = parcel->claimed;
    bool is_wanted = !hl_credit_is_void(&s->workers, parcel->note);
    if (!rc && is_wanted && hl_pg_live_has(&s->live, &claimed->run_id, claimed->epoch)) {
        push_run(s, parcel->note, claimed);
    } else {
        hl_pg_deed_undo(s, &claimed->run_id, claimed->epoch);
        if (hl_pg_live_end(&s->live, &claimed->run_id, claimed->epoch)) {
            hl_pg_bodies_drop(s, &claimed->run_id);
            s->member.has_strays |= !rc || rc == HL_ERR_CANCELLED;
        }
        hl_credit_put_back(&s->workers, parcel->note);
        if (rc && rc != HL_ERR_CANCELLED)
            put_off(s, HL_PG_DO_RUN_PUT_OFF, &claimed->run_id, rc);
        hl_claimed_free(claimed);
    }
    free(parcel);
}

static enum hl_err hand_out_run(
    struct hl_pg_store *s, struct hl_credit_note note, struct hl_claimed *claimed)
{
    struct hl_mailbox *box = s->workers.accounts[note.account].box;
    bool has_file = claimed->body.where == HL_BODY_FILE;
    struct parcel *parcel = has_file ? calloc(1, sizeof(*parcel)) : NULL;
    if (has_file && !parcel)
        return HL_ERR_NOMEM;
    hl_pg_live_put(&s->live, &claimed->run_id, claimed->epoch, box);
    hl_pg_deed_begin(s, &claimed->run_id, claimed->epoch);
    if (!has_file) {
        push_run(s, note, claimed);
        return HL_OK;
    }
    *parcel = (struct parcel){.store = s, .note = note, .claimed = claimed};
    hl_pg_bodies_get(s, &claimed->body, &claimed->run_id, on_run_body, parcel);
    return HL_OK;
}

/* The last three columns begin with these two. */
static enum hl_priority read_turn(const PGresult *result, int row, int64_t *turn)
{
    struct hl_pg_row last = {.result = result, .row = row, .column = PQnfields(result) - 3};
    int class = (int)hl_pg_int(&last);
    *turn = hl_pg_int(&last);
    return hl_priority_of(class);
}

/* The last is its subject: whose account may have a limit takes a place of it. */
static void take_place(
    struct hl_pg_store *s, const struct hl_pg_row *row, struct hl_claimed *claimed)
{
    struct hl_pg_row last = *row;
    last.column = PQnfields(row->result) - 1;
    claimed->quota =
        hl_barred_find(atomic_load(&s->base.quotas), &s->keys.key, (uint64_t)hl_pg_int(&last));
    if (claimed->quota)
        hl_quota_occupy(claimed->quota);
}

static void count_down(struct hl_counter *counter, uint64_t n)
{
    uint64_t known = hl_counter_get(counter);
    hl_counter_sub(counter, n < known ? n : known);
}

/* How many of each class were claimed, and up to which turn: for the gauges, for what is accepted next, and for the
 * rule, as far as nobody wished. */
static void note_classes(struct hl_pg_store *s, const struct hl_pg_flush *f, const PGresult *result)
{
    uint32_t wished[HL_PRIORITIES] = {0};
    for (uint32_t i = 0; i < f->n_claims; i++)
        if (f->claims[i].has_wish)
            wished[f->claims[i].wish]++;
    for (int i = PQntuples(result) - 1; i >= 0; i--) {
        int64_t turn;
        enum hl_priority class = read_turn(result, i, &turn);
        count_down(&s->gauges.queued[class], 1);
        if (turn > s->turns[class])
            s->turns[class] = turn;
        if (wished[class] > 0)
            wished[class]--;
        else
            s->rule = hl_priority_note(s->rule, f->waiting, class);
    }
}

static void hand_out_runs(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    const PGresult *result = f->flight.results[f->claim_at];
    uint32_t n = (uint32_t)PQntuples(result), used = 0;
    count_down(&s->gauges.queued_runs, n);
    note_classes(s, f, result);
    for (uint32_t i = 0; i < n; i++) {
        struct hl_pg_row row = {.result = result, .row = (int)i};
        struct hl_claimed *claimed = NULL;
        struct hl_id run_id;
        hl_pg_id(&row, &run_id);
        row.column = 0;
        enum hl_err err = hl_pg_read_claimed(s, &row, &claimed);
        if (!err)
            take_place(s, &row, claimed);
        if (!err)
            err = hand_out_run(s, f->claims[used], claimed);
        used += !err;
        if (!err)
            continue;
        hl_claimed_free(claimed);
        put_off(s, HL_PG_DO_RUN_PUT_OFF, &run_id, err);
    }
    for (uint32_t i = used; i < f->n_claims; i++)
        hl_credit_put_back(&s->workers, f->claims[i]);
    s->claims_more = n == f->n_claims;
    if (n < f->n_claims)
        hl_credit_return_unused(&s->workers);
    if (n > 0)
        s->poll_wait_ms = POLL_MIN_MS;
}

/* --- deliveries ----------------------------------------------------------------------------- */

static struct hl_pg_lease lease_of(const struct hl_leased *leased)
{
    return (struct hl_pg_lease){leased->delivery_id, leased->round, leased->n};
}

static void push_delivery(
    struct hl_pg_store *s, struct hl_credit_note note, struct hl_leased *leased)
{
    hl_mailbox_post(s->senders.accounts[note.account].box, &leased->msg);
    hl_credit_spend(&s->senders, note);
}

static void on_delivery_body(void *self, enum hl_err rc)
{
    struct parcel *parcel = self;
    struct hl_pg_store *s = parcel->store;
    struct hl_leased *leased = parcel->leased;
    bool is_wanted = !hl_credit_is_void(&s->senders, parcel->note);
    if (!rc && is_wanted && hl_pg_places_has(&s->places, lease_of(leased))) {
        push_delivery(s, parcel->note, leased);
    } else {
        if (hl_pg_places_leave(&s->places, lease_of(leased)))
            hl_pg_bodies_drop(s, &leased->delivery_id);
        hl_credit_put_back(&s->senders, parcel->note);
        if (rc && rc != HL_ERR_CANCELLED)
            put_off(s, HL_PG_DO_DELIVERY_PUT_OFF, &leased->delivery_id, rc);
        hl_leased_free(leased);
    }
    free(parcel);
}

static enum hl_err hand_out_delivery(
    struct hl_pg_store *s, struct hl_credit_note note, struct hl_leased *leased)
{
    bool has_file = leased->outcome.body.where == HL_BODY_FILE;
    if (hl_credit_is_void(&s->senders, note))
        return HL_ERR_CANCELLED;
    struct parcel *parcel = has_file ? calloc(1, sizeof(*parcel)) : NULL;
    if (has_file && !parcel)
        return HL_ERR_NOMEM;
    enum hl_err err = hl_pg_places_take(&s->places, lease_of(leased), (int64_t)leased->lane);
    if (err) {
        free(parcel);
    } else if (!has_file) {
        push_delivery(s, note, leased);
    } else {
        *parcel = (struct parcel){.store = s, .note = note, .leased = leased};
        hl_pg_bodies_get(s, &leased->outcome.body, &leased->delivery_id, on_delivery_body, parcel);
    }
    return err;
}

static void take_wake(struct hl_pg_store *s, const PGresult *result)
{
    struct hl_pg_row row = {.result = result};
    bool is_all = hl_pg_int(&row) < WAKE_MAX;
    int64_t next_ms = is_all ? hl_pg_int(&row) : 0;
    uint64_t due_ms = next_ms < 0 ? UINT64_MAX : hl_clock_mono_ms() + (uint64_t)next_ms;
    if (due_ms < s->wake_ms)
        s->wake_ms = due_ms;
}

static void hand_out_deliveries(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    const PGresult *result = f->flight.results[f->lease_at];
    uint32_t n = (uint32_t)PQntuples(result), used = 0;
    int64_t began_at = s->lane_at;
    for (uint32_t i = 0; i < n; i++) {
        struct hl_pg_row row = {.result = result, .row = (int)i};
        struct hl_id delivery_id;
        hl_pg_id(&row, &delivery_id);
        row.column = 2;
        s->lane_at = hl_pg_int(&row);
        row.column = 0;
        struct hl_leased *leased = NULL;
        enum hl_err err = hl_pg_read_leased(s, &row, &leased);
        if (!err)
            err = hand_out_delivery(s, f->leases[used], leased);
        used += !err;
        if (!err)
            continue;
        hl_leased_free(leased);
        if (err != HL_ERR_CANCELLED)
            put_off(s, HL_PG_DO_DELIVERY_PUT_OFF, &delivery_id, err);
    }
    for (uint32_t i = used; i < f->n_leases; i++)
        hl_credit_put_back(&s->senders, f->leases[i]);
    /* Where nothing was found the lanes before have their turn. */
    s->leases_more = n > 0 || began_at != INT64_MIN;
    if (n == 0)
        s->lane_at = INT64_MIN;
    if (n > 0)
        s->poll_wait_ms = POLL_MIN_MS;
}

/* --- withdrawing ---------------------------------------------------------------------------- */

static void answer_withdrawals(struct hl_pg_store *s)
{
    struct hl_msg *msg = s->withdrawals, *next;
    s->withdrawals = NULL;
    for (; msg; msg = next) {
        struct hl_store_msg *m = (struct hl_store_msg *)msg;
        next = msg->next;
        hl_pg_reply(s, m, hl_operation_weigh(m), HL_OK);
    }
}

void hl_pg_serve_withdraw(struct hl_pg_store *s, struct hl_store_msg *m)
{
    hl_credit_withdraw(&s->workers, m->reply_to);
    m->msg.next = s->withdrawals;
    s->withdrawals = &m->msg;
    if (!s->is_claiming)
        answer_withdrawals(s);
}

/* --- after a flush -------------------------------------------------------------------------- */

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
    s->claims_more |= n > 0;
    if (n > 0)
        s->poll_wait_ms = POLL_MIN_MS;
}

void hl_pg_serve_end(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    bool was_poll = f->peek_at >= 0;
    if (was_poll)
        s->poll_wait_ms = 2 * s->poll_wait_ms < POLL_MAX_MS ? 2 * s->poll_wait_ms : POLL_MAX_MS;
    if (f->claim_at >= 0) {
        hand_out_runs(s, f);
        s->is_claiming = false;
        answer_withdrawals(s);
    }
    if (f->wake_at >= 0)
        take_wake(s, f->flight.results[f->wake_at]);
    if (f->lease_at >= 0) {
        hand_out_deliveries(s, f);
        s->is_leasing = false;
    }
    if (was_poll)
        take_peek(s, f->flight.results[f->peek_at]);
    if (s->claims_more && s->workers.total == 0)
        hl_credit_hint(&s->workers);
}

void hl_pg_serve_undo(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    for (uint32_t i = 0; i < f->n_claims; i++)
        hl_credit_put_back(&s->workers, f->claims[i]);
    for (uint32_t i = 0; i < f->n_leases; i++)
        hl_credit_put_back(&s->senders, f->leases[i]);
    s->is_claiming &= f->claim_at < 0;
    if (!s->is_claiming)
        answer_withdrawals(s);
    s->is_leasing &= f->lease_at < 0;
    if (f->wake_at >= 0)
        s->wake_ms = 0;
    hl_credit_return_unused(&s->workers);
}
