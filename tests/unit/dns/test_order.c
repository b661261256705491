/* test_order.c - addresses in the order of RFC 6724, its own examples (10.2) among them. */
#include "base/log.h"
#include "base/str.h"
#include "dns/order.h"

#include <criterion/criterion.h>

static struct hl_ip ip(const char *text)
{
    struct hl_ip out;
    cr_assert(hl_ip_parse(hl_str_from(text), &out), "%s", text);
    return out;
}

/* `from` NULL: there is no way there. */
static struct hl_route route(const char *to, const char *from)
{
    struct hl_route out = {.to = ip(to), .has_source = from != NULL};
    if (from)
        out.from = ip(from);
    return out;
}

/* The first of the two comes first, however they stood. */
static void expect_first(struct hl_route first, struct hl_route second)
{
    for (int i = 0; i < 2; i++) {
        struct hl_route both[2] = {i ? second : first, i ? first : second};
        char is[HL_IP_TEXT];
        hl_order_routes(both, 2);
        hl_ip_format(&both[0].to, is);
        cr_expect(memcmp(&both[0].to, &first.to, sizeof(first.to)) == 0, "%s is first", is);
    }
}

Test(order, goes_by_the_rules_of_rfc_6724)
{
    expect_first(route("198.51.100.121", "198.51.100.117"), route("2001:db8:1::1", NULL));
    expect_first(
        route("2001:db8:1::1", "2001:db8:1::2"), route("198.51.100.121", "198.51.100.117"));
    expect_first(route("198.51.100.121", "198.51.100.117"), route("2001:db8:1::1", "fe80::1"));
    expect_first(
        route("2001:db8:1::1", "2001:db8:1::2"), route("2002:c633:6401::1", "2002:c633:6401::2"));
    expect_first(route("fe80::1", "fe80::2"), route("2001:db8:1::1", "2001:db8:1::2"));
    expect_first(route("2002:c633:6401::1", "2002:c633:6401::2"),
        route("2001:db8:1::1", "2002:c633:6401::2"));
    expect_first(
        route("2001:db8:1::1", "2001:db8:1::2"), route("2001:db8:3ffe::1", "2001:db8:1::2"));
    expect_first(route("::1", "::1"), route("127.0.0.1", "127.0.0.1"));
}

Test(order, leaves_a_name_servers_turns_as_they_are)
{
    struct hl_route turns[] = {route("10.0.0.3", "10.0.0.9"), route("10.0.0.1", "10.0.0.9"),
        route("10.0.0.8", "10.0.0.9"), route("10.0.0.2", NULL), route("10.0.0.7", NULL)};
    struct hl_route before[5];
    memcpy(before, turns, sizeof(turns));
    hl_order_routes(turns, 5);
    cr_expect_eq(memcmp(before, turns, sizeof(turns)), 0);
}

Test(order, knows_what_this_machine_reaches)
{
    struct hl_ip two[] = {ip("2001:db8::1"), ip("127.0.0.1")};
    struct hl_ip one = ip("127.0.0.1");
    hl_order_addresses(two, 2);
    hl_order_addresses(two, 0);
    hl_order_addresses(&one, 1);
    cr_expect(hl_ip_is_v4(&one));
}
