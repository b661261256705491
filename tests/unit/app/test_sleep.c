/* test_sleep.c - an app that sleeps while nobody uses it: each of its moments, between a gate, checks and a process that are
 * real, and users that the test plays. */
#include "app/gate.h"
#include "app/pool_group.h"
#include "app/readiness.h"
#include "app/sleep.h"
#include "app/supervisor.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "config/config.h"
#include "loop_fixture.h"

static struct hl_config config;
static struct hl_pool_group calls;
static struct hl_readiness readiness;
static struct hl_supervisor supervisor;
static struct hl_sleep app_sleep;
static struct hl_mailbox mail; /* the control thread's, and that of a worker's seat */
static struct hl_gate_seat control, worker;
static bool is_used, is_wanted, is_settled, is_deaf; /* the worker is: it does not read its mail */
static bool is_stopped;
static int app = -1;     /* listens, where the test plays a server */
static const char *says; /* its answer; NULL: it closes */
static char asked[256];  /* of it, last */

static bool uses(void *owner)
{
    (void)owner;
    return is_used;
}

static bool wants(void *owner)
{
    (void)owner;
    return is_wanted;
}

static bool settles(void *owner)
{
    (void)owner;
    return is_settled;
}

static void no_wake(void *arg)
{
    (void)arg;
}

static void on_stopped(struct hl_supervisor *s)
{
    (void)s;
    is_stopped = true;
}

static void prepare(const char *command)
{
    char why[128] = "";
    hl_log_setup(HL_LOG_ERROR, HL_LOG_PLAIN);
    config.app_url.host = (char *)"127.0.0.1";
    config.app_url.port = config.app_url.port ? config.app_url.port : 1;
    config.app_command = hl_str_from(command);
    config.app_stop_timeout_ms = 600000;
    is_settled = true;
    hl_pool_group_init(&calls, true, 0);
    hl_mailbox_init(&mail, no_wake, NULL);
    hl_gate_seat_init(&control, &calls.gate, &mail);
    hl_gate_seat_init(&worker, &calls.gate, &mail);
    hl_bell_init(&calls.gate.knock, &mail, HL_GATE_KNOCKED);
    hl_readiness_init(&readiness, &loop, &wheel, &reader, &config, &calls);
    const struct hl_supervisor_parts process = {.loop = &loop,
        .wheel = &wheel,
        .config = &config,
        .readiness = &readiness,
        .environment = (char *const[]){"PATH=/usr/bin:/bin", NULL},
        .files = {.rlim_cur = 256, .rlim_max = 256}};
    cr_assert(hl_supervisor_init(&supervisor, &process, why, sizeof(why)), "%s", why);
    const struct hl_sleep_parts parts = {.loop = &loop,
        .wheel = &wheel,
        .reader = &reader,
        .config = &config,
        .readiness = &readiness,
        .supervisor = &supervisor,
        .use = {.is_used = uses, .is_settled = settles, .is_wanted = wants}};
    hl_sleep_init(&app_sleep, &parts);
}

/* A process that listens nowhere: that it is ready is the test's word. */
static void be_ready(void)
{
    hl_readiness_rest(&readiness, "the test says");
    atomic_store(&readiness.is_ready, true);
    hl_gate_stay_open(&calls.gate);
}

static void start_process(void)
{
    config.app_idle_stop_ms = 1;
    prepare("exec sleep 1000");
    hl_supervisor_start(&supervisor);
    be_ready();
    hl_sleep_start(&app_sleep);
}

static void listen_at(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    app = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(app, (struct sockaddr *)&a, n), 0);
    cr_assert_eq(listen(app, 16), 0);
    cr_assert_eq(getsockname(app, (struct sockaddr *)&a, &n), 0);
    config.app_url.port = ntohs(a.sin_port);
}

/* Which sleeps and wakes when it is asked to. */
static void listen_for_calls(void)
{
    config.app_idle_sleep_ms = 1;
    config.app_sleep_call = HL_STR("POST /sleep");
    config.app_wake_call = HL_STR("POST /wake");
    says = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    listen_at();
}

/* A server that is not ours, ready by its connects. */
static void start_server(void)
{
    listen_for_calls();
    prepare("");
    hl_readiness_start(&readiness);
    hl_sleep_start(&app_sleep);
}

/* It listens, and the process is ours. */
static void start_own(const char *command)
{
    listen_for_calls();
    prepare(command);
    hl_supervisor_start(&supervisor);
    be_ready();
}

