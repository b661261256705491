#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <sys/un.h>

#include "base/str.h"
#include "net/address.h"

static struct hl_ip ip(const char *text)
{
    struct hl_ip out;
    cr_assert(hl_ip_parse(hl_str_from(text), &out), "%s", text);
    return out;
}

Test(address, reads_and_writes_standard_text)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"0.0.0.0", "0.0.0.0"},
        {"192.0.2.7", "192.0.2.7"},
        {"255.255.255.255", "255.255.255.255"},
        {"::", "::"},
        {"::1", "::1"},
        {"2001:DB8:0:0::7", "2001:db8::7"},
        {"::ffff:192.0.2.7", "192.0.2.7"},
        {"::ffff:c000:207", "192.0.2.7"},
        {"fe80::1:2:3:4", "fe80::1:2:3:4"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char text[HL_IP_TEXT];
        struct hl_ip a = ip(cases[i].in);
        hl_ip_format(&a, text);
        cr_assert_str_eq(text, cases[i].out);
    }
}

Test(address, refuses_every_other_text)
{
    const struct hl_str bad[] = {HL_STR(""), HL_STR("1.2.3"), HL_STR("1.2.3.4.5"),
        HL_STR("1.2.3.256"), HL_STR("01.2.3.4"), HL_STR("0x7f.0.0.1"), HL_STR("2130706433"),
        HL_STR(" 1.2.3.4"), HL_STR("1.2.3.4 "), HL_STR("1.2.3.4\0"), HL_STR("fe80::1%eth0"),
        HL_STR("[::1]"), HL_STR("1:2:3:4:5:6:7"), HL_STR("::1::"), HL_STR("12345::"),
        HL_STR("example.com"),
        HL_STR("1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc")};
    struct hl_ip out;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_ip_parse(bad[i], &out), "%.*s", HL_STR_ARG(bad[i]));
}

Test(address, takes_both_families_from_sockets)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct sockaddr other = {.sa_family = AF_UNIX};
    struct hl_ip out;
    char text[HL_IP_TEXT];

    inet_pton(AF_INET, "192.0.2.7", &in.sin_addr);
    cr_assert(hl_ip_from_sockaddr((struct sockaddr *)&in, &out));
    cr_assert(hl_ip_is_v4(&out));
    hl_ip_format(&out, text);
    cr_assert_str_eq(text, "192.0.2.7");

    inet_pton(AF_INET6, "2001:db8::7", &in6.sin6_addr);
    cr_assert(hl_ip_from_sockaddr((struct sockaddr *)&in6, &out));
    cr_assert_not(hl_ip_is_v4(&out));
    hl_ip_format(&out, text);
    cr_assert_str_eq(text, "2001:db8::7");

    cr_assert_not(hl_ip_from_sockaddr(&other, &out));
}

Test(cidr, has_exactly_the_addresses_with_its_prefix)
{
    static const struct {
        const char *range, *address;
        bool is_in;
    } cases[] = {
        {"10.0.0.0/8", "10.255.255.255", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"172.16.0.0/12", "172.31.255.255", true},
        {"172.16.0.0/12", "172.32.0.0", false},
        {"192.0.2.7", "192.0.2.7", true},
        {"192.0.2.7/32", "192.0.2.8", false},
        {"0.0.0.0/0", "203.0.113.1", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "2001:db8::1", true},
        {"fd00::/8", "fdff::1", true},
        {"fd00::/8", "fe00::1", false},
        {"2001:db8::/33", "2001:db8:7fff::", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"::ffff:10.0.0.0/104", "10.1.2.3", true},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_cidr range;
        struct hl_ip address = ip(cases[i].address);
        cr_assert(hl_cidr_parse(hl_str_from(cases[i].range), &range), "%s", cases[i].range);
        cr_assert_eq(hl_cidr_has(&range, &address), cases[i].is_in, "%s %s", cases[i].range,
            cases[i].address);
    }
}

Test(cidr, refuses_what_is_no_range)
{
    static const char *const bad[] = {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
        "10.0.0.0/+8", "10.0.0.0/8 ", "10.0.0.0/08x", "10.0.0.1/8", "::1/64", "::/129", "10.0.0/8",
        "::ffff:10.0.0.0/8", "a/8", "10.0.0.0/8/8", "10.0.0.0/0000000008"};
    struct hl_cidr out;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_cidr_parse(hl_str_from(bad[i]), &out), "%s", bad[i]);
}

Test(cidr, list_is_searched_whole)
{
    struct hl_cidr_list list;
    struct hl_str bad;
    struct hl_ip first = ip("10.1.1.1"), last = ip("fd00::1"), none = ip("11.0.0.1");
    cr_assert_eq(
        hl_cidr_list_parse(HL_STR(" 10.0.0.0/8, 192.0.2.1 ,fd00::/8"), &list, &bad), HL_OK);
    cr_assert_eq(list.n, 3);
    cr_assert(hl_cidr_list_has(&list, &first));
    cr_assert(hl_cidr_list_has(&list, &last));
    cr_assert_not(hl_cidr_list_has(&list, &none));
    hl_cidr_list_fini(&list);
    cr_assert_not(hl_cidr_list_has(&list, &first));
}

Test(cidr, list_names_the_element_that_is_wrong)
{
    struct hl_cidr_list list;
    struct hl_str bad;
    cr_assert_eq(
        hl_cidr_list_parse(HL_STR("10.0.0.0/8,nonsense,::/0"), &list, &bad), HL_ERR_INVALID);
    cr_assert(hl_str_eq(bad, HL_STR("nonsense")));
    cr_assert_eq(list.n, 0);
    cr_assert_null(list.items);
}

Test(cidr, empty_text_is_the_empty_list)
{
    struct hl_cidr_list list;
    struct hl_str bad;
    cr_assert_eq(hl_cidr_list_parse(HL_STR(" , "), &list, &bad), HL_OK);
    cr_assert_eq(list.n, 0);
    hl_cidr_list_fini(&list);
}

Test(address, knows_the_machine_itself)
{
    static const struct {
        const char *text;
        bool is_loopback;
    } cases[] = {{"127.0.0.1", true}, {"127.255.255.255", true}, {"::1", true},
        {"::ffff:127.0.0.1", true}, {"126.0.0.1", false}, {"128.0.0.1", false}, {"::", false},
        {"::2", false}, {"::127.0.0.1", false}, {"0.0.0.0", false}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_ip ip;
        cr_assert(hl_ip_parse(hl_str_from(cases[i].text), &ip));
        cr_assert_eq(hl_ip_is_loopback(&ip), cases[i].is_loopback, "%s", cases[i].text);
    }
}

Test(address, reaches_what_listens_at_any_address_at_the_loopback_one)
{
    static const struct {
        int family;
        const char *listening, *host;
    } cases[] = {{AF_INET, "0.0.0.0", "127.0.0.1"}, {AF_INET, "10.1.2.3", "10.1.2.3"},
        {AF_INET6, "::", "[::1]"}, {AF_INET6, "fd00::1", "[fd00::1]"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct sockaddr_storage addr = {.ss_family = (sa_family_t)cases[i].family};
        char host[HL_ADDRESS_HOST];
        void *bytes = cases[i].family == AF_INET ? (void *)&((struct sockaddr_in *)&addr)->sin_addr
                                                 : &((struct sockaddr_in6 *)&addr)->sin6_addr;
        cr_assert_eq(inet_pton(cases[i].family, cases[i].listening, bytes), 1);
        struct sockaddr_storage there = hl_address_reach(&addr);
        hl_address_write_host(&there, host);
        cr_assert_str_eq(host, cases[i].host);
    }
}
