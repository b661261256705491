#include <criterion/criterion.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "net/address.h"
#include "net/guard.h"

static const struct hl_cidr_list nothing;

static bool is_blocked(const char *text, const struct hl_cidr_list *allow)
{
    struct hl_ip ip;
    cr_assert(hl_ip_parse(hl_str_from(text), &ip), "%s", text);
    return hl_guard_is_blocked(&ip, allow);
}

Test(guard, blocks_both_ends_of_each_special_range_and_not_its_neighbours)
{
    static const struct {
        const char *before, *first, *last, *after;
    } cases[] = {
        {NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
        {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
        {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
        {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
        {"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"},
        {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
        {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
        {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
        {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
        {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
        {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
        {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
        {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
        {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
        {"223.255.255.255", "224.0.0.0", "255.255.255.255", NULL},
        {NULL, "::", "1fff:ffff::", "2000::1"},
        {"2000:ffff::", "2001::", "2001:1ff::", "2001:200::"},
        {"2001:db7::", "2001:db8::", "2001:db8:ffff::", "2001:db9::"},
        {"3ffe::", "3fff::", "3fff:fff::", "3fff:1000::"},
        {"3fff:ffff::", "4000::", "ffff::", NULL},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        cr_assert(is_blocked(cases[i].first, &nothing), "%s", cases[i].first);
        cr_assert(is_blocked(cases[i].last, &nothing), "%s", cases[i].last);
        if (cases[i].before)
            cr_assert_not(is_blocked(cases[i].before, &nothing), "%s", cases[i].before);
        if (cases[i].after)
            cr_assert_not(is_blocked(cases[i].after, &nothing), "%s", cases[i].after);
    }
}

Test(guard, looks_through_forms_that_carry_an_ipv4_address)
{
    static const struct {
        const char *address;
        bool is_blocked;
    } cases[] = {
        {"::ffff:127.0.0.1", true}, {"::ffff:93.184.216.34", false}, {"64:ff9b::127.0.0.1", true},
        {"64:ff9b::169.254.169.254", true}, {"64:ff9b::93.184.216.34", false},
        {"64:ff9b:1::93.184.216.34", true}, /* local use */
        {"2002:7f00:1::", true}, {"2002:a9fe:a9fe::1", true}, {"2002:5db8:d822::1", false},
        {"::127.0.0.1", true}, {"::93.184.216.34", true}, /* reserved, whatever it embeds */
        {"::ffff:0:127.0.0.1", true}, {"2001:0:5db8:d822::", true}, /* Teredo */
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        cr_assert_eq(
            is_blocked(cases[i].address, &nothing), cases[i].is_blocked, "%s", cases[i].address);
}

Test(guard, blocks_the_usual_suspects_of_ipv6)
{
    static const char *const bad[] = {
        "::1", "fe80::1", "fec0::1", "fd00::1", "fc00::1", "ff02::1", "100::1", "5f00::1"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert(is_blocked(bad[i], &nothing), "%s", bad[i]);
    cr_assert_not(is_blocked("2606:4700::1111", &nothing));
}

Test(guard, lets_through_what_the_operator_allowed)
{
    struct hl_cidr_list allow;
    struct hl_str bad;
    cr_assert_eq(hl_cidr_list_parse(HL_STR("10.1.0.0/16,::1"), &allow, &bad), HL_OK);
    cr_assert_not(is_blocked("10.1.2.3", &allow));
    cr_assert_not(is_blocked("64:ff9b::10.1.2.3", &allow));
    cr_assert_not(is_blocked("::1", &allow));
    cr_assert(is_blocked("10.2.2.3", &allow));
    cr_assert(is_blocked("127.0.0.1", &allow));
    hl_cidr_list_fini(&allow);
}

Test(guard, reads_every_spelling_of_an_address)
{
    static const struct {
        const char *host, *address;
        bool is_bracketed;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", false},
        {"127.0.0.1.", "127.0.0.1", false},
        {"127.1", "127.0.0.1", false},
        {"127.0.1", "127.0.0.1", false},
        {"2130706433", "127.0.0.1", false},
        {"0x7f000001", "127.0.0.1", false},
        {"0X7F.1", "127.0.0.1", false},
        {"017700000001", "127.0.0.1", false},
        {"0177.0.0.01", "127.0.0.1", false},
        {"0x7f.0.0x0.01", "127.0.0.1", false},
        {"00000000177.0.0.1", "127.0.0.1", false},
        {"0", "0.0.0.0", false},
        {"0x", "0.0.0.0", false},
        {"4294967295", "255.255.255.255", false},
        {"10.65535", "10.0.255.255", false},
        {"::1", "::1", true},
        {"::ffff:7f00:1", "127.0.0.1", true},
        {"fe80::1%25eth0", "fe80::1", true},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_ip ip;
        char text[HL_IP_TEXT];
        cr_assert(hl_guard_parse_host(hl_str_from(cases[i].host), cases[i].is_bracketed, &ip), "%s",
            cases[i].host);
        hl_ip_format(&ip, text);
        cr_assert_str_eq(text, cases[i].address, "%s: %s", cases[i].host, text);
    }
}

Test(guard, takes_everything_else_for_a_name)
{
    static const char *const names[] = {"", ".", "example.com", "127.0.0.1.example", "1.2.3.4.5",
        "256.1.1.1", "1.2.3.256", "1.2.65536", "1.16777216", "4294967296", "08.1.1.1", "0x1g",
        "1..2", "127.0.0.1..", "localhost", "99999999999999999999999999999999"};
    struct hl_ip ip;
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++)
        cr_assert_not(hl_guard_parse_host(hl_str_from(names[i]), false, &ip), "%s", names[i]);
}
