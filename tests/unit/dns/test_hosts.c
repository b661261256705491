/* test_hosts.c - /etc/hosts, and names that are this machine's. */
#include "base/log.h"
#include "base/str.h"
#include "dns/hosts.h"

#include <criterion/criterion.h>

static const char text[] = "127.0.0.1\tlocalhost loop\n"
                           "# 10.0.0.9 db\n"
                           "10.0.0.1  DB db.test # 10.0.0.8 other\n"
                           "fd00::1 db\r\n"
                           "10.0.0.1 db\n"
                           "bad db\n"
                           "10.0.0.2\n"
                           "10.0.0.3 last";

static size_t find(const char *name, struct hl_ip *out, size_t max)
{
    return hl_hosts_find_in(HL_STR(text), hl_str_from(name), out, max);
}

Test(hosts, has_all_addresses_of_a_name_or_an_alias_in_any_case)
{
    struct hl_ip found[4];
    char is[HL_IP_TEXT];
    cr_assert_eq(find("db", found, 4), 2);
    hl_ip_format(&found[0], is);
    cr_expect_str_eq(is, "10.0.0.1");
    hl_ip_format(&found[1], is);
    cr_expect_str_eq(is, "fd00::1");
    cr_expect_eq(find("db.TEST.", found, 4), 1);
    cr_expect_eq(find("db", found, 1), 1);
    cr_expect_eq(find("last", found, 4), 1);
}

Test(hosts, has_nothing_of_other_names_comments_and_broken_lines)
{
    struct hl_ip found[4];
    static const char *const names[] = {"d", "other", "bad", "10.0.0.2", "#", "test", ""};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
        cr_expect_eq(find(names[i], found, 4), 0, "%s", names[i]);
    cr_expect_eq(hl_hosts_find_in((struct hl_str){NULL, 0}, HL_STR("db"), found, 4), 0);
}

Test(hosts, localhost_and_what_is_below_it_is_local)
{
    cr_expect(hl_hosts_is_local(HL_STR("localhost")) && hl_hosts_is_local(HL_STR("LocalHost.")));
    cr_expect(hl_hosts_is_local(HL_STR("a.localhost")));
    cr_expect_not(hl_hosts_is_local(HL_STR("alocalhost")));
    cr_expect_not(hl_hosts_is_local(HL_STR("localhost.test")) || hl_hosts_is_local(HL_STR("")));
}