/* A check only connects; what asks something is answered, if it is to be. */
static void serve(void)
{
    int fd = app >= 0 ? accept(app, NULL, NULL) : -1;
    if (fd < 0)
        return;
    struct timeval brief = {.tv_usec = 100};
    ssize_t n = 0;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof(brief));
    for (int i = 0; i < 20 && n <= 0; i++) {
        loop_turns(1);
        n = recv(fd, asked, sizeof(asked) - 1, 0);
        if (n == 0)
            break;
    }
    if (n > 0) {
        asked[n] = '\0';
        if (says)
            cr_assert_eq(write(fd, says, strlen(says)), (ssize_t)strlen(says));
    }
    close(fd);
}

/* The mail of both threads. */
static void turn(void)
{
    serve();
    for (struct hl_msg *msg = hl_mailbox_take(&mail), *next; msg; msg = next) {
        next = msg->next;
        if (msg == &control.turned) {
            hl_gate_seat_on_turn(&control);
            hl_readiness_on_gate(&readiness);
            hl_sleep_on_gate(&app_sleep);
        } else if (msg == &calls.gate.knock.msg) {
            hl_sleep_on_knock(&app_sleep);
        } else if (!is_deaf) {
            hl_gate_seat_on_turn(&worker);
        }
    }
}

#define UNTIL_STATE(name) UNTIL_WITH(turn(), app_sleep.state == HL_SLEEP_##name)

static uint64_t starts(enum hl_app_start why)
{
    return hl_counter_get(&supervisor.gauges.starts[why]);
}

static void finish(void)
{
    hl_sleep_end(&app_sleep);
    hl_supervisor_kill(&supervisor);
    hl_supervisor_stop(&supervisor, on_stopped);
    UNTIL(is_stopped);
    hl_readiness_close(&readiness);
    if (app >= 0)
        close(app);
    loop_end();
    hl_supervisor_fini(&supervisor);
}

TestSuite(app_sleep, .init = loop_begin, .fini = finish, .timeout = 180);
TestSuite(app_sleep_table, .timeout = 180);

/* ---- the table ---- */

static const struct {
    enum hl_sleep_state from, to;
} drawn[] = {
    {HL_SLEEP_AWAKE, HL_SLEEP_SETTLING},
    {HL_SLEEP_SETTLING, HL_SLEEP_AWAKE},
    {HL_SLEEP_SETTLING, HL_SLEEP_ASKING},
    {HL_SLEEP_SETTLING, HL_SLEEP_STOPPING},
    {HL_SLEEP_ASKING, HL_SLEEP_AWAKE},
    {HL_SLEEP_ASKING, HL_SLEEP_DOZING},
    {HL_SLEEP_DOZING, HL_SLEEP_CALLING},
    {HL_SLEEP_DOZING, HL_SLEEP_STOPPING},
    {HL_SLEEP_DOZING, HL_SLEEP_STOPPED},
    {HL_SLEEP_STOPPING, HL_SLEEP_STOPPED},
    {HL_SLEEP_STOPPED, HL_SLEEP_RISING},
    {HL_SLEEP_CALLING, HL_SLEEP_RISING},
    {HL_SLEEP_CALLING, HL_SLEEP_PAUSING},
    {HL_SLEEP_CALLING, HL_SLEEP_STOPPING},
    {HL_SLEEP_CALLING, HL_SLEEP_AWAKE},
    {HL_SLEEP_PAUSING, HL_SLEEP_CALLING},
    {HL_SLEEP_PAUSING, HL_SLEEP_DOZING},
    {HL_SLEEP_PAUSING, HL_SLEEP_RISING},
    {HL_SLEEP_PAUSING, HL_SLEEP_AWAKE},
    {HL_SLEEP_RISING, HL_SLEEP_AWAKE},
};

static bool is_drawn(enum hl_sleep_state from, enum hl_sleep_state to)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(drawn); i++)
        if (drawn[i].from == from && drawn[i].to == to)
            return true;
    return to == HL_SLEEP_OVER && from != HL_SLEEP_OVER;
}

Test(app_sleep_table, has_the_moves_that_are_drawn_and_no_others)
{
    for (enum hl_sleep_state from = 0; from < HL_SLEEP_STATE_COUNT; from++)
        for (enum hl_sleep_state to = 0; to < HL_SLEEP_STATE_COUNT; to++)
            cr_assert_eq(hl_sleep_may_move(from, to), is_drawn(from, to), "%s to %s",
                hl_sleep_state_text(from), hl_sleep_state_text(to));
}

/* ---- stopped ---- */

