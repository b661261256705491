/* test_supervisor.c - the app's process over its life: started, started again, signalled, stopped. */
#include "app/pool_group.h"
#include "app/readiness.h"
#include "app/supervisor.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/config.h"
#include "loop_fixture.h"

static struct hl_config config;
static struct hl_pool_group calls;
static struct hl_readiness readiness;
static struct hl_supervisor supervisor;
static bool is_stopped;

static void on_stopped(struct hl_supervisor *s)
{
    (void)s;
    is_stopped = true;
}

static void start(const char *command)
{
    char why[128] = "";
    struct rlimit files = {.rlim_cur = 256, .rlim_max = 256};
    hl_log_setup(HL_LOG_ERROR, HL_LOG_PLAIN);
    config.app_url.host = "127.0.0.1";
    config.app_url.port = 1;
    config.app_command = hl_str_from(command);
    config.app_log = true;
    config.app_stop_timeout_ms = config.app_stop_timeout_ms ? config.app_stop_timeout_ms : 600000;
    loop_begin();
    hl_pool_group_init(&calls, true, 0);
    hl_readiness_init(&readiness, &loop, &wheel, &reader, &config, &calls);
    const struct hl_supervisor_parts parts = {.loop = &loop,
        .wheel = &wheel,
        .config = &config,
        .readiness = &readiness,
        .environment = (char *const[]){"PATH=/usr/bin:/bin", NULL},
        .files = files};
    cr_assert(hl_supervisor_init(&supervisor, &parts, why, sizeof(why)), "%s", why);
    hl_supervisor_start(&supervisor);
}

static void finish(void)
{
    if (!is_stopped) {
        hl_supervisor_kill(&supervisor);
        hl_supervisor_stop(&supervisor, on_stopped);
        UNTIL(is_stopped);
    }
    hl_readiness_close(&readiness);
    loop_end();
    hl_supervisor_fini(&supervisor);
}

TestSuite(supervisor, .fini = finish, .timeout = 180);

static uint64_t starts(void)
{
    uint64_t n = 0;
    for (int why = 0; why < HL_APP_START_COUNT; why++)
        n += hl_counter_get(&supervisor.gauges.starts[why]);
    return n;
}

Test(supervisor, starts_the_app_again_when_it_ends)
{
    start("exit 3");
    UNTIL(starts() >= 3);
    cr_assert_geq(supervisor.backoff.failures, 2);
    cr_assert_not(hl_readiness_is_ready(&readiness));
}

Test(supervisor, says_by_readiness_what_is_wrong)
{
    start("[\"no-such-program\"]");
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_BACKOFF);
    cr_assert(strstr(hl_readiness_why(&readiness), "does not exist"));
    cr_assert_eq(starts(), 0);
    UNTIL(supervisor.backoff.failures >= 2);
}

Test(supervisor, stops_the_whole_group_with_sigterm)
{
    start("sleep 1000 & sleep 1000 & sleep 1000");
    pid_t pid = supervisor.child.pid;
    hl_supervisor_stop(&supervisor, on_stopped);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_STOPPING);
    UNTIL(is_stopped);
    cr_assert_neq(kill(-pid, 0), 0, "someone of its group is left");
    cr_assert_eq(hl_counter_get(&supervisor.gauges.is_running), 0);
}

Test(supervisor, kills_an_app_that_does_not_end_in_time)
{
    config.app_stop_timeout_ms = 100;
    start("trap '' TERM; echo; while :; do sleep 1; done");
    UNTIL(hl_counter_get(&supervisor.gauges.is_running) == 1);
    pid_t pid = supervisor.child.pid;
    hl_supervisor_stop(&supervisor, on_stopped);
    UNTIL(is_stopped);
    cr_assert_neq(kill(pid, 0), 0);
}

Test(supervisor, kills_at_once_when_told_to_during_a_stop)
{
    start("trap '' TERM; echo ready; while :; do sleep 1; done");
    UNTIL(supervisor.output.sources[0] && hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    hl_supervisor_stop(&supervisor, on_stopped);
    loop_turns(10);
    cr_assert_not(is_stopped);
    hl_supervisor_kill(&supervisor);
    UNTIL(is_stopped);
}

Test(supervisor, is_stopped_between_two_starts_at_once)
{
    start("exit 1");
    UNTIL(supervisor.state == HL_SUPERVISOR_BACKOFF);
    uint64_t before = starts();
    hl_supervisor_stop(&supervisor, on_stopped);
    UNTIL(is_stopped);
    cr_assert_eq(starts(), before);
}

Test(supervisor, starts_nothing_after_a_kill)
{
    start("exit 1");
    UNTIL(supervisor.state == HL_SUPERVISOR_BACKOFF);
    hl_supervisor_kill(&supervisor);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_KILLED);
}

Test(supervisor, without_a_command_has_nothing_to_stop)
{
    start("");
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_OFF);
    hl_supervisor_stop(&supervisor, on_stopped);
    cr_assert(is_stopped);
}

