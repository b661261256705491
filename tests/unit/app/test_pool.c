/* test_pool.c - connections to the app, against listening sockets that the test itself plays. */
#include "app/pool.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/upstream.h"
#include "app/upstream_wait.h"
#include "loop_fixture.h"

static struct hl_app_url url = {.host = (char *)"127.0.0.1"};
static struct hl_pool_group group;
static struct hl_mailbox mailbox; /* of a worker that reads when the test does */
static struct hl_pool pool;

/* ---- the app that the test plays ---- */

static int app = -1; /* listens */

/* Port 0: any free one. Sets url.port. */
static void app_listen(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t n = sizeof(a);
    int on = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    app = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(app, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    cr_assert_eq(bind(app, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(app, 16), 0);
    cr_assert_eq(getsockname(app, (struct sockaddr *)&a, &n), 0);
    url.port = ntohs(a.sin_port);
}

static void app_stop(void)
{
    close(app);
    app = -1;
}

static int app_accept(void)
{
    int fd = accept(app, NULL, NULL);
    cr_assert_geq(fd, 0);
    return fd;
}

static void on_wake(void *arg)
{
    (void)arg;
}

static void begin(void)
{
    loop_begin();
    hl_pool_group_init(&group, true, 0);
    hl_mailbox_init(&mailbox, on_wake, NULL);
}

static void open_pool(void)
{
    hl_pool_init(
        &pool, &(struct hl_pool_parts){&loop, &wheel, &reader, &url, &group, &mailbox, NULL});
}

static void end(void)
{
    if (pool.loop)
        hl_pool_close(&pool);
    loop_end();
    cr_assert_eq(pool.open_count, 0);
    if (pool.loop)
        hl_pool_fini(&pool);
    if (app >= 0)
        app_stop();
}

TestSuite(pool, .init = begin, .fini = end, .timeout = 180);

/* ---- someone who waits ---- */

struct asker {
    struct hl_upstream_wait wait;
    struct hl_upstream *upstream;
    unsigned done;
    uint64_t done_at;
};

static void on_done(struct hl_upstream_wait *wait, struct hl_upstream *upstream)
{
    struct asker *a = HL_CONTAINER_OF(wait, struct asker, wait);
    a->upstream = upstream;
    a->done++;
    a->done_at = uv_now(&loop);
}

static void ask_pool(struct hl_pool *asked, struct asker *a, uint64_t timeout_ms)
{
    *a = (struct asker){.done = 0};
    hl_upstream_wait_init(&a->wait, on_done);
    hl_upstream_wait_begin(&a->wait, asked, timeout_ms);
    cr_assert_eq(a->done, 0, "not from inside the request");
}

static void ask(struct asker *a, uint64_t timeout_ms)
{
    ask_pool(&pool, a, timeout_ms);
}

static struct hl_upstream *connect_one(void)
{
    struct asker a;
    ask(&a, PATIENCE_MS);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
    cr_assert_eq(a.upstream->state, HL_UPSTREAM_BUSY);
    return a.upstream;
}

static bool sits_out_backoff(const struct asker *a)
{
    return !hl_upstream_wait_is_connecting(&a->wait) && hl_timer_is_armed(&a->wait.timer);
}

/* ---- reuse ---- */

Test(pool, hands_out_the_last_used_first)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *a = connect_one(), *b = connect_one();
    hl_pool_put(a);
    hl_pool_put(b);
    cr_assert_eq(hl_pool_take(&pool, true), b);
    cr_assert_eq(hl_pool_take(&pool, true), a);
    cr_assert_null(hl_pool_take(&pool, true));
    cr_assert_eq(a->calls, 1);
}

Test(pool, never_hands_out_what_the_app_closed)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    hl_pool_put(u);
    cr_assert_eq(pool.member.idle_count, 1);
    close(fd);
    UNTIL(pool.member.idle_count == 0);
    cr_assert_null(hl_pool_take(&pool, true));
    UNTIL(pool.open_count == 0);
}

