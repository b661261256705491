/* test_readiness.c - whether the app takes calls, against an app that the test itself plays. */
#include "app/gate.h"
#include "app/pool.h"
#include "app/readiness.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "config/config.h"
#include "loop_fixture.h"

static struct hl_config config;
static struct hl_pool_group calls;
static struct hl_readiness readiness;
static int app = -1;       /* listens, non-blocking */
static const char *answer; /* to each probe; NULL: none */
static unsigned answered;
static char asked[512]; /* the last probe's request */

static void take_request(int fd)
{
    ssize_t n = -1;
    while (n <= 0) {
        loop_turns(1); /* the probe sends it */
        n = recv(fd, asked, sizeof(asked) - 1, MSG_DONTWAIT);
        cr_assert(n > 0 || (n < 0 && errno == EAGAIN));
    }
    asked[n] = '\0';
}

/* The app takes one probe, if one waits. It closes without an answer when there is none. */
static void app_turn(void)
{
    int fd = app >= 0 ? accept(app, NULL, NULL) : -1;
    if (fd < 0)
        return;
    if (answer && config.app_health_path.n > 0) {
        take_request(fd);
        cr_assert_eq(write(fd, answer, strlen(answer)), (ssize_t)strlen(answer));
    }
    answered++;
    close(fd);
}

#define UNTIL_SERVED(claim) UNTIL_WITH(app_turn(), claim)

