#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "loop/wheel.h"

struct alarm {
    struct hl_timer timer;
    uint64_t fired_at; /* 0: not yet */
    int count;
    void (*then)(struct alarm *alarm);
};

static uv_loop_t loop;
static struct hl_wheel wheel;

static void on_fire(struct hl_timer *timer)
{
    struct alarm *alarm = HL_CONTAINER_OF(timer, struct alarm, timer);
    alarm->fired_at = uv_now(&loop);
    alarm->count++;
    if (alarm->then)
        alarm->then(alarm);
}

static void init_alarm(struct alarm *alarm)
{
    *alarm = (struct alarm){.fired_at = 0};
    hl_timer_init(&alarm->timer, on_fire);
}

static void begin(void)
{
    uv_loop_init(&loop);
    cr_assert_eq(hl_wheel_init(&wheel, &loop), 0);
}

static void end(void)
{
    hl_wheel_close(&wheel);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(wheel, .init = begin, .fini = end, .timeout = 180);

Test(wheel, fires_each_once_never_early)
{
    enum { N = 300 };
    static struct alarm alarms[N];
    uint64_t start = uv_now(&loop);
    for (uint64_t i = 0; i < N; i++) {
        init_alarm(&alarms[i]);
        hl_timer_arm(&wheel, &alarms[i].timer, i);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (uint64_t i = 0; i < N; i++) {
        cr_assert_eq(alarms[i].count, 1);
        cr_assert_geq(alarms[i].fired_at, start + i);
        cr_assert_not(hl_timer_is_armed(&alarms[i].timer));
    }
    cr_assert_eq(wheel.armed, 0);
}

Test(wheel, waits_with_one_timer_for_the_earliest_deadline)
{
    struct alarm far, near;
    init_alarm(&far);
    init_alarm(&near);
    hl_timer_arm(&wheel, &far.timer, 3600 * 1000);
    cr_assert_gt(uv_timer_get_due_in(&wheel.timer), 19 * 1000);
    hl_timer_arm(&wheel, &near.timer, 100);
    uint64_t due = uv_timer_get_due_in(&wheel.timer);
    cr_assert(due >= 100 && due <= 100 + HL_WHEEL_TICK_MS);
    while (near.count == 0)
        uv_run(&loop, UV_RUN_ONCE);
    cr_assert_eq(far.count, 0);
    cr_assert_gt(uv_timer_get_due_in(&wheel.timer), 19 * 1000);
    hl_timer_fini(&wheel, &far.timer);
    cr_assert_not(uv_is_active((uv_handle_t *)&wheel.timer));
}

Test(wheel, moves_a_deadline_later_without_touching_the_slot)
{
    struct alarm alarm;
    uint64_t start = uv_now(&loop);
    init_alarm(&alarm);
    hl_timer_arm(&wheel, &alarm.timer, 40);
    uint64_t placed = alarm.timer.placed;
    hl_timer_arm(&wheel, &alarm.timer, 200);
    cr_assert_eq(alarm.timer.placed, placed);
    cr_assert_eq(wheel.armed, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 1);
    cr_assert_geq(alarm.fired_at, start + 200);
}

Test(wheel, moves_a_deadline_earlier)
{
    struct alarm alarm;
    init_alarm(&alarm);
    hl_timer_arm(&wheel, &alarm.timer, 15 * 1000);
    hl_timer_arm(&wheel, &alarm.timer, 50);
    uint64_t due = uv_timer_get_due_in(&wheel.timer);
    cr_assert_leq(due, 50 + HL_WHEEL_TICK_MS);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 1);
}

Test(wheel, does_not_fire_what_was_disarmed_and_then_stops)
{
    struct alarm alarm;
    init_alarm(&alarm);
    hl_timer_arm(&wheel, &alarm.timer, 30);
    hl_timer_disarm(&alarm.timer);
    cr_assert_not(hl_timer_is_armed(&alarm.timer));
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 0);
    cr_assert_eq(wheel.armed, 0);
}