Test(pool, never_hands_out_what_the_app_wrote_on_unasked)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    hl_pool_put(u);
    cr_assert_eq(write(fd, "HTTP/1.1 408 \r\n\r\n", 17), 17);
    UNTIL(pool.open_count == 0);
    cr_assert_null(hl_pool_take(&pool, true));
    close(fd);
}

Test(pool, never_hands_out_what_the_app_closed_since_the_loop_looked)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *a = connect_one(), *b = connect_one();
    int fd_a = app_accept(), fd_b = app_accept();
    hl_pool_put(a);
    hl_pool_put(b);
    close(fd_b);
    cr_assert_eq(hl_pool_take(&pool, true), a, "the next one that is open");
    hl_pool_put(a);
    close(fd_a);
    cr_assert_null(hl_pool_take(&pool, false));
    UNTIL(pool.open_count == 0);
}

Test(pool, never_hands_out_what_the_app_wrote_on_since_the_loop_looked)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    hl_pool_put(u);
    cr_assert_eq(write(fd, "HTTP/1.1 200 \r\n\r\n", 17), 17);
    cr_assert_null(hl_pool_take(&pool, true), "it would be taken for an answer");
    UNTIL(pool.open_count == 0);
    close(fd);
}

static bool learns_of_a_hasty_app(void)
{
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    hl_pool_put(u);
    close(fd);
    UNTIL(pool.member.idle_count == 0);
    return pool.wary_until > uv_now(&loop);
}

Test(pool, gives_a_request_that_cannot_be_repeated_only_what_has_settled_once_the_app_was_hasty)
{
    app_listen(0);
    open_pool();
    cr_assert(learns_of_a_hasty_app());
    struct hl_upstream *a = connect_one(), *b = connect_one();
    hl_pool_put(a);
    hl_pool_put(b);
    cr_assert_null(hl_pool_take(&pool, false), "their close may be on its way");
    cr_assert_eq(hl_pool_take(&pool, true), b, "it can be repeated");
    hl_pool_put(b);
    a->idle_since -= HL_POOL_SETTLE_MS;
    cr_assert_eq(hl_pool_take(&pool, false), a);
    pool.wary_until = uv_now(&loop);
    cr_assert_eq(hl_pool_take(&pool, false), b, "it is given another chance");
}

Test(pool, takes_an_app_that_closes_later_for_one_that_keeps_connections)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    hl_pool_put(u);
    u->idle_since -= HL_POOL_SETTLE_MS;
    close(fd);
    UNTIL(pool.member.idle_count == 0);
    cr_assert_eq(pool.wary_until, 0);
}

Test(pool, gives_a_request_that_cannot_be_repeated_a_fresh_one_only)
{
    app_listen(0);
    open_pool();
    hl_pool_put(connect_one());
    struct hl_upstream *u = hl_pool_take(&pool, false);
    cr_assert_not_null(u, "just used");
    hl_pool_put(u);
    u->idle_since -= HL_UPSTREAM_FRESH_MS + 1;
    cr_assert_null(hl_pool_take(&pool, false));
    cr_assert_eq(hl_pool_take(&pool, true), u);
}

Test(pool, believes_how_long_the_app_says_it_keeps_a_connection)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    u->keep_ms = 4000;
    hl_pool_put(u);
    u->idle_since -= 3900;
    cr_assert_eq(hl_pool_take(&pool, false), u);
    hl_pool_put(u);
    u->idle_since -= 4100;
    cr_assert_null(hl_pool_take(&pool, false));
    u = hl_pool_take(&pool, true);
    u->keep_ms = 1; /* Keep-Alive: timeout=1 */
    hl_pool_put(u);
    u->idle_since -= 2;
    cr_assert_null(hl_pool_take(&pool, false));
}

Test(pool, does_not_keep_what_is_not_clean)
{
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    hl_stream_pause(&u->stream); /* its close would not be seen */
    hl_pool_put(u);
    cr_assert_null(hl_pool_take(&pool, true));
    UNTIL(pool.open_count == 0);
}

/* ---- several pools ---- */

