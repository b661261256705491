/* sleep.c - see sleep.h.
 * Owns: whether the app may be let go. Thread: control.
 * Promise: nothing is sent into an app that is about to go: the gate is shut first, and the app is asked or stopped only
 * when each thread has seen that and nobody is inside or waits. Whoever comes from then on waits at the gate and wakes
 * it, once, when its going has ended. A stop of ours is no death: no back-off.
 * Not here: who waits and for how long (run/admission.c), which queued runs knock (run/demand.c), what counts as use
 * (worker/use.c), the process (supervisor.c), the checks (readiness.c). */
#include "app/sleep.h"

#include "app/gate.h"
#include "app/pool_group.h"
#include "app/readiness.h"
#include "app/supervisor.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "config/config.h"

#define LOOKS_PER_TIME 10 /* so much later at the most, in parts of the time, it is noticed */
#define LOOK_MOST_MS   1000
#define SETTLE_MS      1 /* with the wheel's next tick */
#define PAUSE_FIRST_MS 500
#define PAUSE_MOST_MS  30000
#define WAKE_CALLS     3

#define NOT_WOKEN "the app does not wake: it is started anew"

static const char *const state_texts[] = {
#define X(name, text) [HL_SLEEP_##name] = (text),
    HL_SLEEP_STATE_MAP(X)
#undef X
};

#define TO(name) (1u << HL_SLEEP_##name)

static const uint16_t moves[HL_SLEEP_STATE_COUNT] = {
    [HL_SLEEP_AWAKE] = TO(SETTLING) | TO(OVER),
    [HL_SLEEP_SETTLING] = TO(AWAKE) | TO(ASKING) | TO(STOPPING) | TO(OVER),
    [HL_SLEEP_ASKING] = TO(AWAKE) | TO(DOZING) | TO(OVER),
    [HL_SLEEP_DOZING] = TO(CALLING) | TO(STOPPING) | TO(STOPPED) | TO(OVER),
    [HL_SLEEP_STOPPING] = TO(STOPPED) | TO(OVER),
    [HL_SLEEP_STOPPED] = TO(RISING) | TO(OVER),
    [HL_SLEEP_CALLING] = TO(RISING) | TO(PAUSING) | TO(STOPPING) | TO(AWAKE) | TO(OVER),
    [HL_SLEEP_PAUSING] = TO(CALLING) | TO(DOZING) | TO(RISING) | TO(AWAKE) | TO(OVER),
    [HL_SLEEP_RISING] = TO(AWAKE) | TO(OVER),
    [HL_SLEEP_OVER] = 0,
};

const char *hl_sleep_state_text(enum hl_sleep_state state)
{
    return state_texts[state];
}

bool hl_sleep_may_move(enum hl_sleep_state from, enum hl_sleep_state to)
{
    return (moves[from] & 1u << to) != 0;
}

static enum hl_sleep_look look_of(enum hl_sleep_state state)
{
    switch (state) {
    case HL_SLEEP_ASKING:
    case HL_SLEEP_STOPPING:
        return HL_SLEEP_LOOK_GOING;
    case HL_SLEEP_DOZING:
    case HL_SLEEP_STOPPED:
        return HL_SLEEP_LOOK_ASLEEP;
    case HL_SLEEP_CALLING:
    case HL_SLEEP_PAUSING:
    case HL_SLEEP_RISING:
        return HL_SLEEP_LOOK_WAKING;
    default:
        return HL_SLEEP_LOOK_AWAKE;
    }
}

const char *hl_sleep_look_text(enum hl_sleep_look look)
{
    static const char *const texts[] = {[HL_SLEEP_LOOK_GOING] = "falling_asleep",
        [HL_SLEEP_LOOK_ASLEEP] = "asleep",
        [HL_SLEEP_LOOK_WAKING] = "waking"};
    return texts[look];
}

enum hl_sleep_look hl_sleep_look(const struct hl_sleep_gauges *gauges, int64_t *since_ms)
{
    if (!gauges)
        return HL_SLEEP_LOOK_AWAKE;
    if (since_ms)
        *since_ms = atomic_load(&gauges->since_ms);
    return look_of((enum hl_sleep_state)atomic_load(&gauges->state));
}

