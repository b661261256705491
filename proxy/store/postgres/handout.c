/* handout.c - what was claimed and leased goes to workers and the sender; a long body first becomes a file here. */
#include "store/postgres/thread.h"

#include <stdlib.h>

#include "base/id_map.h"
#include "base/log.h"
#include "base/metric.h"
#include "loop/mailbox.h"
#include "store/backend.h"
#include "store/quota.h"
#include "store/claim.h"
#include "store/credit.h"
#include "store/gauges.h"
#include "store/key.h"
#include "store/lease.h"
#include "store/postgres/bodies.h"
#include "store/postgres/diary.h"
#include "store/postgres/run_map.h"
#include "store/postgres/param.h"
#include "store/postgres/places.h"
#include "store/postgres/row.h"

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
        query == HL_PG_DO_RUN_PUT_OFF ? "store: a queued run's request cannot be read; postponed"
                                      : "store: a webhook's records cannot be read; postponed",
        HL_LOG_ID(query == HL_PG_DO_RUN_PUT_OFF ? "run_id" : "delivery_id", id),
        HL_LOG_TEXT("why", hl_err_text(why)));
    struct hl_pg_transaction *e = hl_pg_transaction_begin(s, NULL);
    if (!e)
        return;
    hl_pg_add_id(&s->params, HL_PG_P_ME, &s->member.id);
    hl_pg_array_begin(&s->params,
        query == HL_PG_DO_RUN_PUT_OFF ? HL_PG_P_RUN_ID : HL_PG_P_DELIVERY_ID, HL_PG_ID, 1);
    hl_pg_item_id(&s->params, id);
    hl_pg_array_end(&s->params);
    hl_pg_transaction_add(e, query);
    hl_pg_transaction_send(e);
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
    hl_credit_count_claim(&s->dispatch.workers, note);
    hl_mailbox_post(s->dispatch.workers.accounts[note.account].box, &claimed->msg);
    hl_credit_spend(&s->dispatch.workers, note);
}

/* Without its body it is not handed out, nor to who has stopped, nor when this replica counted as dead
 * meanwhile and others took it over: what is held goes back with what was never heard of. */
static void on_run_body(void *self, enum hl_err rc)
{
    struct parcel *parcel = self;
    struct hl_pg_store *s = parcel->store;
    struct hl_claimed *claimed = parcel->claimed;
    bool is_wanted = !hl_credit_is_void(&s->dispatch.workers, parcel->note);
    if (!rc && is_wanted && hl_pg_run_map_has(&s->runs, &claimed->run_id, claimed->epoch)) {
        push_run(s, parcel->note, claimed);
    } else {
        hl_pg_diary_undo(s, &claimed->run_id, claimed->epoch);
        if (hl_pg_run_map_end(&s->runs, &claimed->run_id, claimed->epoch)) {
            hl_pg_bodies_drop(s, &claimed->run_id);
            s->member.has_strays |= !rc || rc == HL_ERR_CANCELLED;
        }
        hl_credit_put_back(&s->dispatch.workers, parcel->note);
        if (rc && rc != HL_ERR_CANCELLED)
            put_off(s, HL_PG_DO_RUN_PUT_OFF, &claimed->run_id, rc);
        hl_claimed_free(claimed);
    }
    free(parcel);
}

static enum hl_err hand_out_run(
    struct hl_pg_store *s, struct hl_credit_note note, struct hl_claimed *claimed)
{
    struct hl_mailbox *box = s->dispatch.workers.accounts[note.account].box;
    bool has_file = claimed->body.where == HL_BODY_FILE;
    struct parcel *parcel = has_file ? calloc(1, sizeof(*parcel)) : NULL;
    if (has_file && !parcel)
        return HL_ERR_NOMEM;
    hl_pg_run_map_put(&s->runs, &claimed->run_id, claimed->epoch, box);
    hl_pg_diary_begin(s, &claimed->run_id, claimed->epoch);
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

/* The last is its subject: whose account may have a limit takes a place of it, one that was reserved or, if a caller has
 * left it, another. */
static void take_place(
    struct hl_pg_store *s, const struct hl_pg_row *row, struct hl_claimed *claimed)
{
    struct hl_pg_row last = *row;
    last.column = PQnfields(row->result) - 1;
    struct hl_quota *quota = hl_pg_quota_of(s, (uint64_t)hl_pg_int(&last));
    bool is_reserved = quota && quota->holder.reserved > 0;
    if (is_reserved)
        quota->holder.reserved--;
    claimed->has_no_place = quota && !is_reserved && !hl_quota_enter(quota);
    claimed->quota = claimed->has_no_place ? NULL : quota;
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
        if (turn > s->dispatch.turns[class])
            s->dispatch.turns[class] = turn;
        if (wished[class] > 0)
            wished[class]--;
        else
            s->dispatch.rule = hl_priority_note(s->dispatch.rule, f->waiting, class);
    }
}

