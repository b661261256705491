/* test_resolv_conf.c - resolv.conf and nsswitch.conf as glibc reads them. */
#include "base/log.h"
#include "base/str.h"
#include "dns/resolv_conf.h"

#include <criterion/criterion.h>

static struct hl_resolv_conf conf;

static void begin(void)
{
    conf = (struct hl_resolv_conf){.ndots = 1};
}

TestSuite(resolv_conf, .init = begin);

static void take(const char *text)
{
    begin();
    hl_resolv_conf_take(&conf, hl_str_from(text));
}

static void expect_server(size_t i, const char *text)
{
    char is[HL_IP_TEXT];
    hl_ip_format(&conf.servers[i].ip, is);
    cr_expect_str_eq(is, text);
}

Test(resolv_conf, names_three_servers_of_both_families_at_most)
{
    take("# nameserver 1.1.1.1\n; nameserver 1.1.1.1\nnameserver\t10.0.0.53 \r\nnameserver "
         "fd00::53\n"
         " nameserver 1.1.1.1\nnameserver 300.1.1.1\nnameserver x\nnameservers 1.1.1.1\n"
         "nameserver fe80::1%lo\nnameserver 10.0.0.54");
    cr_assert_eq(conf.servers_n, 3);
    expect_server(0, "10.0.0.53");
    expect_server(1, "fd00::53");
    expect_server(2, "fe80::1");
    cr_expect(conf.servers[0].scope == 0 && conf.servers[2].scope == 1);
}

Test(resolv_conf, the_last_search_list_or_domain_counts)
{
    take("search a.test b.test.\tc\nsearch d.test e.test\n");
    cr_assert_eq(conf.search_n, 2);
    cr_expect(hl_str_eq(conf.search[0], HL_STR("d.test")));
    cr_expect(hl_str_eq(conf.search[1], HL_STR("e.test")));
    take("search a.test\ndomain b.test. c.test\n");
    cr_assert_eq(conf.search_n, 1);
    cr_expect(hl_str_eq(conf.search[0], HL_STR("b.test")));
    take("search .\n");
    cr_assert_eq(conf.search_n, 1);
    cr_expect_eq(conf.search[0].n, 0, "the root");
}

Test(resolv_conf, a_search_list_without_end_is_cut)
{
    char text[8192] = "search";
    for (size_t i = 0; i < 40; i++)
        strcat(text, " d012345678901234567890123456789012345678901234567890123456789.test");
    take(text);
    cr_expect_eq(conf.search_n, HL_DNS_SEARCH_MAX);
}

Test(resolv_conf, options_add_up_and_unknown_ones_are_passed_over)
{
    take("options ndots:5 edns0 timeout:1\noptions rotate use-vc ndots:x\n");
    cr_expect(conf.ndots == 5 && conf.timeout_s == 1 && conf.rotates && conf.uses_tcp &&
              !conf.has_no_aaaa);
    take("options ndots:99 no-aaaa no-tld-query");
    cr_expect(conf.ndots == 15 && conf.has_no_aaaa && conf.has_no_tld_query && !conf.rotates);
    hl_resolv_conf_take_options(&conf, HL_STR("ndots:0"));
    cr_expect_eq(conf.ndots, 0, "RES_OPTIONS comes last");
}

/* "f" files, "d" servers, "m" a module; behind each the statuses that end it: Found, Absent, Unavailable,
 * Troubled. */
static void write_sources(char *out)
{
    for (size_t i = 0; i < conf.sources.n; i++) {
        const struct hl_name_source *source = &conf.sources.of[i];
        *out++ = "fdm"[source->kind];
        for (size_t k = 0; k < HL_NAME_STATUSES; k++)
            if (source->ends[k])
                *out++ = "FAUT"[k];
    }
    *out = '\0';
}

Test(resolv_conf, nsswitch_says_who_is_asked_in_which_order_and_what_ends_it)
{
    static const struct {
        const char *text, *sources;
        bool has_resolved;
    } cases[] = {{"hosts: files dns\n", "fFdF", false},
        {"passwd: files\nhosts:dns [!UNAVAIL=return] files # x", "dFATfF", false},
        {"hosts: dns [notfound=RETURN tryagain = Return]files", "dFATfF", false},
        {"hosts: dns [SUCCESS=continue !NOTFOUND=merge] files", "dfF", false},
        {"hosts: mymachines resolve [!UNAVAIL=return] files dns", "mFmFATfFdF", false},
        {"hosts: resolve [!UNAVAIL=return] files dns", "fFdFATfFdF", true},
        {"hosts: files", "fF", false}, {"hosts: dns", "dF", false}, {"#hosts: dns\n", "", false},
        {"hosts: myhostname\n", "", false}, {"hosts: dns [UNAVAIL", "", false},
        {"hosts: dns [WHAT=return] files", "", false}, {"hosts: [NOTFOUND=return] dns", "", false},
        {"hostsx: dns", "", false}, {" hosts dns", "dF", false}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char is[128];
        conf = (struct hl_resolv_conf){.has_resolved = cases[i].has_resolved};
        hl_resolv_conf_take_switch(&conf, hl_str_from(cases[i].text));
        write_sources(is);
        cr_expect_str_eq(is, cases[i].sources, "%s: %s", cases[i].text, is);
    }
}

Test(resolv_conf, of_this_machine_names_a_server)
{
    hl_resolv_conf_read(&conf);
    cr_expect_geq(conf.servers_n, 1);
}