/* The one mover. */
static void move(struct hl_sleep *sleep, enum hl_sleep_state to)
{
    HL_ASSERT(hl_sleep_may_move(sleep->state, to));
    if (sleep->is_on) /* else there is only its end */
        HL_LOG(DEBUG, "app's sleep", HL_LOG_TEXT("from", state_texts[sleep->state]),
            HL_LOG_TEXT("to", state_texts[to]));
    if (look_of(sleep->state) != look_of(to))
        atomic_store(&sleep->gauges.since_ms, hl_clock_wall_ms());
    hl_timer_disarm(&sleep->timer);
    sleep->state = to;
    atomic_store(&sleep->gauges.state, (int)to);
}

static void on_timer(struct hl_timer *timer);
static void on_errand_over(struct hl_errand *errand, const char *why);
static void on_resting(struct hl_supervisor *supervisor);

void hl_sleep_init(struct hl_sleep *sleep, const struct hl_sleep_parts *parts)
{
    const struct hl_config *config = parts->config;
    *sleep = (struct hl_sleep){.config = config,
        .wheel = parts->wheel,
        .gate = &parts->readiness->calls->gate,
        .readiness = parts->readiness,
        .supervisor = parts->supervisor,
        .use = parts->use,
        .is_on = config->app_idle_stop_ms > 0 || config->app_idle_sleep_ms > 0};
    hl_timer_init(&sleep->timer, on_timer);
    hl_errand_init(&sleep->errand, parts->loop, parts->wheel, parts->reader, config);
    sleep->errand.on_over = on_errand_over;
    sleep->supervisor->on_resting = on_resting;
    sleep->supervisor->sleeper = sleep;
}

/* ---- awake ---- */

/* After this without use it sleeps, one way or the other. */
static uint64_t idle_ms(const struct hl_config *config)
{
    return config->app_idle_sleep_ms > 0 ? config->app_idle_sleep_ms : config->app_idle_stop_ms;
}

static uint64_t unused_ms(const struct hl_sleep *sleep)
{
    return hl_clock_mono_ms() - sleep->used_ms;
}

static void arm_look(struct hl_sleep *sleep)
{
    uint64_t all_ms = idle_ms(sleep->config), gone_ms = unused_ms(sleep);
    uint64_t ms = all_ms / LOOKS_PER_TIME, left_ms = gone_ms < all_ms ? all_ms - gone_ms : ms;
    if (ms > LOOK_MOST_MS)
        ms = LOOK_MOST_MS;
    hl_timer_arm(sleep->wheel, &sleep->timer, ms < left_ms ? ms : left_ms);
}

void hl_sleep_start(struct hl_sleep *sleep)
{
    if (!sleep->is_on)
        return;
    sleep->used_ms = hl_clock_mono_ms();
    arm_look(sleep);
}

static void look_for_use(struct hl_sleep *sleep)
{
    bool is_ready = hl_readiness_is_ready(sleep->readiness) && hl_gate_is_open(sleep->gate);
    if (sleep->use.is_used(sleep->use.owner) || (is_ready && !sleep->has_been_ready))
        sleep->used_ms = hl_clock_mono_ms();
    sleep->has_been_ready |= is_ready;
    if (!is_ready || unused_ms(sleep) < idle_ms(sleep->config)) {
        arm_look(sleep);
        return;
    }
    move(sleep, HL_SLEEP_SETTLING);
    sleep->is_knocked = false;
    hl_gate_put_to_sleep(sleep->gate);
    hl_timer_arm(sleep->wheel, &sleep->timer, SETTLE_MS);
}

/* Nobody was lost: who came waits at the gate. An app that was lost meanwhile opens it by its next good check. */
static void stay_awake(struct hl_sleep *sleep)
{
    move(sleep, HL_SLEEP_AWAKE);
    sleep->used_ms = hl_clock_mono_ms();
    if (hl_readiness_is_ready(sleep->readiness))
        hl_gate_stay_open(sleep->gate);
    else
        hl_gate_wake(sleep->gate);
    arm_look(sleep);
}

/* ---- to sleep ---- */

/* `why` is static: who still waits when his time is over is told it. */
static void stop_process(struct hl_sleep *sleep, const char *why)
{
    move(sleep, HL_SLEEP_STOPPING);
    hl_readiness_rest(sleep->readiness, why);
    hl_supervisor_retire(sleep->supervisor);
}