Test(supervisor, passes_signals_on_to_the_first_process)
{
    start("trap 'echo got it; exit 9' USR1; echo ready; while :; do sleep 0.01; done");
    UNTIL(hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    raise(SIGUSR1);
    UNTIL(starts() == 2);
}

Test(supervisor, takes_what_the_app_left_to_it_and_what_escaped_at_the_end)
{
    int pid = 0;
    FILE *file = tmpfile();
    char command[256];
    snprintf(command, sizeof(command),
        "sh -c 'sleep 0.01 &'; sh -c 'setsid sleep 1000 & echo $! > /proc/%d/fd/%d'; sleep 1000",
        (int)getpid(), fileno(file));
    start(command);
    UNTIL((rewind(file), fscanf(file, "%d", &pid) == 1));
    UNTIL(getsid(pid) == pid);
    cr_assert_eq(kill(pid, 0), 0);
    hl_supervisor_stop(&supervisor, on_stopped);
    UNTIL(is_stopped);
    cr_assert_neq(kill(pid, 0), 0, "it was killed and reaped");
    fclose(file);
}

Test(supervisor, leaves_children_of_others_alone_at_the_end)
{
    pid_t other = fork(); /* as if a library had forked */
    if (other == 0) {
        pause();
        _exit(0);
    }
    start("sleep 1000");
    hl_supervisor_stop(&supervisor, on_stopped);
    UNTIL(is_stopped);
    cr_assert_eq(kill(other, 0), 0);
    kill(other, SIGKILL);
}

static unsigned rests;

static void on_resting(struct hl_supervisor *s)
{
    (void)s;
    rests++;
}

Test(supervisor, rests_when_nothing_of_a_retired_app_is_left_and_rises_without_a_pause)
{
    start("setsid sleep 1000 & exec sleep 1000");
    supervisor.on_resting = on_resting;
    pid_t pid = supervisor.child.pid;
    hl_supervisor_retire(&supervisor);
    UNTIL(rests == 1);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_RESTING);
    cr_assert_neq(kill(-pid, 0), 0);
    hl_supervisor_rise(&supervisor);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_RUNNING);
    cr_assert_eq(supervisor.backoff.failures, 0);
    cr_assert_eq(hl_counter_get(&supervisor.gauges.starts[HL_APP_START_WAKE]), 1);
}

Test(supervisor, retires_an_app_that_had_just_ended_and_kills_one_that_does_not)
{
    start("exit 1");
    supervisor.on_resting = on_resting;
    UNTIL(supervisor.state == HL_SUPERVISOR_BACKOFF);
    hl_supervisor_retire(&supervisor);
    UNTIL(rests == 1);
    hl_command_fini(&supervisor.launch.command);
    cr_assert_eq(hl_command_parse(HL_STR("trap '' TERM; echo ready; while :; do sleep 0.01; done"),
                     &supervisor.launch.command),
        HL_OK);
    config.app_stop_timeout_ms = 50;
    hl_supervisor_rise(&supervisor);
    UNTIL(hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    hl_supervisor_retire(&supervisor);
    UNTIL(rests == 2);
}

Test(supervisor, stops_one_that_rests_and_one_that_is_retiring)
{
    start("trap '' TERM; echo ready; while :; do sleep 0.01; done");
    supervisor.on_resting = on_resting;
    UNTIL(hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    hl_supervisor_retire(&supervisor);
    hl_supervisor_stop(&supervisor, on_stopped);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_STOPPING);
    hl_supervisor_kill(&supervisor);
    UNTIL(is_stopped);
    cr_assert_eq(rests, 0);
}

Test(supervisor, kills_an_app_that_is_not_ready_within_its_limit)
{
    config.app_start_limit_ms = 50;
    start("trap '' TERM; while :; do sleep 1; done");
    UNTIL(hl_counter_get(&supervisor.gauges.starts[HL_APP_START_START_TIMEOUT]) >= 2);
    cr_assert_eq(hl_counter_get(&supervisor.gauges.starts[HL_APP_START_FIRST]), 1);
    cr_assert_eq(hl_counter_get(&supervisor.gauges.starts[HL_APP_START_EXIT]), 0);
    cr_assert_geq(supervisor.backoff.failures, 2);
}

Test(supervisor, starts_an_app_that_hangs_again_and_kills_one_that_does_not_end)
{
    config.app_restart_after_ms = 1000;
    config.app_stop_timeout_ms = 50;
    start("trap '' TERM; echo ready; while :; do sleep 1; done");
    UNTIL(hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    readiness.on_hung(&readiness);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_RENEWING);
    UNTIL(hl_counter_get(&supervisor.gauges.starts[HL_APP_START_UNHEALTHY]) == 1);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_RUNNING);
}

Test(supervisor, an_app_that_was_well_for_long_before_it_hung_is_started_again_at_once)
{
    config.app_restart_after_ms = 1000;
    start("echo ready; exec sleep 1000");
    UNTIL(hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    supervisor.backoff.failures = 16;
    supervisor.started_ms -= HL_BACKOFF_HEALTHY_MS;
    readiness.has_been_ready = true;
    readiness.on_hung(&readiness);
    UNTIL(supervisor.backoff.failures != 16);
    cr_assert_eq(supervisor.backoff.failures, 1);
}

Test(supervisor, stops_for_good_while_it_waits_for_one_that_hangs)
{
    config.app_restart_after_ms = 1000;
    start("trap '' TERM; echo ready; while :; do sleep 1; done");
    UNTIL(hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    readiness.on_hung(&readiness);
    config.app_stop_timeout_ms = 50;
    hl_supervisor_stop(&supervisor, on_stopped);
    UNTIL(is_stopped);
    cr_assert_eq(starts(), 1);
}