static void app_listen(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t n = sizeof(a);
    int on = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    app = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(app, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    cr_assert_eq(bind(app, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(app, 16), 0);
    cr_assert_eq(getsockname(app, (struct sockaddr *)&a, &n), 0);
    config.app_url.port = ntohs(a.sin_port);
}

static void app_stop(void)
{
    close(app);
    app = -1;
}

static void begin(void)
{
    config.app_url.host = (char *)"127.0.0.1";
    loop_begin();
    hl_pool_group_init(&calls, true, 0);
}

/* Once it is known where the app will be. */
static void start(void)
{
    hl_readiness_init(&readiness, &loop, &wheel, &reader, &config, &calls);
    cr_assert_not(hl_readiness_is_ready(&readiness));
    hl_readiness_start(&readiness);
}

static void end(void)
{
    hl_readiness_close(&readiness);
    loop_end();
    if (app >= 0)
        app_stop();
}

TestSuite(readiness, .init = begin, .fini = end, .timeout = 180);

Test(readiness, follows_an_app_that_comes_and_goes)
{
    app_listen(0);
    app_stop();
    start();
    UNTIL_SERVED(
        hl_timer_is_armed(&readiness.timer) && !readiness.probe && !readiness.host.resolving);
    cr_assert_not(hl_readiness_is_ready(&readiness));
    app_listen(config.app_url.port);
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    app_stop();
    UNTIL_SERVED(!hl_readiness_is_ready(&readiness));
}

Test(readiness, asks_the_health_path)
{
    config.app_health_path = HL_STR("/health?deep=1");
    answer = "HTTP/1.1 204 No Content\r\n\r\n";
    app_listen(0);
    start();
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    const char *line = "GET /health?deep=1 HTTP/1.1\r\n";
    cr_assert_eq(strncmp(asked, line, strlen(line)), 0, "%s", asked);
}

static const struct refusal {
    const char *what, *answer;
} refusals[] = {
    {"an error", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"},
    {"a redirect", "HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"},
    {"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
    {"half a head", "HTTP/1.1 200 OK\r\n"},
    {"nothing", NULL},
};

Test(readiness, takes_nothing_but_2xx_for_an_answer)
{
    config.app_health_path = HL_STR("/health");
    app_listen(0);
    start();
    for (size_t i = 0; i < HL_ARRAY_LEN(refusals); i++) {
        unsigned before = answered;
        answer = refusals[i].answer;
        UNTIL_SERVED(answered >= before + 2); /* the first one's outcome is known by then */
        cr_assert_not(hl_readiness_is_ready(&readiness), "%s", refusals[i].what);
    }
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
}

static struct hl_pool calling; /* the app, in a worker's place */

/* An app that was ready and has a call inside takes connections, but nobody accepts them. What it listens on. */
static int fall_silent(void)
{
    static struct hl_mailbox mailbox;
    config.app_health_path = HL_STR("/health");
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    app_listen(0);
    start();
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    hl_pool_init(&calling,
        &(struct hl_pool_parts){&loop, &wheel, &reader, &config.app_url, &calls, &mailbox, NULL});
    hl_counter_add(&calling.member.busy_count, 1);
    int silent = app;
    app = -1;
    return silent;
}

Test(readiness, takes_no_timeout_for_an_answer_while_calls_are_inside)
{
    int silent = fall_silent();
    for (int i = 0; i < 3; i++) {
        UNTIL_SERVED(readiness.probe);
        UNTIL_SERVED(!readiness.probe);
    }
    cr_assert(hl_readiness_is_ready(&readiness));
    hl_counter_sub(&calling.member.busy_count, 1);
    UNTIL_SERVED(!hl_readiness_is_ready(&readiness));
    cr_assert_not_null(strstr(hl_readiness_why(&readiness), "HOOKLINE_APP_KEEPALIVE=off"));
    close(silent);
    hl_pool_close(&calling);
    hl_pool_fini(&calling);
}

Test(readiness, opens_the_gate_when_the_warm_up_of_each_start_was_answered_well)
{
    config.app_warmup = HL_STR("POST /warm");
    config.app_health_path = HL_STR("/health");
    config.response_grace_period_ms = 600000;
    hl_gate_close_at_start(&calls.gate, HL_APP_GATE_START);
    app_listen(0);
    start();
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    UNTIL_SERVED(strncmp(asked, "POST /warm ", 11) == 0);
    cr_assert(strstr(asked, "\r\nX-Run-Warmup: true\r\n"));
    cr_assert_not(hl_readiness_is_ready(&readiness));
    cr_assert(hl_gate_is_shut(&calls.gate));
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    cr_assert(hl_gate_is_open(&calls.gate));
    app_stop();
    UNTIL_SERVED(!hl_readiness_is_ready(&readiness));
    cr_assert(hl_gate_is_shut(&calls.gate));
    *asked = '\0';
    app_listen(config.app_url.port);
    UNTIL_SERVED(strncmp(asked, "POST /warm ", 11) == 0);
}

Test(readiness, has_each_start_warmed_up_even_one_that_answers_its_first_check)
{
    config.app_warmup = HL_STR("POST /warm");
    config.app_health_path = HL_STR("/health");
    config.response_grace_period_ms = 600000;
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    app_listen(0);
    start();
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    hl_readiness_rest(&readiness, "it is stopped");
    *asked = '\0';
    hl_readiness_release(&readiness, "it is started");
    UNTIL_SERVED(strncmp(asked, "POST /warm ", 11) == 0 || hl_readiness_is_ready(&readiness));
    cr_assert_not(hl_readiness_is_ready(&readiness));
}

static bool is_hung;

static void on_hung(struct hl_readiness *r)
{
    (void)r;
    is_hung = true;
}

Test(readiness, takes_an_app_for_hung_that_answers_no_check_and_sends_nothing_to_its_calls)
{
    config.app_restart_after_ms = 1;
    int silent = fall_silent();
    readiness.on_hung = on_hung;
    for (int i = 0; i < 3; i++) {
        UNTIL_SERVED(readiness.probe);
        hl_counter_add(&calling.member.heard, 1);
        UNTIL_SERVED(!readiness.probe);
    }
    cr_assert_not(is_hung, "it works");
    UNTIL_SERVED(is_hung);
    cr_assert(hl_readiness_is_ready(&readiness), "which says nothing of whether calls go in");
    close(silent);
    hl_pool_close(&calling);
    hl_pool_fini(&calling);
}

Test(readiness, takes_no_app_for_hung_that_starts)
{
    config.app_health_path = HL_STR("/health");
    config.app_restart_after_ms = 1;
    answer = "HTTP/1.1 503 Not yet\r\nContent-Length: 0\r\n\r\n";
    app_listen(0);
    start();
    readiness.on_hung = on_hung;
    UNTIL_SERVED(answered >= 4);
    cr_assert_not(is_hung);
}

Test(readiness, takes_nothing_for_a_verdict_that_comes_of_checks_left_behind_by_a_busy_app)
{
    int busy = fall_silent();
    UNTIL_SERVED(readiness.probe);
    UNTIL_SERVED(!readiness.probe);
    hl_counter_sub(&calling.member.busy_count, 1);
    app = busy;
    answer = NULL; /* it works them off, and closes each */
    for (int i = 0; i < 3; i++) {
        UNTIL_SERVED(readiness.probe);
        UNTIL_SERVED(!readiness.probe);
    }
    cr_assert(hl_readiness_is_ready(&readiness));
    UNTIL_SERVED(!hl_readiness_is_ready(&readiness)); /* it has had its time */
    hl_pool_close(&calling);
    hl_pool_fini(&calling);
}

/* ---- every order of checks and calls ---- */

static void wait_for_2xx(enum hl_app_gate rule);

/* An app that is well and does one thing at a time: B a call begins, E it ends; C a check begins, T it times
 * out, X it is cut, G it is answered; W what was left behind has been worked off. */
static const char orders[] = "BECTXGW";

static struct {
    bool is_inside, is_asked, has_been_inside, has_left_behind;
} busy_app;

/* False: such an app does not do that now. */
static bool may(char op)
{
    switch (op) {
    case 'B':
        return !busy_app.is_inside;
    case 'E':
        return busy_app.is_inside;
    case 'C':
        return !busy_app.is_asked;
    case 'T':
        return busy_app.is_asked && (busy_app.has_been_inside || busy_app.has_left_behind);
    case 'X':
        return busy_app.is_asked && busy_app.has_left_behind;
    case 'G':
        return busy_app.is_asked && !busy_app.is_inside;
    default:
        return busy_app.has_left_behind;
    }
}

static void note(char op)
{
    if (op == 'T')
        busy_app.has_left_behind |= busy_app.has_been_inside;
    if (op == 'G' || op == 'W')
        busy_app.has_left_behind = false;
    if (op == 'B' || op == 'E')
        busy_app.is_inside = op == 'B';
    if (op == 'C')
        busy_app.has_been_inside = false;
    if (op == 'C' || op == 'T' || op == 'X' || op == 'G')
        busy_app.is_asked = op == 'C';
    busy_app.has_been_inside |= busy_app.is_inside;
}

static bool is_possible(const char *word, int times)
{
    memset(&busy_app, 0, sizeof(busy_app));
    for (int i = 0; i < times; i++)
        for (const char *op = word; *op; op++) {
            if (!may(*op))
                return false;
            note(*op);
        }
    return true;
}

static int take_check(void)
{
    int fd = -1;
    UNTIL((fd = accept(app, NULL, NULL)) >= 0);
    return fd;
}

static void answer_check(const char *text)
{
    int fd = take_check();
    if (text) {
        take_request(fd);
        cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    }
    close(fd);
    UNTIL(!readiness.probe);
}

/* Its time is over: whatever the wheel holds but the pause between two checks. */
static void be_late(void)
{
    struct hl_timer *late = NULL;
    for (size_t i = 0; i < HL_WHEEL_SLOTS; i++)
        for (struct hl_list *node = wheel.slots[i].next; node != &wheel.slots[i];
             node = node->next) {
            struct hl_timer *timer = HL_CONTAINER_OF(node, struct hl_timer, node);
            if (timer != &readiness.timer && hl_timer_is_armed(timer))
                late = timer;
        }
    cr_assert_not_null(late);
    late->on_fire(late);
}

static void carry_out(char op, struct hl_pool *pool)
{
    if (op == 'B')
        hl_pool_member_note_busy(&pool->member);
    else if (op == 'E')
        hl_counter_sub(&pool->member.busy_count, 1);
    else if (op == 'W')
        readiness.excused_until = 0;
    else if (op == 'X')
        answer_check(NULL);
    else if (op == 'G')
        answer_check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    else if (op == 'C')
        readiness.timer.on_fire(&readiness.timer);
    else
        be_late();
    if (op == 'T') {
        cr_assert_null(readiness.probe);
        close(take_check());
    }
    hl_timer_disarm(&readiness.timer); /* only this test has checks begin */
}

static void try_word(const char *word, int times, struct hl_pool *pool)
{
    for (int i = 0; i < times; i++)
        for (const char *op = word; *op; op++) {
            carry_out(*op, pool);
            cr_assert(hl_readiness_is_ready(&readiness), "%s", word);
        }
    if (!busy_app.is_asked)
        carry_out('C', pool);
    if (busy_app.is_inside)
        carry_out('E', pool);
    carry_out('G', pool);
}

Test(readiness, makes_no_verdict_of_any_order_of_calls_and_of_checks_that_they_hold_up)
{
    static struct hl_mailbox mailbox;
    static struct hl_pool pool;
    enum { LONGEST = 8, TIMES = 4, OPS = sizeof(orders) - 1 };
    unsigned tried = 0;
    wait_for_2xx(HL_APP_GATE_ALWAYS);
    hl_pool_init(&pool,
        &(struct hl_pool_parts){&loop, &wheel, &reader, &config.app_url, &calls, &mailbox, NULL});
    UNTIL_SERVED(!readiness.probe);
    hl_timer_disarm(&readiness.timer);
    for (unsigned length = 1, all = OPS; length <= LONGEST; length++, all *= OPS)
        for (unsigned n = 0; n < all; n++) {
            char word[LONGEST + 1] = "";
            for (unsigned i = 0, rest = n; i < length; i++, rest /= OPS)
                word[i] = orders[rest % OPS];
            if (!is_possible(word, TIMES))
                continue;
            try_word(word, TIMES, &pool);
            tried++;
        }
    cr_assert_gt(tried, 200, "%u", tried);
    hl_pool_close(&pool);
    hl_pool_fini(&pool);
}

Test(readiness, begins_the_row_of_bad_checks_anew_when_one_was_no_verdict)
{
    static struct hl_mailbox mailbox;
    static struct hl_pool pool;
    config.app_health_path = HL_STR("/health");
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    app_listen(0);
    start();
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    hl_pool_init(&pool,
        &(struct hl_pool_parts){&loop, &wheel, &reader, &config.app_url, &calls, &mailbox, NULL});
    answer = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n";
    UNTIL_SERVED(readiness.bad_checks == 2);
    hl_counter_add(&pool.member.busy_count, 1);
    int busy = app;
    app = -1;
    UNTIL_SERVED(readiness.probe);
    UNTIL_SERVED(!readiness.probe);
    hl_counter_sub(&pool.member.busy_count, 1);
    app = busy;
    unsigned before = answered;
    UNTIL_SERVED(answered >= before + 2); /* what was left behind, and the next */
    UNTIL_SERVED(!readiness.probe);
    cr_assert(hl_readiness_is_ready(&readiness));
    hl_pool_close(&pool);
    hl_pool_fini(&pool);
}

Test(readiness, takes_no_check_for_late_whose_answer_is_there)
{
    config.app_health_path = HL_STR("/health");
    app_listen(0);
    start();
    int fd = -1;
    UNTIL((fd = accept(app, NULL, NULL)) >= 0);
    take_request(fd);
    const char *ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    cr_assert_eq(write(fd, ok, strlen(ok)), (ssize_t)strlen(ok));
    uv_sleep(2500); /* a loop that was held up runs its timers first */
    UNTIL(!readiness.probe);
    cr_assert(hl_readiness_is_ready(&readiness));
    close(fd);
}

Test(readiness, says_why)
{
    app_listen(0);
    app_stop();
    start();
    UNTIL_SERVED(strstr(hl_readiness_why(&readiness), "connection refused"));
}

Test(readiness, knows_unix_sockets)
{
    char dir[] = "/tmp/hl-readiness-XXXXXX";
    static struct sockaddr_un a = {.sun_family = AF_UNIX};
    cr_assert_not_null(mkdtemp(dir));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/app.sock", dir);
    config.app_url = (struct hl_app_url){.is_unix = true, .path = a.sun_path};
    start();
    UNTIL_SERVED(hl_timer_is_armed(&readiness.timer) && !readiness.probe);
    cr_assert_not(hl_readiness_is_ready(&readiness));
    app = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(app, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(app, 16), 0);
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    unlink(a.sun_path);
    rmdir(dir);
}

Test(readiness, is_not_there_and_asks_nobody_while_it_is_held)
{
    app_listen(0);
    start();
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
    hl_readiness_hold(&readiness, "for this reason");
    cr_assert_not(hl_readiness_is_ready(&readiness));
    cr_assert_str_eq(hl_readiness_why(&readiness), "for this reason");
    unsigned before = answered;
    uint64_t until = hl_clock_mono_ms() + 300; /* three probes of one that is not ready */
    while (hl_clock_mono_ms() < until) {
        loop_turns(1);
        app_turn();
    }
    cr_assert_leq(answered, before + 1, "one may have been on its way");
    cr_assert_not(hl_readiness_is_ready(&readiness));
    hl_readiness_release(&readiness, "it is starting");
    cr_assert_str_eq(hl_readiness_why(&readiness), "it is starting");
    UNTIL_SERVED(hl_readiness_is_ready(&readiness));
}

Test(readiness, may_end_in_the_middle_of_a_probe)
{
    config.app_health_path = HL_STR("/health");
    app_listen(0);
    start();
    UNTIL(readiness.probe);
    hl_readiness_close(&readiness);
    loop_turns(5);
    cr_assert_not(hl_readiness_is_ready(&readiness));
}

/* ---- the gate ---- */

static void wait_for_2xx(enum hl_app_gate rule)
{
    config.app_health_path = HL_STR("/health");
    hl_gate_close_at_start(&calls.gate, rule);
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    app_listen(0);
    start();
    UNTIL_SERVED(hl_gate_is_open(&calls.gate));
    cr_assert(hl_readiness_is_ready(&readiness));
}

Test(readiness, ends_with_one_refused_connection_where_the_gate_shuts_by_it)
{
    wait_for_2xx(HL_APP_GATE_START);
    app_stop();
    UNTIL_SERVED(hl_gate_is_shut(&calls.gate));
    cr_assert_not(hl_readiness_is_ready(&readiness));
    cr_assert_eq(readiness.bad_checks, 1);
}

Test(readiness, leaves_the_gate_open_after_three_bad_answers_unless_it_is_always_asked_for)
{
    wait_for_2xx(HL_APP_GATE_START);
    answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    UNTIL_SERVED(!hl_readiness_is_ready(&readiness));
    cr_assert(hl_gate_is_open(&calls.gate));
}

Test(readiness, shuts_the_gate_with_three_bad_answers_where_it_is_always_asked_for)
{
    wait_for_2xx(HL_APP_GATE_ALWAYS);
    answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    UNTIL_SERVED(hl_gate_is_shut(&calls.gate));
    cr_assert_geq(readiness.bad_checks, 3);
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    UNTIL_SERVED(hl_gate_is_open(&calls.gate));
}

Test(readiness, is_over_when_a_call_was_refused_and_asks_at_once)
{
    wait_for_2xx(HL_APP_GATE_START);
    UNTIL_SERVED(!readiness.probe && hl_timer_is_armed(&readiness.timer));
    hl_gate_close(&calls.gate, "a call was refused");
    hl_readiness_on_gate(&readiness);
    cr_assert_not(hl_readiness_is_ready(&readiness));
    cr_assert_not_null(readiness.probe);
    UNTIL_SERVED(hl_gate_is_open(&calls.gate));
}

Test(readiness, shuts_the_gate_while_it_is_held)
{
    wait_for_2xx(HL_APP_GATE_START);
    hl_readiness_hold(&readiness, "the app ended");
    cr_assert(hl_gate_is_shut(&calls.gate));
    hl_readiness_on_gate(&readiness);
    cr_assert_null(readiness.probe);
    hl_readiness_release(&readiness, "it is starting");
    UNTIL_SERVED(hl_gate_is_open(&calls.gate));
}
