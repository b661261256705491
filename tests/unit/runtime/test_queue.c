/* Calls wait in one queue, threads and an event loop take them, and the places bound both. */
#include "core/queue.h"

#include <criterion/criterion.h>
#include <poll.h>

static struct hl_queue queue;
static struct hl_queue_entry plain[3], async[3];

static void open_with(uint32_t places)
{
    cr_assert_eq(hl_queue_init(&queue, places), HL_OK);
    for (size_t i = 0; i < HL_ARRAY_LEN(plain); i++) {
        hl_list_init(&plain[i].node);
        hl_list_init(&async[i].node);
        async[i].is_async = true;
    }
}

static bool is_ringing(void)
{
    struct pollfd bell = {.fd = queue.bell, .events = POLLIN};
    return poll(&bell, 1, 0) == 1;
}

Test(queue, rings_for_an_async_entry_and_not_for_another)
{
    open_with(2);
    hl_queue_add(&queue, &plain[0]);
    cr_assert_not(is_ringing());
    cr_assert_eq(hl_queue_take(&queue), &plain[0]);
    hl_queue_add(&queue, &async[0]);
    cr_assert(is_ringing());
    cr_assert_not(hl_queue_hear(&queue), "nothing happened to one that was taken");
    cr_assert_not(is_ringing());
    cr_assert_eq(hl_queue_take_async(&queue), &async[0]);
    hl_queue_fini(&queue);
}

Test(queue, gives_out_in_the_order_of_arrival)
{
    open_with(8);
    hl_queue_add(&queue, &plain[0]);
    hl_queue_add(&queue, &async[0]);
    hl_queue_add(&queue, &plain[1]);
    cr_assert_null(hl_queue_take_async(&queue), "it is not its turn");
    cr_assert_not(is_ringing());
    cr_assert_eq(hl_queue_take(&queue), &plain[0]);
    cr_assert(is_ringing(), "now it is");
    cr_assert_eq(hl_queue_take_async(&queue), &async[0]);
    cr_assert_eq(hl_queue_take(&queue), &plain[1]);
    hl_queue_fini(&queue);
}

Test(queue, places_bound_both_kinds_together)
{
    open_with(1);
    hl_queue_add(&queue, &async[0]);
    hl_queue_add(&queue, &async[1]);
    hl_queue_add(&queue, &plain[0]);
    cr_assert_eq(hl_queue_take_async(&queue), &async[0]);
    hl_queue_hear(&queue);
    cr_assert_null(hl_queue_take_async(&queue), "the only place is taken");
    cr_assert_not(is_ringing());
    hl_queue_leave(&queue);
    cr_assert(is_ringing());
    cr_assert_eq(hl_queue_take_async(&queue), &async[1]);
    hl_queue_leave(&queue);
    cr_assert_eq(hl_queue_take(&queue), &plain[0]);
    hl_queue_fini(&queue);
}

Test(queue, one_that_leaves_makes_it_the_turn_of_the_next)
{
    open_with(1);
    hl_queue_add(&queue, &plain[0]);
    hl_queue_add(&queue, &async[0]);
    cr_assert(hl_queue_remove(&queue, &plain[0]));
    cr_assert_not(hl_queue_remove(&queue, &plain[0]));
    cr_assert(is_ringing());
    cr_assert_eq(hl_queue_take_async(&queue), &async[0]);
    hl_queue_fini(&queue);
}

Test(queue, tells_news_once)
{
    open_with(1);
    hl_queue_tell(&queue);
    cr_assert(is_ringing());
    cr_assert(hl_queue_hear(&queue));
    cr_assert_not(is_ringing());
    cr_assert_not(hl_queue_hear(&queue));
    hl_queue_fini(&queue);
}

Test(queue, closed_it_gives_out_what_waits_and_then_nothing)
{
    open_with(2);
    hl_queue_add(&queue, &plain[0]);
    hl_queue_close(&queue);
    cr_assert_eq(hl_queue_take(&queue), &plain[0]);
    cr_assert_null(hl_queue_take(&queue));
    hl_queue_fini(&queue);
}