Test(app_sleep, is_stopped_when_unused_and_started_by_a_knock)
{
    start_process();
    pid_t pid = supervisor.child.pid;
    UNTIL_STATE(STOPPED);
    cr_assert(hl_gate_is_asleep(&calls.gate));
    cr_assert_neq(kill(pid, 0), 0);
    cr_assert_eq(hl_sleep_look(&app_sleep.gauges, NULL), HL_SLEEP_LOOK_ASLEEP);
    loop_turns(5);
    cr_assert_eq(starts(HL_APP_START_EXIT), 0);
    hl_gate_knock(&calls.gate);
    hl_gate_knock(&calls.gate);
    UNTIL_STATE(RISING);
    cr_assert_eq(hl_gate_state(&calls.gate), HL_GATE_WAKING);
    cr_assert_eq(starts(HL_APP_START_WAKE), 1);
    cr_assert_eq(supervisor.backoff.failures, 0);
    is_used = true;
    be_ready();
    UNTIL_STATE(AWAKE);
    uint64_t wakes = 0;
    for (int i = 0; i < HL_HISTOGRAM_BUCKETS; i++)
        wakes += hl_counter_get(&app_sleep.gauges.wakes.bucket[i]);
    cr_assert_eq(wakes, 1);
}

Test(app_sleep, stays_awake_while_it_is_used_or_not_ready)
{
    start_process();
    is_used = true;
    for (int i = 0; i < 30; i++) {
        loop_turns(1);
        turn();
        cr_assert_eq(app_sleep.state, HL_SLEEP_AWAKE);
    }
    is_used = false;
    atomic_store(&readiness.is_ready, false);
    for (int i = 0; i < 30; i++) {
        loop_turns(1);
        turn();
        cr_assert_eq(app_sleep.state, HL_SLEEP_AWAKE);
    }
}

Test(app_sleep, waits_for_each_thread_and_for_what_was_claimed_before_it_looks_for_use)
{
    start_process();
    is_deaf = true;
    UNTIL_STATE(SETTLING);
    for (int i = 0; i < 10; i++) {
        loop_turns(1);
        turn();
        cr_assert_eq(app_sleep.state, HL_SLEEP_SETTLING);
    }
    is_settled = is_deaf = false;
    hl_gate_seat_on_turn(&worker);
    for (int i = 0; i < 10; i++) {
        loop_turns(1);
        turn();
        cr_assert_eq(app_sleep.state, HL_SLEEP_SETTLING);
    }
    is_used = true; /* one had gone in */
    is_settled = true;
    UNTIL_STATE(AWAKE);
    cr_assert(hl_gate_is_open(&calls.gate));
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_RUNNING);
}

Test(app_sleep, stays_awake_at_once_for_who_comes_while_it_settles)
{
    start_process();
    is_settled = false;
    UNTIL_STATE(SETTLING);
    hl_gate_knock(&calls.gate);
    UNTIL_STATE(AWAKE);
    cr_assert(hl_gate_is_open(&calls.gate));
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_RUNNING);
}

Test(app_sleep, starts_again_for_who_comes_while_it_is_being_stopped)
{
    config.app_idle_stop_ms = 1;
    prepare("trap 'sleep 0.05; exit' TERM; echo ready; while :; do sleep 0.01; done");
    hl_supervisor_start(&supervisor);
    UNTIL(hl_counter_get(&supervisor.gauges.is_running) == 1);
    be_ready();
    hl_sleep_start(&app_sleep);
    UNTIL_STATE(STOPPING);
    hl_gate_knock(&calls.gate);
    turn();
    cr_assert(app_sleep.state == HL_SLEEP_STOPPING && hl_gate_is_asleep(&calls.gate));
    UNTIL_STATE(RISING);
    cr_assert_eq(starts(HL_APP_START_WAKE), 1);
}

Test(app_sleep, ends_while_its_process_is_being_stopped)
{
    config.app_idle_stop_ms = 1;
    prepare("trap '' TERM; while :; do sleep 0.01; done");
    hl_supervisor_start(&supervisor);
    be_ready();
    hl_sleep_start(&app_sleep);
    UNTIL_STATE(STOPPING);
    hl_sleep_end(&app_sleep);
    hl_sleep_end(&app_sleep);
    hl_sleep_on_knock(&app_sleep);
    cr_assert_eq(app_sleep.state, HL_SLEEP_OVER);
    hl_supervisor_stop(&supervisor, on_stopped);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_STOPPING);
    hl_supervisor_kill(&supervisor);
    UNTIL(is_stopped);
    cr_assert_eq(starts(HL_APP_START_WAKE), 0);
}

/* ---- asked ---- */

Test(app_sleep, is_asked_to_sleep_and_to_wake_once)
{
    start_server();
    UNTIL_STATE(DOZING);
    cr_assert(strncmp(asked, "POST /sleep HTTP/1.1\r\n", 22) == 0, "%s", asked);
    cr_assert(strstr(asked, "Content-Length: 0\r\n"));
    hl_gate_knock(&calls.gate);
    UNTIL_STATE(CALLING);
    hl_gate_knock(&calls.gate); /* somebody else, who saw it asleep */
    is_used = true;
    UNTIL_STATE(AWAKE);
    cr_assert(strncmp(asked, "POST /wake HTTP/1.1\r\n", 21) == 0, "%s", asked);
    UNTIL_WITH(turn(), hl_readiness_is_ready(&readiness));
    cr_assert(hl_gate_is_open(&calls.gate));
}

