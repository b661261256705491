/* loop_fixture.c - a loop that always returns from a turn, for a timer of the test's own goes off. */
#include "loop_fixture.h"

uv_loop_t loop;
struct hl_wheel wheel;
struct hl_reader reader;
static uv_timer_t pulse;

static void on_pulse(uv_timer_t *timer)
{
    (void)timer;
}

void loop_begin(void)
{
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(uv_timer_init(&loop, &pulse), 0);
    uv_timer_start(&pulse, on_pulse, 5, 5);
    cr_assert_eq(hl_wheel_init(&wheel, &loop), 0);
    cr_assert_eq(hl_reader_init(&reader, &loop), 0);
}

void loop_end(void)
{
    hl_wheel_close(&wheel);
    hl_reader_close(&reader);
    uv_close((uv_handle_t *)&pulse, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0, "a handle is still open");
    hl_reader_fini(&reader);
}

void loop_turns(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        uv_run(&loop, UV_RUN_ONCE);
}

bool loop_is_idle(void)
{
    uv_unref((uv_handle_t *)&pulse);
    bool is_alive = uv_loop_alive(&loop);
    uv_ref((uv_handle_t *)&pulse);
    return !is_alive;
}
