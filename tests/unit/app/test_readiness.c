/* test_readiness.c - whether the app takes calls, against an app that the test itself plays. */
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

#define PATIENCE_MS 15000

static uv_loop_t loop;
static uv_timer_t pulse; /* so that UV_RUN_ONCE returns */
static struct hl_wheel wheel;
static struct hl_reader reader;
static struct hl_config config;
static struct hl_pool_group calls;
static struct hl_readiness readiness;
static int app = -1;       /* listens, non-blocking */
static const char *answer; /* to each probe; NULL: none */
static unsigned answered;
static char asked[512]; /* the last probe's request */

static void on_pulse(uv_timer_t *timer)
{
    (void)timer;
}

static void take_request(int fd)
{
    ssize_t n = -1;
    while (n <= 0) {
        uv_run(&loop, UV_RUN_ONCE); /* the probe sends it */
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

/* Runs loop and app until a claim holds; fails the test when it does not come true. */
#define UNTIL(claim)                                                                               \
    do {                                                                                           \
        uint64_t give_up = hl_clock_mono_ms() + PATIENCE_MS;                                       \
        while (!(claim)) {                                                                         \
            cr_assert_lt(hl_clock_mono_ms(), give_up, "never: " #claim);                           \
            uv_run(&loop, UV_RUN_ONCE);                                                            \
            app_turn();                                                                            \
        }                                                                                          \
    } while (0)

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
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(uv_timer_init(&loop, &pulse), 0);
    uv_timer_start(&pulse, on_pulse, 5, 5);
    cr_assert_eq(hl_wheel_init(&wheel, &loop), 0);
    cr_assert_eq(hl_reader_init(&reader, &loop), 0);
    hl_pool_group_init(&calls, true, 0);
    hl_readiness_init(&readiness, &loop, &wheel, &reader, &config, &calls);
    cr_assert_not(hl_readiness_is_ready(&readiness));
}

static void end(void)
{
    hl_readiness_close(&readiness);
    hl_wheel_close(&wheel);
    hl_reader_close(&reader);
    uv_close((uv_handle_t *)&pulse, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
    hl_reader_fini(&reader);
    if (app >= 0)
        app_stop();
}

TestSuite(readiness, .init = begin, .fini = end, .timeout = 60);

Test(readiness, follows_an_app_that_comes_and_goes)
{
    app_listen(0);
    app_stop();
    hl_readiness_start(&readiness);
    UNTIL(hl_timer_is_armed(&readiness.timer) && !readiness.probe && !readiness.resolving);
    cr_assert_not(hl_readiness_is_ready(&readiness));
    app_listen(config.app_url.port);
    UNTIL(hl_readiness_is_ready(&readiness));
    app_stop();
    UNTIL(!hl_readiness_is_ready(&readiness));
}

Test(readiness, asks_the_health_path)
{
    config.app_health_path = HL_STR("/health?deep=1");
    answer = "HTTP/1.1 204 No Content\r\n\r\n";
    app_listen(0);
    hl_readiness_start(&readiness);
    UNTIL(hl_readiness_is_ready(&readiness));
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
    hl_readiness_start(&readiness);
    for (size_t i = 0; i < HL_ARRAY_LEN(refusals); i++) {
        unsigned before = answered;
        answer = refusals[i].answer;
        UNTIL(answered >= before + 2); /* the first one's outcome is known by then */
        cr_assert_not(hl_readiness_is_ready(&readiness), "%s", refusals[i].what);
    }
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    UNTIL(hl_readiness_is_ready(&readiness));
}

Test(readiness, takes_no_timeout_for_an_answer_while_calls_are_inside)
{
    static struct hl_mailbox mailbox;
    static struct hl_pool pool;
    config.app_health_path = HL_STR("/health");
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    app_listen(0);
    hl_readiness_start(&readiness);
    UNTIL(hl_readiness_is_ready(&readiness));
    hl_pool_init(&pool, &loop, &wheel, &reader, &config.app_url, &calls, &mailbox);
    hl_counter_add(&pool.member.busy_count, 1);
    int silent = app;
    app = -1; /* takes connections, but nobody accepts them */
    for (int i = 0; i < 3; i++) {
        UNTIL(readiness.probe);
        UNTIL(!readiness.probe);
    }
    cr_assert(hl_readiness_is_ready(&readiness));
    hl_counter_sub(&pool.member.busy_count, 1);
    UNTIL(!hl_readiness_is_ready(&readiness));
    cr_assert_not_null(strstr(hl_readiness_why(&readiness), "HOOKLINE_APP_KEEPALIVE=off"));
    close(silent);
    hl_pool_close(&pool);
    hl_pool_fini(&pool);
}

Test(readiness, says_why)
{
    app_listen(0);
    app_stop();
    hl_readiness_start(&readiness);
    UNTIL(strstr(hl_readiness_why(&readiness), "connection refused"));
}

Test(readiness, knows_unix_sockets)
{
    char dir[] = "/tmp/hl-readiness-XXXXXX";
    static struct sockaddr_un a = {.sun_family = AF_UNIX};
    cr_assert_not_null(mkdtemp(dir));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/app.sock", dir);
    config.app_url = (struct hl_app_url){.is_unix = true, .path = a.sun_path};
    hl_readiness_start(&readiness);
    UNTIL(hl_timer_is_armed(&readiness.timer) && !readiness.probe);
    cr_assert_not(hl_readiness_is_ready(&readiness));
    app = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(app, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(app, 16), 0);
    UNTIL(hl_readiness_is_ready(&readiness));
    unlink(a.sun_path);
    rmdir(dir);
}

Test(readiness, is_not_there_and_asks_nobody_while_it_is_held)
{
    app_listen(0);
    hl_readiness_start(&readiness);
    UNTIL(hl_readiness_is_ready(&readiness));
    hl_readiness_hold(&readiness, "for this reason");
    cr_assert_not(hl_readiness_is_ready(&readiness));
    cr_assert_str_eq(hl_readiness_why(&readiness), "for this reason");
    unsigned before = answered;
    uint64_t until = hl_clock_mono_ms() + 300; /* three probes of one that is not ready */
    while (hl_clock_mono_ms() < until) {
        uv_run(&loop, UV_RUN_ONCE);
        app_turn();
    }
    cr_assert_leq(answered, before + 1, "one may have been on its way");
    cr_assert_not(hl_readiness_is_ready(&readiness));
    hl_readiness_release(&readiness, "it is starting");
    cr_assert_str_eq(hl_readiness_why(&readiness), "it is starting");
    UNTIL(hl_readiness_is_ready(&readiness));
}

Test(readiness, may_end_in_the_middle_of_a_probe)
{
    config.app_health_path = HL_STR("/health");
    app_listen(0);
    hl_readiness_start(&readiness);
    while (!readiness.probe)
        uv_run(&loop, UV_RUN_ONCE);
    hl_readiness_close(&readiness);
    for (int i = 0; i < 5; i++)
        uv_run(&loop, UV_RUN_ONCE);
    cr_assert_not(hl_readiness_is_ready(&readiness));
}
