#include "config/replica.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

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
    hl_replica_url_by_listener(&list, url);
    return url;
}

#define URL_OF(...) url_of((const char *const[]){__VA_ARGS__, NULL})

Test(replica, is_reached_where_it_listens)
{
    cr_assert_str_eq(URL_OF("10.1.2.3:8080"), "http://10.1.2.3:8080");
    cr_assert_str_eq(URL_OF("fd00::1:8080"), "http://[fd00::1]:8080");
    cr_assert_str_eq(URL_OF("10.1.2.3:8080", "10.1.2.4:8081"), "http://10.1.2.3:8080");
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
    hl_replica_url_by_listener(&list, url);
    cr_assert_str_eq(url, "");
    hl_replica_url_by_listener(&(struct hl_listen_list){0}, url);
    cr_assert_str_eq(url, "");
}
