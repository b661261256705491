/* test_host.c - the addresses of the app's host, and their order. */
#include "app/host.h"

#include <criterion/criterion.h>

#include "config/choice.h"
#include "loop_fixture.h"

static struct hl_app_url url = {.host = (char *)"localhost", .port = 80};
static struct hl_host host;
static unsigned look_ups;

static void on_resolved(struct hl_host *resolved, int status)
{
    cr_assert_eq(resolved, &host);
    cr_assert_eq(status, 0);
    look_ups++;
}

static void begin(void)
{
    loop_begin();
    look_ups = 0;
    hl_host_init(&host, &loop, &url, on_resolved);
}

static void end(void)
{
    hl_host_close(&host);
    loop_end();
}

TestSuite(host, .init = begin, .fini = end, .timeout = 180);

static void add_address(uint64_t mark, uint32_t ipv4)
{
    struct hl_host_address *to = &host.addresses[host.address_count++];
    struct sockaddr_in *v4 = (struct sockaddr_in *)&to->socket;
    *to = (struct hl_host_address){.mark = mark};
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(ipv4);
    host.marks |= mark;
}

Test(host, puts_the_address_that_answered_first_and_leaves_the_others_in_order)
{
    for (unsigned i = 0; i < 3; i++)
        add_address(1u << i, INADDR_LOOPBACK + i);
    cr_assert(hl_host_prefer(&host, 4));
    cr_assert_not(hl_host_prefer(&host, 4), "it is the first");
    cr_assert_eq(hl_host_next(&host, 0)->mark, 4);
    cr_assert_eq(hl_host_next(&host, 4)->mark, 1);
    cr_assert_eq(hl_host_next(&host, 5)->mark, 2);
    cr_assert_null(hl_host_next(&host, 7));
}

Test(host, knows_an_address_again_after_another_look_up)
{
    cr_assert(hl_host_is_stale(&host, HL_HOST_FRESH_MS));
    cr_assert(hl_host_resolve(&host));
    UNTIL(look_ups == 1);
    cr_assert_not(hl_host_is_stale(&host, HL_HOST_FRESH_MS));
    unsigned n = host.address_count;
    uint64_t marks = host.marks, last = host.addresses[n - 1].mark;
    cr_assert_geq(n, 1);
    cr_assert_eq(host.added, marks);
    add_address(1ull << 63, 0xc0000201); /* one that the name does not have any more */
    hl_host_prefer(&host, last);
    cr_assert(hl_host_resolve(&host));
    UNTIL(look_ups == 2);
    cr_assert_eq(host.address_count, n);
    cr_assert_eq(host.marks, marks);
    cr_assert_eq(host.added, 0);
    cr_assert_eq(hl_host_next(&host, 0)->mark, last, "what answered is still the first");
}

Test(host, needs_no_look_up_of_an_address)
{
    static struct hl_app_url literal = {.host = (char *)"::1", .port = 80};
    hl_host_init(&host, &loop, &literal, on_resolved);
    cr_assert_not(hl_host_is_stale(&host, 0));
    cr_assert_eq(hl_host_next(&host, 0)->socket.ss_family, AF_INET6);
}