/* One that was put off is among those that wait, unless the database has been looked at since it was due. */
static void note_claimed(struct hl_pg_store *s, const struct hl_claimed *claimed)
{
    bool waited = claimed && claimed->waits_ms > 0 && hl_counter_get(&s->gauges.waiting_runs) > 0;
    count_down(waited ? &s->gauges.waiting_runs : &s->gauges.queued_runs, 1);
}

void hl_pg_hand_out_runs(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    const PGresult *result = f->flight.results[f->claim_at];
    uint32_t n = (uint32_t)PQntuples(result), used = 0;
    note_classes(s, f, result);
    for (uint32_t i = 0; i < n; i++) {
        struct hl_pg_row row = {.result = result, .row = (int)i};
        struct hl_claimed *claimed = NULL;
        struct hl_id run_id;
        hl_pg_id(&row, &run_id);
        row.column = 0;
        enum hl_err err = hl_pg_read_claimed(s, &row, &claimed);
        note_claimed(s, claimed);
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
        hl_credit_put_back(&s->dispatch.workers, f->claims[i]);
    s->dispatch.claims_more = n == f->n_claims;
    if (n < f->n_claims)
        hl_credit_return_unused(&s->dispatch.workers);
    if (n > 0)
        s->dispatch.poll_wait_ms = HL_PG_POLL_MIN_MS;
}

/* --- deliveries ----------------------------------------------------------------------------- */

static struct hl_pg_lease lease_of(const struct hl_leased *leased)
{
    return (struct hl_pg_lease){leased->delivery_id, leased->round, leased->n};
}

static void push_delivery(
    struct hl_pg_store *s, struct hl_credit_note note, struct hl_leased *leased)
{
    hl_mailbox_post(s->dispatch.senders.accounts[note.account].box, &leased->msg);
    hl_credit_spend(&s->dispatch.senders, note);
}

static void on_delivery_body(void *self, enum hl_err rc)
{
    struct parcel *parcel = self;
    struct hl_pg_store *s = parcel->store;
    struct hl_leased *leased = parcel->leased;
    bool is_wanted = !hl_credit_is_void(&s->dispatch.senders, parcel->note);
    if (!rc && is_wanted && hl_pg_places_has(&s->places, lease_of(leased))) {
        push_delivery(s, parcel->note, leased);
    } else {
        if (hl_pg_places_leave(&s->places, lease_of(leased)))
            hl_pg_bodies_drop(s, &leased->delivery_id);
        hl_credit_put_back(&s->dispatch.senders, parcel->note);
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
    if (hl_credit_is_void(&s->dispatch.senders, note))
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

/* Of what LEASE says; of a delivery that cannot be read too. */
#define LANE_AT 3

void hl_pg_hand_out_deliveries(struct hl_pg_store *s, struct hl_pg_flush *f)
{
    const PGresult *result = f->flight.results[f->lease_at];
    uint32_t n = (uint32_t)PQntuples(result), used = 0;
    int64_t began_at = s->dispatch.lane_at;
    for (uint32_t i = 0; i < n; i++) {
        struct hl_pg_row row = {.result = result, .row = (int)i};
        struct hl_id delivery_id;
        hl_pg_id(&row, &delivery_id);
        row.column = LANE_AT;
        s->dispatch.lane_at = hl_pg_int(&row);
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
        hl_credit_put_back(&s->dispatch.senders, f->leases[i]);
    /* Where nothing was found the lanes before have their turn. */
    s->dispatch.leases_more = n > 0 || began_at != INT64_MIN;
    if (n == 0)
        s->dispatch.lane_at = INT64_MIN;
    if (n > 0)
        s->dispatch.poll_wait_ms = HL_PG_POLL_MIN_MS;
}
