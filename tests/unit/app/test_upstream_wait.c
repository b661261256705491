/* test_upstream_wait.c - a name whose addresses differ: one that answers, one that refuses, one that is
 * silent. */
#include "app/upstream_wait.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/pool.h"
#include "app/upstream.h"
#include "loop_fixture.h"

#define FILLERS 4

static struct hl_app_url url = {.host = (char *)"app.invalid"};
static struct hl_pool_group group;
static struct hl_mailbox mailbox;
static struct hl_pool pool;
static int good = -1, silent = -1, fillers[FILLERS];

static void on_wake(void *arg)
{
    (void)arg;
}

static int listen_at(struct sockaddr_in *at, int backlog)
{
    socklen_t n = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    cr_assert_eq(bind(fd, (struct sockaddr *)at, n), 0);
    cr_assert_eq(listen(fd, backlog), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)at, &n), 0);
    return fd;
}

static struct sockaddr_in loopback(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* The next of the name's addresses. */
static void add_address(const struct sockaddr_in *at)
{
    struct hl_host_address *to = &pool.host.addresses[pool.host.address_count];
    to->mark = 1u << pool.host.address_count++;
    memcpy(&to->socket, at, sizeof(*at));
    pool.host.marks |= to->mark;
    pool.host.last_mark = to->mark;
}

static void add_good(void)
{
    struct sockaddr_in at = loopback();
    good = listen_at(&at, 16);
    add_address(&at);
}

/* A listener whose queue is full: the kernel drops what asks to be connected. */
static void add_silent(void)
{
    struct sockaddr_in at = loopback();
    silent = listen_at(&at, 0);
    for (unsigned i = 0; i < FILLERS; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&at, sizeof(at));
    }
    add_address(&at);
}

/* Returns it, so that somebody may listen there later. */
static struct sockaddr_in add_refusing(void)
{
    struct sockaddr_in at = loopback();
    close(listen_at(&at, 1));
    add_address(&at);
    return at;
}

static void open_pool(struct hl_pool *opened, struct hl_mailbox *box)
{
    hl_mailbox_init(box, on_wake, NULL);
    hl_pool_init(opened, &(struct hl_pool_parts){&loop, &wheel, &reader, &url, &group, box, NULL});
    opened->host.resolved_at = uv_now(&loop) + 3600000; /* nobody is asked for the name */
}

static void begin(void)
{
    loop_begin();
    hl_pool_group_init(&group, true, 0);
    open_pool(&pool, &mailbox);
}

static void end(void)
{
    hl_pool_close(&pool);
    loop_end();
    cr_assert_eq(pool.open_count, 0);
    hl_pool_fini(&pool);
    close(good);
    close(silent);
}

TestSuite(upstream_wait, .init = begin, .fini = end, .timeout = 180);

struct asker {
    struct hl_upstream_wait wait;
    struct hl_upstream *upstream;
    unsigned done;
};

static void on_done(struct hl_upstream_wait *wait, struct hl_upstream *upstream)
{
    struct asker *a = HL_CONTAINER_OF(wait, struct asker, wait);
    a->upstream = upstream;
    a->done++;
}

static void ask_pool(struct hl_pool *asked, struct asker *a, uint64_t timeout_ms)
{
    *a = (struct asker){.done = 0};
    hl_upstream_wait_init(&a->wait, on_done);
    hl_upstream_wait_begin(&a->wait, asked, timeout_ms);
}

static void ask(struct asker *a, uint64_t timeout_ms)
{
    ask_pool(&pool, a, timeout_ms);
}

Test(upstream_wait, asks_the_next_address_while_the_first_does_not_answer)
{
    struct asker a, b;
    add_silent();
    add_good();
    ask(&a, PATIENCE_MS);
    cr_assert_eq(a.wait.tried, 1);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
    cr_assert_eq(a.upstream->mark, 2);
    ask(&b, PATIENCE_MS);
    cr_assert_eq(b.wait.tried, 2, "what answered is asked first from then on");
    UNTIL(b.done);
    UNTIL(pool.open_count == 2);
}

Test(upstream_wait, divides_a_short_time_among_the_addresses)
{
    struct asker a;
    add_silent();
    add_good();
    ask(&a, 200);
    cr_assert_leq(a.wait.next_at, uv_now(&loop) + 100);
    UNTIL(a.done);
}

Test(upstream_wait, tells_all_who_wait_which_address_answers)
{
    struct asker a, b;
    add_silent();
    add_good();
    ask(&a, PATIENCE_MS);
    ask(&b, PATIENCE_MS);
    b.wait.next_at = b.wait.deadline; /* it would not ask another one itself */
    hl_timer_arm(&wheel, &b.wait.timer, PATIENCE_MS);
    UNTIL(a.done && b.done);
    cr_assert(a.upstream && b.upstream);
}

Test(upstream_wait, asks_the_next_address_at_once_when_one_refuses)
{
    struct asker a;
    add_refusing();
    add_good();
    ask(&a, PATIENCE_MS);
    a.wait.next_at = a.wait.deadline;
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
    cr_assert(hl_gate_is_open(&group.gate), "not all of them refused");
}

