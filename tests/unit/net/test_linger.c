/* test_linger.c - how long a connection stays for a peer that still sends. */
#include "net/stream.h"

#include <criterion/criterion.h>

#include "loop_fixture.h"

static struct hl_timer timer;

static void on_fire(struct hl_timer *t)
{
    (void)t;
}

static void begin(void)
{
    loop_begin();
    hl_timer_init(&timer, on_fire);
}

static void end(void)
{
    hl_timer_fini(&wheel, &timer);
    loop_end();
}

TestSuite(linger, .init = begin, .fini = end);

Test(linger, moves_with_each_byte)
{
    struct hl_linger linger = {0};
    hl_linger_arm(&linger, &wheel, &timer);
    uint64_t deadline = timer.deadline;
    cr_assert_eq(deadline, uv_now(&loop) + HL_LINGER_SILENCE_MS);
    uv_sleep(5);
    uv_update_time(&loop);
    hl_linger_arm(&linger, &wheel, &timer);
    cr_assert_gt(timer.deadline, deadline);
}

Test(linger, has_an_end)
{
    struct hl_linger linger = {0};
    hl_linger_arm(&linger, &wheel, &timer);
    cr_assert_eq(linger.until, uv_now(&loop) + HL_LINGER_MOST_MS);
    linger.until = uv_now(&loop) + 10; /* it has lasted for nearly all of that */
    hl_linger_arm(&linger, &wheel, &timer);
    cr_assert_eq(timer.deadline, linger.until);
    linger.until = uv_now(&loop) - 1;
    hl_linger_arm(&linger, &wheel, &timer);
    cr_assert_leq(timer.deadline, uv_now(&loop) + 1);
}
