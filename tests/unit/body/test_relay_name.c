/* test_relay_name.c - where another replica's host is. */
#include "body/relay_name.h"

#include <criterion/criterion.h>
#include <string.h>

#include "loop_fixture.h"

static struct hl_relay_names names;
static struct hl_relay_name name, other;
static unsigned found, missed;
static struct sockaddr_storage address;

static void begin(void)
{
    loop_begin();
    hl_relay_names_init(&names, &loop);
}

static void end(void)
{
    hl_relay_names_close(&names);
    loop_end();
}

TestSuite(relay_name, .init = begin, .fini = end, .timeout = 180);

static void on_found(struct hl_relay_name *n, const struct sockaddr_storage *a)
{
    (void)n;
    if (a)
        address = *a;
    *(a ? &found : &missed) += 1;
}

static void find(struct hl_relay_name *n, const char *host)
{
    strcpy(n->host, host);
    n->on_found = on_found;
    hl_relay_name_find(&names, n);
}

Test(relay_name, needs_no_look_up_for_an_address)
{
    find(&name, "127.0.0.2");
    cr_assert_eq(found, 1);
    cr_assert_eq(address.ss_family, AF_INET);
    cr_assert_eq(ntohl(((struct sockaddr_in *)&address)->sin_addr.s_addr), 0x7f000002);
    find(&name, "::1");
    cr_assert_eq(found, 2);
    cr_assert_eq(address.ss_family, AF_INET6);
    cr_assert_null(names.resolving);
}

Test(relay_name, is_looked_up_once_for_all_who_ask)
{
    find(&name, "localhost");
    uv_getaddrinfo_t *under_way = names.resolving;
    cr_assert_not_null(under_way);
    find(&other, "localhost");
    cr_assert_eq(names.resolving, under_way);
    UNTIL(found == 2);
    cr_assert_null(names.resolving, "and no second time");
}

Test(relay_name, is_known_for_a_while)
{
    find(&name, "localhost");
    UNTIL(found == 1);
    find(&name, "localhost");
    cr_assert_eq(found, 2, "at once");
    names.found_ms -= 30 * 1000;
    find(&name, "localhost");
    cr_assert_eq(found, 2, "looked up anew");
    UNTIL(found == 3);
}

Test(relay_name, that_nobody_has_is_told)
{
    find(&name, "not a name");
    UNTIL(missed == 1);
    find(&name, "not a name");
    UNTIL(missed == 2);
}

Test(relay_name, does_not_wait_for_another_look_up_to_be_good)
{
    find(&name, "not a name");
    find(&other, "localhost");
    UNTIL(missed == 1 && found == 1);
}

Test(relay_name, is_not_told_after_it_was_cut)
{
    find(&name, "localhost");
    find(&other, "localhost");
    hl_relay_name_cut(&name);
    hl_relay_name_cut(&name); /* harmless */
    UNTIL(found == 1);
    loop_turns(2);
    cr_assert_eq(found, 1);
}

Test(relay_name, is_forgotten_with_the_loop)
{
    find(&name, "localhost");
    hl_relay_name_cut(&name);
    hl_relay_names_close(&names);
    UNTIL(loop_is_idle());
    cr_assert_eq(found + missed, 0);
}