Test(wheel, fires_what_was_disarmed_and_armed_again)
{
    struct alarm alarm;
    uint64_t start = uv_now(&loop);
    init_alarm(&alarm);
    hl_timer_arm(&wheel, &alarm.timer, 30);
    hl_timer_disarm(&alarm.timer);
    hl_timer_arm(&wheel, &alarm.timer, 90);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 1);
    cr_assert_geq(alarm.fired_at, start + 90);
}

static struct alarm *victim;

static void free_victim(struct alarm *alarm)
{
    (void)alarm;
    hl_timer_fini(&wheel, &victim->timer);
    free(victim);
}

Test(wheel, survives_a_callback_that_frees_the_next_in_its_slot)
{
    struct alarm alarm;
    init_alarm(&alarm);
    alarm.then = free_victim;
    victim = malloc(sizeof(*victim));
    init_alarm(victim);
    hl_timer_arm(&wheel, &alarm.timer, 30);
    hl_timer_arm(&wheel, &victim->timer, 30);
    cr_assert_eq(alarm.timer.placed, victim->timer.placed);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 1);
    cr_assert_eq(wheel.armed, 0);
}

static void arm_again(struct alarm *alarm)
{
    if (alarm->count < 3)
        hl_timer_arm(&wheel, &alarm->timer, 0);
}

Test(wheel, lets_a_callback_arm_its_own_timer)
{
    struct alarm alarm;
    init_alarm(&alarm);
    alarm.then = arm_again;
    hl_timer_arm(&wheel, &alarm.timer, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 3);
}

static void arm_after_ending_itself(struct alarm *alarm)
{
    if (alarm->count > 1)
        return;
    hl_timer_fini(&wheel, &alarm->timer);
    hl_timer_arm(&wheel, &alarm->timer, 25);
}

Test(wheel, lets_a_callback_end_its_timer_and_begin_again)
{
    struct alarm alarm;
    init_alarm(&alarm);
    alarm.then = arm_after_ending_itself;
    hl_timer_arm(&wheel, &alarm.timer, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 2);
}

Test(wheel, carries_a_deadline_over_more_than_one_turn)
{
    struct alarm alarm;
    init_alarm(&alarm);
    hl_timer_arm(&wheel, &alarm.timer, 40);
    hl_timer_arm(&wheel, &alarm.timer, 3600 * 1000);
    uint64_t placed = alarm.timer.placed;
    while (alarm.timer.placed == placed)
        uv_run(&loop, UV_RUN_ONCE);
    cr_assert_eq(alarm.count, 0);
    cr_assert(hl_timer_is_armed(&alarm.timer));
    cr_assert_eq(alarm.timer.placed, placed + HL_WHEEL_SLOTS - 1);
    hl_timer_fini(&wheel, &alarm.timer);
}

static uv_pipe_t pipe_end;
static bool was_read_first;

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    static char room[16];
    (void)handle;
    (void)size;
    *buf = uv_buf_init(room, sizeof(room));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    cr_assert_eq(n, 1);
    was_read_first = true;
    uv_close((uv_handle_t *)stream, NULL);
}

static void expect_read(struct alarm *alarm)
{
    (void)alarm;
    cr_assert(was_read_first);
}

Test(wheel, what_came_while_the_loop_was_away_is_read_before_a_timer_fires)
{
    struct alarm alarm;
    uv_file ends[2];
    cr_assert_eq(uv_pipe(ends, UV_NONBLOCK_PIPE, 0), 0);
    cr_assert_eq(uv_pipe_init(&loop, &pipe_end, 0), 0);
    cr_assert_eq(uv_pipe_open(&pipe_end, ends[0]), 0);
    cr_assert_eq(uv_read_start((uv_stream_t *)&pipe_end, on_room, on_read), 0);
    init_alarm(&alarm);
    alarm.then = expect_read;
    hl_timer_arm(&wheel, &alarm.timer, 1);
    cr_assert_eq(write(ends[1], "x", 1), 1);
    uv_sleep(HL_WHEEL_LATE_MS + 3 * HL_WHEEL_TICK_MS);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(alarm.count, 1);
    close(ends[1]);
}