static struct hl_pool other;
static struct hl_mailbox other_mailbox;

static void open_two(uint32_t limit)
{
    hl_pool_group_init(&group, true, limit);
    hl_mailbox_init(&other_mailbox, on_wake, NULL);
    open_pool();
    hl_pool_init(&other,
        &(struct hl_pool_parts){&loop, &wheel, &reader, &url, &group, &other_mailbox, NULL});
}

static void close_other(void)
{
    hl_pool_close(&other);
    UNTIL(other.open_count == 0);
    hl_pool_fini(&other);
}

Test(pool, keeps_nothing_when_it_is_told_so)
{
    app_listen(0);
    hl_pool_group_init(&group, false, 0);
    open_pool();
    hl_pool_put(connect_one());
    cr_assert_null(hl_pool_take(&pool, true));
    UNTIL(pool.open_count == 0);
}

Test(pool, keeps_no_more_than_the_limit_over_all_workers)
{
    struct asker a;
    app_listen(0);
    open_two(1);
    hl_pool_put(connect_one());
    cr_assert_eq(pool.member.idle_count, 1, "one may be kept");
    ask_pool(&other, &a, PATIENCE_MS);
    struct hl_msg *msg = hl_mailbox_take(&mailbox);
    cr_assert_eq(msg, &pool.member.room, "it is asked to make room");
    cr_assert_null(msg->next);
    hl_pool_on_room(msg);
    cr_assert_eq(pool.member.idle_count, 0);
    UNTIL(a.done);
    hl_pool_put(a.upstream);
    cr_assert_eq(other.member.idle_count, 1, "the other keeps its own now");
    cr_assert_eq(group.open, 1);
    close_other();
}

Test(pool, does_not_keep_a_connection_that_is_one_too_many)
{
    struct asker a;
    app_listen(0);
    open_two(1);
    struct hl_upstream *u = connect_one();
    ask_pool(&other, &a, PATIENCE_MS);
    cr_assert_null(hl_mailbox_take(&mailbox), "it has none to close");
    UNTIL(a.done);
    hl_pool_put(u);
    cr_assert_eq(pool.member.idle_count, 0);
    cr_assert_eq(group.open, 1);
    close_other();
}

Test(pool, knows_whether_calls_are_inside)
{
    app_listen(0);
    open_pool();
    cr_assert_not(hl_pool_group_is_busy(&group));
    struct hl_upstream *u = connect_one();
    cr_assert(hl_pool_group_is_busy(&group));
    hl_pool_put(u);
    cr_assert_not(hl_pool_group_is_busy(&group));
    u = hl_pool_take(&pool, true);
    cr_assert(hl_pool_group_is_busy(&group));
    hl_upstream_close(u);
    cr_assert_not(hl_pool_group_is_busy(&group));
}

/* ---- events ---- */

struct call {
    char bytes[16];
    size_t n;
    unsigned ends;
};

static void on_call_event(void *owner, const struct hl_stream_event *event)
{
    struct call *call = owner;
    if (event->kind == HL_STREAM_DATA) {
        memcpy(call->bytes + call->n, event->p, event->n);
        call->n += event->n;
    } else if (event->kind == HL_STREAM_EOF) {
        call->ends++;
    }
}

Test(pool, gives_the_events_to_the_owner_until_it_closes)
{
    struct call call = {.n = 0};
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    hl_upstream_own(u, &call, on_call_event);
    cr_assert_eq(write(fd, "answer", 6), 6);
    UNTIL(call.n == 6);
    close(fd);
    UNTIL(call.ends == 1);
    hl_upstream_close(u);
    UNTIL(pool.open_count == 0);
    cr_assert_eq(call.ends, 1);
}

/* ---- connecting ---- */

Test(pool, connects_once_the_app_is_there)
{
    struct asker a;
    app_listen(0);
    app_stop();
    open_pool();
    ask(&a, PATIENCE_MS);
    UNTIL(a.wait.backoff_ms > 50); /* refused more than once */
    cr_assert_eq(a.done, 0);
    app_listen(url.port);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
}

