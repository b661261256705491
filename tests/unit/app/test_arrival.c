/* test_arrival.c - since when what is read from a pipe may have been in it. */
#include "app/arrival.h"

#include <criterion/criterion.h>

#include "base/clock.h"
#include "loop_fixture.h"

static struct hl_arrival arrival;
static struct hl_arrival_pipe one;

static void begin(void)
{
    loop_begin();
    hl_arrival_open(&arrival, &loop);
    one = (struct hl_arrival_pipe){.empty_us = 1};
}

static void end(void)
{
    hl_arrival_close(&arrival);
    loop_end();
}

TestSuite(arrival, .init = begin, .fini = end, .timeout = 180);

static void on_timer(uv_timer_t *timer)
{
    (void)timer;
}

/* The loop sleeps for so long, and is woken. */
static void sleep_ms(uint64_t ms)
{
    uv_timer_t timer;
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, on_timer, ms, 0);
    uv_run(&loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
}

Test(arrival, is_not_before_the_loop_looked_last)
{
    uint64_t begun_us = hl_clock_mono_us();
    sleep_ms(20);
    uint64_t from_us = hl_arrival_of(&arrival, &one, true);
    cr_assert(from_us >= begun_us, "it had slept: nothing was there when it began to");
    cr_assert(from_us <= hl_clock_mono_us());
    cr_assert(one.empty_us >= from_us);
}

Test(arrival, may_be_long_ago_when_the_loop_was_late)
{
    sleep_ms(1);
    uint64_t late_us = hl_clock_mono_us() + 30000;
    while (hl_clock_mono_us() < late_us)
        ; /* the loop has something else to do */
    uv_update_time(&loop);
    arrival.before_us = hl_clock_mono_us(); /* then it looks, and finds it there at once */
    cr_assert(hl_arrival_of(&arrival, &one, true) <= late_us - 29000);
}

Test(arrival, is_as_much_earlier_as_the_thread_waited_for_a_processor)
{
    sleep_ms(1);
    uint64_t woken_us = uv_now(&loop) * 1000;
    arrival.before_us =
        woken_us > 10000000 ? woken_us - 10000000 : 1; /* as if it had slept since then */
    cr_assert(hl_arrival_of(&arrival, &one, true) <= woken_us - HL_ARRIVAL_WAKE_US);
    one.empty_us = 1;
    arrival.waited_us -= 100000; /* and waited so long */
    uint64_t from_us = hl_arrival_of(&arrival, &one, true);
    cr_assert(from_us <= woken_us - 100000 - HL_ARRIVAL_WAKE_US);
    cr_assert(from_us >= arrival.before_us);
}

Test(arrival, goes_back_to_when_the_pipe_was_empty_last)
{
    sleep_ms(5);
    uint64_t from_us = hl_arrival_of(&arrival, &one, false);
    cr_assert(one.is_behind);
    sleep_ms(40);
    cr_assert_eq(hl_arrival_of(&arrival, &one, true), from_us, "it may have been behind the rest");
    cr_assert_not(one.is_behind);
    sleep_ms(5);
    cr_assert_gt(hl_arrival_of(&arrival, &one, true), from_us);
}

Test(arrival, keeps_no_loop_running)
{
    cr_assert_not(uv_has_ref((uv_handle_t *)&arrival.before));
    cr_assert_not(uv_has_ref((uv_handle_t *)&arrival.after));
}
