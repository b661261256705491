/* test_listener.c - listening sockets: taken ports, shared ports, waiting for room. */
#include "net/listener.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loop_fixture.h"

#define MOST 8

struct house {
    struct hl_listener listener;
    bool has_room;
    unsigned asked, offered, accepted;
    unsigned leaves;  /* so many times a connection is not taken, as if memory were short */
    bool is_reserved; /* the last connection took a descriptor of the reserve */
    struct hl_stream streams[MOST];
};

static struct house house = {.has_room = true}, other = {.has_room = true};
static unsigned closed;
static int callers[MOST], caller_count;
static unsigned reserve; /* so many more may have a descriptor of it */
static int idle = -1;    /* a descriptor that make_room finds */

static void on_event(struct hl_stream *stream, const struct hl_stream_event *event)
{
    (void)stream;
    closed += event->kind == HL_STREAM_CLOSED;
}

static bool may_accept(void *owner)
{
    struct house *h = owner;
    h->asked++;
    return h->has_room;
}

static bool make_room(void *owner)
{
    (void)owner;
    if (idle < 0)
        return false;
    close(idle);
    idle = -1;
    return true;
}

static bool may_use_reserve(void *owner)
{
    (void)owner;
    return reserve > 0 && reserve-- > 0;
}

static void on_connection(struct hl_listener *listener)
{
    struct house *h = listener->host.owner;
    if (h->offered++ < h->leaves)
        return;
    h->is_reserved = listener->is_from_reserve;
    struct hl_stream *s = &h->streams[h->accepted++];
    cr_assert_eq(hl_stream_init_tcp(s, &loop, &reader, on_event), 0);
    cr_assert_eq(hl_listener_accept(listener, s), 0);
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static struct hl_listener_host host_of(struct house *h)
{
    return (struct hl_listener_host){.loop = &loop,
        .wheel = &wheel,
        .owner = h,
        .may_accept = may_accept,
        .make_room = make_room,
        .may_use_reserve = may_use_reserve,
        .on_connection = on_connection};
}

static int open_house(struct house *h, uint16_t port)
{
    struct sockaddr_in a = loopback(port);
    const struct hl_listener_host host = host_of(h);
    return hl_listener_open(&h->listener, &host, (struct sockaddr *)&a, true);
}

static void call(uint16_t port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    callers[caller_count++] = fd;
}

static void begin(void)
{
    loop_begin();
}

static void close_house(struct house *h)
{
    hl_listener_close(&h->listener);
    hl_listener_close(&h->listener); /* harmless */
    for (unsigned i = 0; i < h->accepted; i++)
        hl_stream_close(&h->streams[i]);
}

static void end(void)
{
    close_house(&house);
    close_house(&other);
    loop_end();
    cr_assert_eq(closed, house.accepted + other.accepted);
    while (caller_count > 0)
        close(callers[--caller_count]);
}

TestSuite(listener, .init = begin, .fini = end, .timeout = 180);

Test(listener, accepts_on_the_port_it_names)
{
    cr_assert_eq(open_house(&house, 0), 0);
    uint16_t port = hl_listener_port(&house.listener);
    cr_assert_neq(port, 0);
    call(port);
    call(port);
    UNTIL(house.accepted == 2);
}

static int hold(const struct sockaddr_in *a)
{
    int fd, err = hl_listener_hold((const struct sockaddr *)a, &fd);
    cr_assert_eq(err != 0, fd < 0);
    if (fd >= 0)
        close(fd);
    return err;
}

Test(listener, finds_that_a_port_is_taken)
{
    cr_assert_eq(open_house(&house, 0), 0); /* a shared one, as another process has it */
    struct sockaddr_in a = loopback(hl_listener_port(&house.listener));
    cr_assert_eq(hold(&a), EADDRINUSE);
    close_house(&house);
    loop_turns(1);
    cr_assert_eq(hold(&a), 0);
    cr_assert_eq(open_house(&other, ntohs(a.sin_port)), 0, "its holder let go again");
}

Test(listener, shares_its_port_with_other_loops)
{
    cr_assert_eq(open_house(&house, 0), 0);
    uint16_t port = hl_listener_port(&house.listener);
    cr_assert_eq(open_house(&other, port), 0);
    for (int i = 0; i < MOST; i++)
        call(port);
    UNTIL(house.accepted + other.accepted == MOST);
}

Test(listener, reports_an_address_that_is_not_ours)
{
    struct sockaddr_in a = loopback(0);
    a.sin_addr.s_addr = inet_addr("192.0.2.1");
    const struct hl_listener_host host = host_of(&house);
    cr_assert_eq(
        hl_listener_open(&house.listener, &host, (struct sockaddr *)&a, true), UV_EADDRNOTAVAIL);
    cr_assert_eq(hold(&a), EADDRNOTAVAIL);
}

Test(listener, leaves_callers_waiting_until_there_is_room)
{
    house.has_room = false;
    cr_assert_eq(open_house(&house, 0), 0);
    uint16_t port = hl_listener_port(&house.listener);
    call(port);
    call(port);
    UNTIL(house.asked == 1);
    hl_listener_poke(&house.listener); /* still none */
    cr_assert_eq(house.asked, 2);
    cr_assert_eq(house.accepted, 0);
    cr_assert_not(uv_is_active(&house.listener.handle), "the loop does not spin meanwhile");
    house.has_room = true;
    hl_listener_poke(&house.listener);
    cr_assert_eq(house.accepted, 1);
    UNTIL(house.accepted == 2); /* the next one needs no poke */
    hl_listener_poke(&house.listener);
    cr_assert_eq(house.accepted, 2, "nobody waits");
}

Test(listener, hands_over_what_the_kernel_has_accepted)
{
    cr_assert_eq(open_house(&house, 0), 0);
    cr_assert_eq(hl_listener_take(&house.listener), -1);
    call(hl_listener_port(&house.listener));
    int fd = hl_listener_take(&house.listener);
    cr_assert_geq(fd, 0);
    cr_assert_eq(hl_listener_take(&house.listener), -1);
    char byte;
    cr_assert_eq(read(fd, &byte, 1), -1);
    cr_assert_eq(errno, EAGAIN);
    close(fd);
    close_house(&house);
    cr_assert_eq(hl_listener_take(&house.listener), -1);
}

Test(listener, offers_a_connection_again_that_was_not_taken_for_want_of_memory)
{
    house.leaves = 2;
    cr_assert_eq(open_house(&house, 0), 0);
    call(hl_listener_port(&house.listener));
    call(hl_listener_port(&house.listener));
    UNTIL(house.accepted == 2); /* nobody pokes it */
    cr_assert_eq(house.offered, 4);
}

static struct rlimit files_before;

/* No descriptor can be had from here on, but for those that are closed and those of the reserve. */
static void use_up_descriptors(unsigned reserved)
{
    int next = dup(STDIN_FILENO);
    cr_assert_geq(next, 0);
    close(next);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &files_before), 0);
    struct rlimit limit = {.rlim_cur = (rlim_t)next + reserved, .rlim_max = files_before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    hl_reserve_hold(reserved);
}