Test(pool, connects_to_nobody_while_it_is_barred)
{
    struct asker a;
    app_listen(0);
    open_pool();
    hl_pool_group_bar(&group, true);
    ask(&a, PATIENCE_MS);
    cr_assert(sits_out_backoff(&a));
    cr_assert_eq(pool.open_count, 0);
    cr_assert_eq(a.wait.cause.kind, HL_CAUSE_OCCUPIED);
    hl_pool_group_bar(&group, false);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
}

Test(pool, gives_up_at_the_deadline)
{
    struct asker a;
    app_listen(0);
    app_stop();
    open_pool();
    uint64_t deadline = uv_now(&loop) + 120;
    ask(&a, 120);
    UNTIL(a.done);
    cr_assert_null(a.upstream);
    cr_assert_eq(a.wait.cause.kind, HL_CAUSE_REFUSED);
    cr_assert_geq(a.done_at, deadline);
    cr_assert_leq(a.done_at, deadline + 1000);
}

/* The refusal is heard behind the deadline, before the tick that fires for it. */
Test(pool, gives_up_when_a_connect_fails_behind_the_deadline)
{
    struct asker a;
    app_listen(0);
    app_stop();
    open_pool();
    ask(&a, PATIENCE_MS);
    a.wait.backoff_ms = PATIENCE_MS;
    a.wait.deadline = uv_now(&loop) - 1;
    UNTIL(a.done);
    cr_assert_null(a.upstream);
    cr_assert_eq(a.wait.cause.kind, HL_CAUSE_REFUSED);
}

Test(pool, says_nothing_after_a_cancel)
{
    struct asker connecting, sitting, never;
    open_pool();
    hl_upstream_wait_init(&never.wait, on_done);
    hl_upstream_wait_cancel(&never.wait); /* harmless */
    app_listen(0);
    ask(&connecting, PATIENCE_MS);
    cr_assert(hl_upstream_wait_is_connecting(&connecting.wait));
    hl_upstream_wait_cancel(&connecting.wait);
    UNTIL(pool.open_count == 0);
    app_stop();
    ask(&sitting, 50);
    UNTIL(sits_out_backoff(&sitting));
    hl_upstream_wait_cancel(&sitting.wait);
    uint64_t later = uv_now(&loop) + 200; /* well behind the deadline */
    UNTIL(uv_now(&loop) > later);
    cr_assert_eq(connecting.done + sitting.done, 0);
    cr_assert_eq(pool.open_count, 0);
}

Test(pool, serves_a_waiter_with_what_comes_back)
{
    struct asker first, second;
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    app_stop(); /* no new connections; the one that is there stays */
    ask(&first, PATIENCE_MS);
    ask(&second, PATIENCE_MS);
    UNTIL(sits_out_backoff(&first) && sits_out_backoff(&second));
    hl_pool_put(u);
    cr_assert_eq(first.done, 1);
    cr_assert_eq(first.upstream, u);
    cr_assert_eq(u->state, HL_UPSTREAM_BUSY);
    cr_assert_eq(second.done, 0);
    hl_upstream_wait_cancel(&second.wait);
    close(fd);
}

Test(pool, serves_no_waiter_with_what_the_app_has_closed)
{
    struct asker a;
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    app_stop();
    ask(&a, PATIENCE_MS);
    UNTIL(sits_out_backoff(&a));
    close(fd);
    hl_pool_put(u);
    cr_assert_eq(a.done, 0);
    hl_upstream_wait_cancel(&a.wait);
    UNTIL(pool.open_count == 0);
}

Test(pool, resolves_a_name)
{
    static struct hl_app_url named = {.host = (char *)"localhost"};
    struct asker a;
    app_listen(0);
    named.port = url.port;
    hl_pool_init(
        &pool, &(struct hl_pool_parts){&loop, &wheel, &reader, &named, &group, &mailbox, NULL});
    ask(&a, PATIENCE_MS);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
}

