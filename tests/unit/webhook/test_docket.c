/* test_docket.c - whatever way a parcel goes, lists, counts and gauges say the same. */
#include "base/metric.h"
#include "webhook/docket.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/clock.h"
#include "webhook/sender.h"

static struct hl_sender_gauges gauges;
static struct hl_docket docket;

static void setup(void)
{
    hl_docket_init(&docket, &gauges);
}

static void teardown(void)
{
    hl_docket_fini(&docket);
}

TestSuite(docket, .init = setup, .fini = teardown);

static struct hl_leased *add_lease(void)
{
    struct hl_leased *l = calloc(1, sizeof *l);
    l->msg.type = HL_STORE_LEASED;
    l->n = 1;
    l->outcome.body =
        (struct hl_body){.where = HL_BODY_INLINE, .size = 5000, .bytes = malloc(5000)};
    hl_docket_add(&docket, &l->msg);
    return l;
}

static void expect(uint64_t in_flight, uint64_t waiting)
{
    cr_assert_eq(hl_counter_get(&gauges.in_flight), in_flight);
    cr_assert_eq(docket.placed + docket.placed_retries, in_flight);
    cr_assert_eq(hl_counter_get(&gauges.waiting_retry), waiting);
    cr_assert_eq(hl_docket_waiting(&docket), waiting);
}

Test(docket, adopts_leases_in_their_order)
{
    struct hl_leased *leased[3];
    for (size_t i = 0; i < 3; i++)
        leased[i] = add_lease();
    cr_assert_eq(docket.backlog_count, 3);
    expect(0, 0);
    for (size_t i = 0; i < 3; i++) {
        struct hl_parcel *p = hl_docket_adopt(&docket);
        cr_assert_eq(p->leased, leased[i]);
        expect(i + 1, 0);
    }
    cr_assert_null(hl_docket_adopt(&docket));
    add_lease();
    cr_assert_not_null(hl_docket_adopt(&docket), "the backlog is usable after it was empty");
}

Test(docket, counts_a_place_and_a_wait_by_the_state)
{
    add_lease();
    struct hl_parcel *p = hl_docket_adopt(&docket);
    expect(1, 0);
    hl_docket_move(&docket, p, HL_PARCEL_RESOLVING);
    expect(1, 0);
    hl_docket_move(&docket, p, HL_PARCEL_UNRESOLVED);
    expect(0, 1);
    hl_docket_move(&docket, p, HL_PARCEL_DUE);
    hl_docket_move(&docket, p, HL_PARCEL_ASKING);
    hl_docket_move(&docket, p, HL_PARCEL_SIGNING);
    hl_docket_move(&docket, p, HL_PARCEL_SENDING);
    expect(1, 0);
    hl_docket_move_for(&docket, p, HL_PARCEL_WAITING, 1000);
    expect(0, 1);
    cr_assert_null(hl_docket_take_due(&docket, hl_clock_mono_ms(), false));
    cr_assert_eq(hl_docket_take_due(&docket, hl_clock_mono_ms() + 1200, false), p);
    hl_docket_move(&docket, p, HL_PARCEL_DUE);
    expect(0, 1);
    hl_docket_move(&docket, p, HL_PARCEL_QUEUED);
    expect(0, 1);
    hl_docket_move(&docket, p, HL_PARCEL_DUE);
    p->is_retry = true;
    hl_docket_move(&docket, p, HL_PARCEL_ASKING);
    expect(1, 0);
    cr_assert_eq(docket.placed, 0, "a retry has a place of its own");
    hl_docket_move(&docket, p, HL_PARCEL_SIGNING);
    expect(1, 0);
    hl_docket_move(&docket, p, HL_PARCEL_RECORDING);
    expect(0, 0);
    hl_docket_move_for(&docket, p, HL_PARCEL_UNRECORDED, 1000);
    expect(0, 0);
    cr_assert_eq(hl_docket_take_due(&docket, 0, true), p);
    hl_docket_move(&docket, p, HL_PARCEL_RECORDING);
    hl_docket_drop(&docket, p);
    expect(0, 0);
    for (size_t state = 0; state < HL_PARCEL_STATE_COUNT; state++)
        cr_assert_eq(docket.counts[state], 0);
}

Test(docket, frees_what_is_left_in_any_state)
{
    for (size_t i = 0; i < 4; i++)
        add_lease();
    hl_docket_adopt(&docket);
    hl_docket_move(&docket, hl_docket_adopt(&docket), HL_PARCEL_RECORDING);
    hl_docket_move_for(&docket, hl_docket_adopt(&docket), HL_PARCEL_WAITING, 1000);
}
