/* follow_clock.c - see follow_clock.h.
 * Owns: the timer. Thread: the desk's loop.
 * Promise: nothing is forgotten because something else was due sooner.
 * Not here: what is done when it is time (follower.c). */
#include "body/follow_clock.h"

static uint64_t now(const struct hl_follow_clock *clock)
{
    return uv_now(clock->wheel->loop);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a > 0 && (b == 0 || a < b) ? a : b;
}

static void arm(struct hl_follow_clock *clock)
{
    uint64_t at =
        sooner(sooner(clock->beat_at, clock->look_at), sooner(clock->poll_at, clock->progress_at));
    uint64_t now_ms = now(clock);
    if (at > 0)
        hl_timer_arm(clock->wheel, &clock->timer, at > now_ms ? at - now_ms : 1);
    else
        hl_timer_disarm(&clock->timer);
}

void hl_follow_clock_init(struct hl_follow_clock *clock, struct hl_wheel *wheel, uint64_t beat_ms,
    void (*on_fire)(struct hl_timer *timer))
{
    *clock = (struct hl_follow_clock){.wheel = wheel, .beat_ms = beat_ms};
    hl_timer_init(&clock->timer, on_fire);
}

void hl_follow_clock_fini(struct hl_follow_clock *clock)
{
    hl_timer_fini(clock->wheel, &clock->timer);
}

void hl_follow_clock_set_beat(struct hl_follow_clock *clock)
{
    if (clock->beat_ms == 0)
        return;
    clock->beat_at = now(clock) + clock->beat_ms;
    arm(clock);
}

void hl_follow_clock_set_poll(struct hl_follow_clock *clock, uint64_t ms)
{
    if (clock->poll_at > 0)
        return;
    clock->poll_at = now(clock) + ms;
    arm(clock);
}

void hl_follow_clock_drop_poll(struct hl_follow_clock *clock)
{
    clock->poll_at = 0;
}

void hl_follow_clock_set_progress(struct hl_follow_clock *clock, uint64_t ms)
{
    clock->progress_at = now(clock) + ms;
    arm(clock);
}

void hl_follow_clock_set_look(struct hl_follow_clock *clock, uint64_t ms)
{
    clock->look_at = now(clock) + ms;
    arm(clock);
}

bool hl_follow_clock_awaits_progress(const struct hl_follow_clock *clock)
{
    return clock->progress_at > now(clock);
}

static bool is_due(const struct hl_follow_clock *clock, uint64_t at)
{
    return at > 0 && at <= now(clock);
}

struct hl_follow_due hl_follow_clock_take_due(struct hl_follow_clock *clock)
{
    struct hl_follow_due due = {.beat = is_due(clock, clock->beat_at),
        .poll = is_due(clock, clock->poll_at),
        .look = is_due(clock, clock->look_at)};
    if (due.beat)
        clock->beat_at = now(clock) + clock->beat_ms;
    if (due.poll)
        clock->poll_at = 0;
    if (due.look)
        clock->look_at = 0;
    if (is_due(clock, clock->progress_at))
        clock->progress_at = 0;
    arm(clock);
    return due;
}