static void stop_unused(struct hl_sleep *sleep)
{
    HL_LOG(INFO, "the app is stopped: unused for HOOKLINE_APP_IDLE_STOP");
    stop_process(sleep, "the app is being stopped: nobody used it");
}

static void settle(struct hl_sleep *sleep)
{
    void *owner = sleep->use.owner;
    bool is_settled = hl_gate_is_told(sleep->gate) && sleep->use.is_settled(owner);
    if (sleep->is_knocked || sleep->use.is_used(owner)) {
        stay_awake(sleep); /* at once: a store that hangs holds no call up */
    } else if (!is_settled) {
        hl_timer_arm(sleep->wheel, &sleep->timer, SETTLE_MS);
    } else if (sleep->config->app_idle_sleep_ms == 0) {
        stop_unused(sleep);
    } else {
        HL_LOG(INFO, "the app is asked to sleep: unused for HOOKLINE_APP_IDLE_SLEEP");
        move(sleep, HL_SLEEP_ASKING);
        hl_readiness_rest(sleep->readiness, "the app was asked to sleep");
        hl_errand_begin(&sleep->errand, sleep->config->app_sleep_call, sleep->readiness->tls);
    }
}

static void log_failure(const struct hl_sleep *sleep, const char *what, const char *why)
{
    HL_LOG(WARN, what, HL_LOG_TEXT("cause", why), HL_LOG_INT("status", sleep->errand.status));
}

static void wake(struct hl_sleep *sleep);

/* It sleeps, or has gone: whoever came meanwhile wakes it. */
static void fall_asleep(struct hl_sleep *sleep, enum hl_sleep_state how)
{
    bool was_asleep = look_of(sleep->state) == HL_SLEEP_LOOK_ASLEEP;
    move(sleep, how);
    hl_readiness_rest(sleep->readiness, "the app sleeps");
    if (sleep->is_knocked) {
        wake(sleep);
        return;
    }
    if (!was_asleep)
        HL_LOG(INFO, how == HL_SLEEP_DOZING ? "the app sleeps" : "the app sleeps: it is stopped");
    uint64_t stop_ms = sleep->config->app_idle_stop_ms, gone_ms = unused_ms(sleep);
    if (how == HL_SLEEP_DOZING && stop_ms > 0)
        hl_timer_arm(sleep->wheel, &sleep->timer, gone_ms < stop_ms ? stop_ms - gone_ms : 1);
}

/* It was asked something and died; the next one has been started, is not asleep, and is looked at already. */
static bool has_successor(const struct hl_sleep *sleep)
{
    return !sleep->readiness->is_held;
}

static void on_asked(struct hl_sleep *sleep, const char *why)
{
    if (why) {
        log_failure(sleep, "HOOKLINE_APP_SLEEP_CALL failed: the app counts as awake", why);
        stay_awake(sleep);
        hl_readiness_hurry(sleep->readiness);
        if (!has_successor(sleep))
            hl_readiness_resume(sleep->readiness, "the app was asked to sleep, and would not");
        return;
    }
    fall_asleep(sleep, HL_SLEEP_DOZING);
    if (sleep->state == HL_SLEEP_DOZING)
        hl_supervisor_doze(sleep->supervisor);
}

static void on_resting(struct hl_supervisor *supervisor)
{
    struct hl_sleep *sleep = supervisor->sleeper;
    if (sleep->state == HL_SLEEP_STOPPING || sleep->state == HL_SLEEP_DOZING)
        fall_asleep(sleep, HL_SLEEP_STOPPED);
}

/* ---- awake again ---- */

static void call(struct hl_sleep *sleep)
{
    move(sleep, HL_SLEEP_CALLING);
    hl_readiness_rest(sleep->readiness, "HOOKLINE_APP_WAKE_CALL has not been answered yet");
    hl_errand_begin(&sleep->errand, sleep->config->app_wake_call, sleep->readiness->tls);
}

static void wake(struct hl_sleep *sleep)
{
    if (hl_gate_is_asleep(sleep->gate)) { /* else it is started anew for those who wait already */
        HL_LOG(INFO, "the app is woken");
        sleep->woken_us = hl_clock_mono_us();
    }
    sleep->is_knocked = false;
    hl_readiness_hurry(sleep->readiness);
    hl_gate_wake(sleep->gate);
    if (sleep->state == HL_SLEEP_STOPPED) {
        move(sleep, HL_SLEEP_RISING);
        hl_supervisor_rise(sleep->supervisor);
    } else if (hl_supervisor_rouse(sleep->supervisor)) {
        call(sleep);
    } else { /* it has just died in its sleep */
        sleep->is_knocked = true;
        move(sleep, HL_SLEEP_STOPPING);
    }
}