Test(listener, waits_without_a_descriptor_and_goes_on_when_there_is_one)
{
    cr_assert_eq(open_house(&house, 0), 0);
    call(hl_listener_port(&house.listener));
    call(hl_listener_port(&house.listener));
    use_up_descriptors(0);
    UNTIL(house.listener.is_waiting);
    cr_assert_not(uv_is_active(&house.listener.handle), "the loop does not spin meanwhile");
    cr_assert_eq(house.accepted, 0);
    setrlimit(RLIMIT_NOFILE, &files_before);
    UNTIL(house.accepted == 2); /* nobody was sent away */
}

Test(listener, takes_what_is_idle_and_then_of_the_reserve_when_descriptors_are_used_up)
{
    reserve = 1;
    idle = dup(STDIN_FILENO);
    cr_assert_eq(open_house(&house, 0), 0);
    for (int i = 0; i < 3; i++)
        call(hl_listener_port(&house.listener));
    use_up_descriptors(1);
    UNTIL(house.accepted == 1);
    cr_assert_eq(idle, -1);
    cr_assert_not(house.is_reserved);
    UNTIL(house.accepted == 2);
    cr_assert(house.is_reserved);
    UNTIL(house.listener.is_waiting);
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_lt(limit.rlim_cur, limit.rlim_max);
    int one_more = dup(STDIN_FILENO);
    cr_assert_eq(one_more, -1, "nobody else has got it");
    setrlimit(RLIMIT_NOFILE, &files_before);
    UNTIL(house.accepted == 3);
    cr_assert_not(house.is_reserved);
}