Test(app_sleep, counts_as_awake_if_it_would_not_sleep)
{
    start_server();
    says = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";
    UNTIL_STATE(ASKING);
    is_used = true; /* once it is awake */
    UNTIL_STATE(AWAKE);
    UNTIL_WITH(turn(), hl_gate_is_open(&calls.gate));
    cr_assert_eq(app_sleep.errand.status, 500);
}

Test(app_sleep, is_asked_to_wake_again_while_somebody_waits_and_no_longer)
{
    start_server();
    UNTIL_STATE(DOZING);
    says = NULL;
    is_wanted = true;
    hl_gate_knock(&calls.gate);
    UNTIL_STATE(PAUSING);
    UNTIL_STATE(CALLING);
    UNTIL_STATE(PAUSING);
    cr_assert_eq(app_sleep.failures, 2);
    cr_assert(
        strstr(hl_readiness_why(&readiness), "HOOKLINE_APP_WAKE_CALL failed"), "for who waits");
    is_wanted = false;
    UNTIL_STATE(DOZING);
    cr_assert(hl_gate_is_asleep(&calls.gate));
}

Test(app_sleep, of_ours_that_dies_in_its_sleep_counts_as_stopped)
{
    start_own("exec sleep 1000");
    hl_sleep_start(&app_sleep);
    UNTIL_STATE(DOZING);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_DOZING);
    kill(supervisor.child.pid, SIGKILL);
    UNTIL_STATE(STOPPED);
    cr_assert_eq(supervisor.state, HL_SUPERVISOR_RESTING);
    cr_assert_eq(starts(HL_APP_START_EXIT), 0);
    hl_gate_knock(&calls.gate);
    UNTIL_STATE(RISING);
    cr_assert_eq(starts(HL_APP_START_WAKE), 1);
}

Test(app_sleep, of_ours_that_dies_as_it_is_to_be_stopped_in_its_sleep_is_stopped)
{
    config.app_idle_stop_ms = 600000;
    config.app_log = true;
    start_own("setsid sh -c 'echo apart; exec sleep 1000' & exec sleep 1000");
    UNTIL(hl_counter_get(&supervisor.gauges.lines_logged) == 1);
    hl_sleep_start(&app_sleep);
    UNTIL_STATE(DOZING);
    kill(supervisor.child.pid, SIGKILL);
    UNTIL(supervisor.child.pid == 0);
    if (supervisor.state ==
        HL_SUPERVISOR_RETIRING) /* as a rule: what it had started is not gone yet */
        app_sleep.timer.on_fire(&app_sleep.timer); /* HOOKLINE_APP_IDLE_STOP */
    UNTIL_STATE(STOPPED);
}

Test(app_sleep, of_ours_that_dies_when_it_is_woken_has_a_successor_that_is_not_asked_to_wake)
{
    start_own("exec sleep 1000");
    hl_sleep_start(&app_sleep);
    UNTIL_STATE(DOZING);
    says = NULL;
    is_wanted = true;
    hl_gate_knock(&calls.gate);
    UNTIL_STATE(PAUSING);
    readiness.has_been_ready = true;
    supervisor.started_ms -= HL_BACKOFF_HEALTHY_MS;
    supervisor.backoff.failures = 7;
    kill(supervisor.child.pid, SIGKILL);
    UNTIL(starts(HL_APP_START_EXIT) == 1);
    cr_assert_eq(supervisor.backoff.failures, 1, "it was well for long");
    asked[0] = '\0';
    UNTIL_STATE(RISING);
    cr_assert_str_eq(asked, "");
    be_ready();
    UNTIL_STATE(AWAKE);
}

Test(app_sleep, of_ours_that_does_not_wake_three_times_is_started_anew)
{
    start_own("exec sleep 1000");
    hl_sleep_start(&app_sleep);
    UNTIL_STATE(DOZING);
    says = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
    is_wanted = true;
    hl_gate_knock(&calls.gate);
    UNTIL_STATE(STOPPING);
    cr_assert_eq(hl_gate_state(&calls.gate), HL_GATE_WAKING, "who waits goes on waiting");
    cr_assert(strstr(hl_readiness_why(&readiness), "does not wake"), "and is told why in the end");
    UNTIL_STATE(RISING);
    cr_assert_eq(starts(HL_APP_START_WAKE), 1);
}