Test(upstream_wait, asks_again_what_refused_while_another_address_does_not_answer)
{
    struct asker a;
    add_silent();
    struct sockaddr_in at = add_refusing();
    ask(&a, PATIENCE_MS);
    UNTIL(a.wait.backoff_ms > 50); /* refused, and asked again */
    cr_assert(hl_upstream_wait_is_connecting(&a.wait));
    good = listen_at(&at, 16);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
    cr_assert_eq(a.upstream->mark, 2);
}

Test(upstream_wait, leaves_an_address_that_the_name_does_not_have_any_more)
{
    struct asker a;
    add_silent();
    ask(&a, PATIENCE_MS);
    struct hl_upstream *left = HL_CONTAINER_OF(a.wait.attempts.next, struct hl_upstream, node);
    pool.host.address_count = 0;
    pool.host.marks = 0;
    add_good();
    pool.host.addresses[0].mark = pool.host.marks = pool.host.added = 2;
    hl_upstream_wait_on_resolved(&pool.host, 0);
    cr_assert_eq(left->state, HL_UPSTREAM_CLOSING);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
    cr_assert_eq(a.upstream->mark, 2);
}

Test(upstream_wait, goes_on_with_all_attempts_until_it_is_cancelled)
{
    struct asker a;
    add_silent();
    add_silent();
    ask(&a, PATIENCE_MS);
    UNTIL(a.wait.tried == 3);
    cr_assert_eq(pool.open_count, 2);
    hl_upstream_wait_cancel(&a.wait);
    UNTIL(pool.open_count == 0);
    cr_assert_eq(a.done, 0);
}

/* ---- where room is short ---- */

#define PORTS 4

/* The good address, in a network with so many ports for connections. */
static void have_few_ports(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (unshare(CLONE_NEWNET) != 0)
        cr_skip_test("a network of its own is not possible here");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
    close(fd);
    add_good();
    fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
    cr_assert_eq(write(fd, "20000 20003", 11), 11);
    close(fd);
}

static void keep_all(struct hl_pool *keeper)
{
    struct asker all[PORTS];
    for (unsigned i = 0; i < PORTS; i++)
        ask_pool(keeper, &all[i], PATIENCE_MS);
    UNTIL(hl_counter_get(&keeper->member.busy_count) == PORTS);
    for (unsigned i = 0; i < PORTS; i++)
        hl_pool_put(all[i].upstream);
}

static void age_kept(struct hl_pool *keeper)
{
    HL_LIST_EACH (node, &keeper->idle)
        HL_CONTAINER_OF(node, struct hl_upstream, node)->idle_since -= HL_UPSTREAM_FRESH_MS + 1;
}

Test(upstream_wait, opens_a_connection_in_the_place_of_one_that_is_too_old)
{
    struct asker a, b;
    add_good();
    keep_all(&pool);
    ask(&a, PATIENCE_MS);
    UNTIL(a.done);
    cr_assert_eq(pool.member.idle_count, PORTS, "those that can still be used stay");
    hl_pool_put(a.upstream);
    age_kept(&pool);
    ask(&a, PATIENCE_MS);
    ask(&b, PATIENCE_MS);
    UNTIL(a.done && b.done);
    UNTIL(pool.open_count == PORTS + 1);
}

Test(upstream_wait, closes_a_kept_connection_where_no_port_is_free)
{
    struct asker all[PORTS], one;
    have_few_ports();
    keep_all(&pool);
    for (unsigned i = 0; i < PORTS; i++)
        ask(&all[i], PATIENCE_MS);
    ask(&one, 200);
    UNTIL(one.done);
    for (unsigned i = 0; i < PORTS; i++)
        cr_assert_not_null(all[i].upstream);
    cr_assert_null(one.upstream, "none is kept any more");
    cr_assert_eq(one.wait.cause.kind, HL_CAUSE_NO_PORT);
    cr_assert_eq(pool.member.idle_count, 0);
}

Test(upstream_wait, gets_the_place_of_another_workers_connection_where_no_port_is_free)
{
    static struct hl_pool other;
    static struct hl_mailbox other_mailbox;
    struct asker a;
    have_few_ports();
    open_pool(&other, &other_mailbox);
    other.host = pool.host;
    keep_all(&other);
    ask(&a, PATIENCE_MS);
    struct hl_msg *msg = hl_mailbox_take(&other_mailbox);
    cr_assert_eq(msg, &other.member.room);
    hl_pool_on_room(msg);
    cr_assert_eq(other.member.idle_count, PORTS - 1);
    UNTIL(a.done);
    cr_assert_not_null(a.upstream);
    for (unsigned i = 1; i < PORTS; i++)
        cr_assert_not_null(hl_pool_take(&other, true));
    struct asker b;
    ask(&b, PATIENCE_MS);
    hl_pool_on_room(hl_mailbox_take(&other_mailbox));
    hl_pool_put(HL_CONTAINER_OF(other.busy.next, struct hl_upstream, node));
    cr_assert_eq(other.member.idle_count, 0, "it is given up when it comes back");
    UNTIL(b.done);
    cr_assert_not_null(b.upstream);
    hl_pool_close(&other);
    UNTIL(other.open_count == 0);
    hl_pool_fini(&other);
}
