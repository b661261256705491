/* test_due_ring.c - nothing is taken early, nothing is forgotten. */
#include "base/compiler.h"
#include "webhook/due_ring.h"

#include <criterion/criterion.h>

#define START 1234567

static struct hl_due_ring due;

static void setup(void)
{
    hl_due_ring_init(&due, START);
}

TestSuite(due_ring, .init = setup);

Test(due_ring, gives_a_node_at_its_time_and_not_before)
{
    for (uint64_t wait = 0; wait <= HL_DUE_MAX_MS; wait += 37) {
        struct hl_list node;
        uint64_t now = START + wait * 1000;
        cr_assert_null(hl_due_ring_take(&due, now));
        hl_list_init(&node);
        hl_due_ring_add(&due, &node, now, wait);
        if (wait > 0)
            cr_assert_null(hl_due_ring_take(&due, now + wait - 1));
        cr_assert_eq(hl_due_ring_take(&due, now + wait + HL_DUE_TICK_MS), &node, "%lu", wait);
        cr_assert_null(hl_due_ring_take(&due, now + wait + HL_DUE_TICK_MS));
    }
}

Test(due_ring, says_how_long_nothing_happens)
{
    struct hl_list early, late;
    cr_assert_eq(hl_due_ring_wait_ms(&due, START), UINT64_MAX);
    hl_list_init(&early);
    hl_list_init(&late);
    hl_due_ring_add(&due, &late, START, 5000);
    hl_due_ring_add(&due, &early, START, 700);
    uint64_t wait = hl_due_ring_wait_ms(&due, START);
    cr_assert(wait >= 700 && wait <= 700 + HL_DUE_TICK_MS);
    cr_assert_eq(hl_due_ring_take(&due, START + wait), &early);
    wait = hl_due_ring_wait_ms(&due, START + wait);
    cr_assert(wait >= 4200 && wait <= 4300 + HL_DUE_TICK_MS);
    cr_assert_eq(hl_due_ring_wait_ms(&due, START + 99999), 0);
}

Test(due_ring, gives_all_to_a_thread_that_slept_long)
{
    struct hl_list nodes[60];
    for (size_t i = 0; i < HL_ARRAY_LEN(nodes); i++) {
        hl_list_init(&nodes[i]);
        hl_due_ring_add(&due, &nodes[i], START, i * 100);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(nodes); i++)
        cr_assert_eq(hl_due_ring_take(&due, START + 3600000), &nodes[i]);
    cr_assert_null(hl_due_ring_take(&due, START + 3600000));
}

Test(due_ring, can_be_emptied_and_left)
{
    struct hl_list a, b;
    hl_list_init(&a);
    hl_list_init(&b);
    hl_due_ring_add(&due, &a, START, 5000);
    hl_due_ring_add(&due, &b, START, 1000);
    hl_list_remove(&b);
    cr_assert_eq(hl_due_ring_take_any(&due), &a);
    cr_assert_null(hl_due_ring_take_any(&due));
}