void hl_sleep_on_knock(struct hl_sleep *sleep)
{
    hl_bell_heard(&sleep->gate->knock);
    if (sleep->state == HL_SLEEP_DOZING || sleep->state == HL_SLEEP_STOPPED)
        wake(sleep);
    else
        sleep->is_knocked = true;
}

static void on_called(struct hl_sleep *sleep, const char *why)
{
    if (why)
        log_failure(sleep, "HOOKLINE_APP_WAKE_CALL failed", why);
    if (!why || has_successor(sleep)) {
        move(sleep, HL_SLEEP_RISING);
        sleep->failures = 0;
        if (!has_successor(sleep))
            hl_readiness_resume(sleep->readiness, "the app was woken, and is not ready yet");
        return;
    }
    sleep->failures++;
    if (sleep->errand.is_refused)
        hl_warmup_forget(&sleep->readiness->warmup); /* whoever listens there next is another one */
    if (sleep->failures >= WAKE_CALLS && sleep->config->app_command.n > 0) {
        HL_LOG(WARN, NOT_WOKEN);
        sleep->failures = 0;
        sleep->is_knocked = true;
        stop_process(sleep, NOT_WOKEN);
        return;
    }
    move(sleep, HL_SLEEP_PAUSING);
    hl_readiness_rest(sleep->readiness, "HOOKLINE_APP_WAKE_CALL failed, see the log");
    hl_timer_arm(sleep->wheel, &sleep->timer,
        hl_doubled_ms(PAUSE_FIRST_MS, sleep->failures - 1, PAUSE_MOST_MS));
}

static void on_errand_over(struct hl_errand *errand, const char *why)
{
    struct hl_sleep *sleep = HL_CONTAINER_OF(errand, struct hl_sleep, errand);
    if (sleep->state == HL_SLEEP_ASKING)
        on_asked(sleep, why);
    else if (sleep->state == HL_SLEEP_CALLING)
        on_called(sleep, why);
}

/* Nobody is left to be woken for. */
static void doze_on(struct hl_sleep *sleep)
{
    sleep->is_knocked = false;
    hl_gate_put_to_sleep(sleep->gate);
    fall_asleep(sleep, HL_SLEEP_DOZING);
    hl_supervisor_doze(sleep->supervisor);
}

void hl_sleep_on_gate(struct hl_sleep *sleep)
{
    if (look_of(sleep->state) != HL_SLEEP_LOOK_WAKING || !hl_gate_is_open(sleep->gate))
        return;
    uint64_t took_us = hl_clock_mono_us() - sleep->woken_us;
    hl_histogram_add(&sleep->gauges.wakes, took_us);
    HL_LOG(INFO, "the app is awake", HL_LOG_INT("ms", took_us / 1000));
    hl_errand_forget(&sleep->errand);
    sleep->failures = 0;
    move(sleep, HL_SLEEP_AWAKE);
    sleep->used_ms = hl_clock_mono_ms();
    arm_look(sleep);
}

static void on_timer(struct hl_timer *timer)
{
    struct hl_sleep *sleep = HL_CONTAINER_OF(timer, struct hl_sleep, timer);
    switch (sleep->state) {
    case HL_SLEEP_AWAKE:
        look_for_use(sleep);
        break;
    case HL_SLEEP_SETTLING:
        settle(sleep);
        break;
    case HL_SLEEP_DOZING:
        stop_unused(sleep);
        break;
    case HL_SLEEP_PAUSING:
        if (has_successor(sleep))
            move(sleep, HL_SLEEP_RISING);
        else if (sleep->use.is_wanted(sleep->use.owner))
            call(sleep);
        else
            doze_on(sleep);
        break;
    default:
        break;
    }
}

void hl_sleep_end(struct hl_sleep *sleep)
{
    if (!sleep->config || sleep->state == HL_SLEEP_OVER)
        return;
    move(sleep, HL_SLEEP_OVER);
    hl_timer_fini(sleep->wheel, &sleep->timer);
    hl_errand_close(&sleep->errand);
}
