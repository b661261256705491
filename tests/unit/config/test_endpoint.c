#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>

#include "base/str.h"
#include "config/choice.h"
#include "config/endpoint.h"

Test(endpoint, reads_addresses_of_both_families)
{
    struct hl_listen_list list;
    cr_assert_eq(hl_listen_list_parse(HL_STR("127.0.0.1:9090, [::1]:0"), &list), HL_OK);
    cr_assert_eq(list.n, 2);
    struct sockaddr_in in;
    memcpy(&in, &list.items[0].addr, sizeof(in));
    cr_assert_eq(in.sin_family, AF_INET);
    cr_assert_eq(ntohs(in.sin_port), 9090);
    cr_assert_eq(ntohl(in.sin_addr.s_addr), INADDR_LOOPBACK);
    cr_assert_eq(list.items[0].addr_len, sizeof(in));
    cr_assert_str_eq(list.items[0].text, "127.0.0.1:9090");
    struct sockaddr_in6 in6;
    memcpy(&in6, &list.items[1].addr, sizeof(in6));
    cr_assert_eq(in6.sin6_family, AF_INET6);
    cr_assert_eq(in6.sin6_port, 0);
    cr_assert_eq(list.items[1].addr_len, sizeof(in6));
    hl_listen_list_fini(&list);
}

Test(endpoint, knows_what_a_port_alone_and_localhost_mean)
{
    struct hl_listen_list list;
    cr_assert_eq(hl_listen_list_parse(HL_STR(":8080,LocalHost:9090"), &list), HL_OK);
    cr_assert_str_eq(list.items[0].text, "0.0.0.0:8080");
    cr_assert_str_eq(list.items[1].text, "127.0.0.1:9090");
    hl_listen_list_fini(&list);
}

Test(endpoint, refuses_what_is_no_address_with_a_port)
{
    static const char *const bad[] = {"", ",", "8080", ":", ":x", "127.0.0.1",
        "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "localhost", "host:8080", "::1:8080",
        "[::1]", "[::1:8080", "[127.0.0.1]:80", "1.2.3:80", "0.0.0.0:8080,bad", "[::1%lo]:80",
        "[1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111]:80"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        struct hl_listen_list list;
        cr_assert_eq(
            hl_listen_list_parse(hl_str_from(bad[i]), &list), HL_ERR_INVALID, "%s", bad[i]);
        cr_assert_eq(list.n, 0);
    }
}

Test(endpoint, reads_where_the_app_is)
{
    static const struct {
        const char *text, *host, *path;
        uint16_t port;
    } cases[] = {
        {"http://127.0.0.1:8000", "127.0.0.1", NULL, 8000},
        {"http://app.internal", "app.internal", NULL, 80},
        {"http://app:8000/", "app", NULL, 8000},
        {"http://[::1]:8000", "::1", NULL, 8000},
        {"unix:/run/app.sock", NULL, "/run/app.sock", 0},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_app_url url;
        cr_assert_eq(
            hl_app_url_parse(hl_str_from(cases[i].text), &url), HL_OK, "%s", cases[i].text);
        cr_assert_eq(url.is_unix, cases[i].path != NULL);
        cr_assert_eq(url.port, cases[i].port);
        if (url.is_unix)
            cr_assert_str_eq(url.path, cases[i].path);
        else
            cr_assert_str_eq(url.host, cases[i].host);
        hl_app_url_fini(&url);
    }
}

Test(endpoint, refuses_apps_that_it_cannot_reach)
{
    /* Longer than sun_path. */
    static const char too_long[] =
        "unix:/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    static const char *const bad[] = {"", "127.0.0.1:8000", "https://app:8000", "http://",
        "http://app:0", "http://app:65536", "http://app:8000/base", "http://app/?q",
        "http://u:p@app:8000", "http://app:8000#x", "unix:", "unix:run/app.sock", "ftp://app",
        too_long};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        struct hl_app_url url;
        cr_assert_eq(hl_app_url_parse(hl_str_from(bad[i]), &url), HL_ERR_INVALID, "%s", bad[i]);
        cr_assert(url.host == NULL && url.path == NULL);
    }
}