Test(pool, speaks_to_a_unix_socket)
{
    static struct hl_app_url local = {.is_unix = true};
    char dir[] = "/tmp/hl-pool-XXXXXX";
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct call call = {.n = 0};
    cr_assert_not_null(mkdtemp(dir));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/app.sock", dir);
    app = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(app, (struct sockaddr *)&a, sizeof(a)), 0);
    cr_assert_eq(listen(app, 1), 0);
    local.path = a.sun_path;
    hl_pool_init(
        &pool, &(struct hl_pool_parts){&loop, &wheel, &reader, &local, &group, &mailbox, NULL});
    struct hl_upstream *u = connect_one();
    int fd = app_accept();
    hl_upstream_own(u, &call, on_call_event);
    cr_assert_eq(hl_stream_write(&u->stream, "ping", 4), HL_OK);
    char got[8];
    cr_assert_eq(read(fd, got, sizeof(got)), 4);
    cr_assert_eq(write(fd, "pong", 4), 4);
    UNTIL(call.n == 4);
    hl_pool_put(u);
    cr_assert_eq(hl_pool_take(&pool, true), u);
    close(fd);
    unlink(a.sun_path);
    rmdir(dir);
}

/* ---- the gate ---- */

static void turn_gate(enum hl_cause_kind found)
{
    struct hl_cause cause = {.kind = found};
    hl_gate_end_check(&group.gate, hl_gate_begin_check(&group.gate), cause, false);
    hl_pool_on_gate(&pool);
}

static void wait_for_2xx(void)
{
    hl_gate_close_at_start(&group.gate, HL_APP_GATE_START);
}

Test(pool, connects_nobody_while_the_gate_is_shut_and_everybody_at_once_when_it_opens)
{
    struct asker a, b;
    app_listen(0);
    open_pool();
    wait_for_2xx();
    ask(&a, PATIENCE_MS);
    ask(&b, PATIENCE_MS);
    loop_turns(5);
    cr_assert_eq(pool.open_count, 0);
    turn_gate(HL_CAUSE_NONE);
    cr_assert(hl_upstream_wait_is_connecting(&a.wait) && hl_upstream_wait_is_connecting(&b.wait));
    UNTIL(a.done && b.done);
    cr_assert(a.upstream && b.upstream);
}

Test(pool, gives_a_wait_up_whose_time_is_over_while_the_gate_is_shut)
{
    struct asker a;
    app_listen(0);
    open_pool();
    wait_for_2xx();
    ask(&a, 50);
    UNTIL(a.done);
    cr_assert_null(a.upstream);
}

Test(pool, shuts_the_gate_when_its_connection_is_refused_and_stays_away_from_the_next_app)
{
    struct asker a;
    app_listen(0);
    app_stop();
    open_pool();
    wait_for_2xx();
    turn_gate(HL_CAUSE_NONE);
    ask(&a, PATIENCE_MS);
    UNTIL(hl_gate_is_shut(&group.gate));
    app_listen(url.port); /* it loads */
    loop_turns(20);
    cr_assert_eq(pool.open_count, 0);
    turn_gate(HL_CAUSE_NONE);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
}

Test(pool, gives_no_connection_that_came_back_while_the_gate_is_shut)
{
    struct asker a;
    app_listen(0);
    open_pool();
    struct hl_upstream *u = connect_one();
    wait_for_2xx();
    ask(&a, PATIENCE_MS);
    hl_pool_put(u);
    cr_assert_eq(a.done, 0);
    hl_pool_on_gate(&pool);
    cr_assert_eq(pool.member.idle_count, 0);
    hl_upstream_wait_cancel(&a.wait);
}

Test(pool, opens_what_was_only_lost_with_a_connection_of_its_own)
{
    app_listen(0);
    open_pool();
    hl_gate_close_at_start(&group.gate, HL_APP_GATE_OFF);
    cr_assert_eq(hl_gate_state(&group.gate), HL_GATE_LOST);
    hl_pool_put(connect_one());
    cr_assert(hl_gate_is_open(&group.gate));
}
