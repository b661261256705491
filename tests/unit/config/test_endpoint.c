#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/compiler.h"
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
        {"https://app.internal", "app.internal", NULL, 443},
        {"https://[::1]:8443/", "::1", NULL, 8443},
        {"unix:/run/app.sock", NULL, "/run/app.sock", 0},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_app_url url;
        cr_assert_eq(
            hl_app_url_parse(hl_str_from(cases[i].text), &url), HL_OK, "%s", cases[i].text);
        cr_assert_eq(url.is_unix, cases[i].path != NULL);
        cr_assert_eq(url.is_tls, cases[i].text[4] == 's');
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
    static const char *const bad[] = {"", "127.0.0.1:8000", "https://", "https:unix:/a", "http://",
        "http://app:0", "http://app:65536", "http://app:8000/base", "http://app/?q",
        "http://u:p@app:8000", "http://app:8000#x", "unix:", "unix:run/app.sock", "ftp://app",
        too_long};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        struct hl_app_url url;
        cr_assert_eq(hl_app_url_parse(hl_str_from(bad[i]), &url), HL_ERR_INVALID, "%s", bad[i]);
        cr_assert(url.host == NULL && url.path == NULL);
    }
}

Test(endpoint, writes_the_host_of_an_app_in_brackets_where_that_is_an_address_of_ipv6)
{
    static const struct {
        const char *text, *line;
    } cases[] = {{"http://app:8000", "Host: app\r\n"}, {"http://127.0.0.1", "Host: 127.0.0.1\r\n"},
        {"http://[::1]:8000", "Host: [::1]\r\n"}, {"unix:/run/app", "Host: localhost\r\n"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_app_url url;
        struct hl_buf line;
        hl_buf_init(&line, 0);
        cr_assert_eq(hl_app_url_parse(hl_str_from(cases[i].text), &url), HL_OK);
        cr_assert_eq(hl_app_url_write_host(&url, &line), HL_OK);
        cr_assert(hl_str_eq(hl_buf_str(&line), hl_str_from(cases[i].line)), "%s", cases[i].text);
        hl_buf_fini(&line);
        hl_app_url_fini(&url);
    }
}

Test(replica, has_the_name_of_the_host)
{
    char name[HL_REPLICA_MAX + 1], host[HL_REPLICA_MAX + 1] = "";
    hl_replica_by_host(name);
    cr_assert(hl_replica_is_valid(hl_str_from(name)));
    if (gethostname(host, sizeof(host)) == 0 && hl_replica_is_valid(hl_str_from(host)))
        cr_assert_str_eq(name, host);
    else
        cr_assert_str_eq(name, "hookline");
}

Test(replica, has_a_name_that_lines_and_labels_can_hold)
{
    static char longest[HL_REPLICA_MAX + 1];
    memset(longest, 'x', sizeof(longest));
    cr_assert(hl_replica_is_valid(HL_STR("words-0.words:8080/a")));
    cr_assert(hl_replica_is_valid((struct hl_str){longest, HL_REPLICA_MAX}));
    cr_assert_not(hl_replica_is_valid((struct hl_str){longest, HL_REPLICA_MAX + 1}));
    cr_assert_not(hl_replica_is_valid(HL_STR("")));
    cr_assert_not(hl_replica_is_valid(HL_STR("two words")));
    cr_assert_not(hl_replica_is_valid(HL_STR("a\tb")));
    cr_assert_not(hl_replica_is_valid(HL_STR("\xc3\xbc")));
}

/* ---- where others reach it ---- */

static const char *url_of(const char *const addresses[])
{
    static char url[HL_REPLICA_URL_MAX + 1];
    struct hl_listen_address items[4] = {0};
    struct hl_listen_list list = {.items = items};
    for (; addresses[list.n]; list.n++) {
        const char *colon = strrchr(addresses[list.n], ':');
        char host[64] = "";
        int port = atoi(colon + 1);
        memcpy(host, addresses[list.n], (size_t)(colon - addresses[list.n]));
        struct sockaddr_storage *address = &items[list.n].addr;
        cr_assert(uv_ip4_addr(host, port, (struct sockaddr_in *)address) == 0 ||
                      uv_ip6_addr(host, port, (struct sockaddr_in6 *)address) == 0,
            "%s", host);
    }
    hl_replica_url_by_listener(&list, false, url);
    return url;
}

#define URL_OF(...) url_of((const char *const[]){__VA_ARGS__, NULL})

Test(replica, is_reached_where_it_listens)
{
    cr_assert_str_eq(URL_OF("10.1.2.3:8080"), "http://10.1.2.3:8080");
    cr_assert_str_eq(URL_OF("fd00::1:8080"), "http://[fd00::1]:8080");
    cr_assert_str_eq(URL_OF("10.1.2.3:8080", "10.1.2.4:8081"), "http://10.1.2.3:8080");
}

Test(replica, is_reached_over_tls_where_it_speaks_that)
{
    struct hl_listen_address item = {0};
    char url[HL_REPLICA_URL_MAX + 1];
    cr_assert_eq(uv_ip6_addr("fd00::1", 8443, (struct sockaddr_in6 *)&item.addr), 0);
    hl_replica_url_by_listener(&(struct hl_listen_list){.items = &item, .n = 1}, true, url);
    cr_assert_str_eq(url, "https://[fd00::1]:8443");
}

Test(replica, is_reached_at_an_address_that_others_can_use_where_it_listens_on_any)
{
    const char *url = URL_OF("0.0.0.0:8080");
    if (!*url) /* a machine without a network */
        return;
    cr_assert(strstr(url, ":8080"), "%s", url);
    cr_assert_not(strstr(url, "0.0.0.0"), "%s", url);
    cr_assert_not(strstr(url, "//127."), "%s", url);
}

Test(replica, is_reached_nowhere_where_its_port_is_not_known_or_it_listens_on_no_network)
{
    struct hl_listen_address unix_socket = {.addr.ss_family = AF_UNIX};
    struct hl_listen_list list = {.items = &unix_socket, .n = 1};
    char url[HL_REPLICA_URL_MAX + 1] = "x";
    cr_assert_str_eq(URL_OF("10.1.2.3:0"), "");
    cr_assert_str_eq(URL_OF("10.1.2.3:0", "10.1.2.4:8081"), "http://10.1.2.4:8081");
    hl_replica_url_by_listener(&list, false, url);
    cr_assert_str_eq(url, "");
    hl_replica_url_by_listener(&(struct hl_listen_list){0}, true, url);
    cr_assert_str_eq(url, "");
}
