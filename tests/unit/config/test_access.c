/* test_access.c - which names are answered, which pages may change. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/str.h"
#include "config/access.h"
#include "config/choice.h"
#include "config/config.h"
#include "http/head.h"
#include "http/refusal.h"

Test(hookline_hosts, names_are_answered_that_no_page_can_point_here)
{
    const struct hl_str names = HL_STR("a.example, b");
    static const char *const served[] = {"127.0.0.1", "127.0.0.1:9090", "10.0.0.1:1", "[::1]",
        "[::1]:9090", "localhost", "LocalHost:9090", "a.example", "A.Example:80", "b"};
    static const char *const others[] = {"", "evil.example", "evil.example:9090", "a.example.evil",
        "x.localhost", "localhost.", "127.0.0.1.evil", "[evil]", "[::1", "a", "::1", "b,c"};
    for (size_t i = 0; i < HL_ARRAY_LEN(served); i++)
        cr_expect(hl_hookline_hosts_have(names, hl_str_from(served[i])), "%s", served[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++)
        cr_expect_not(hl_hookline_hosts_have(names, hl_str_from(others[i])), "%s", others[i]);
}

Test(hookline_hosts, lists_of_names_have_no_ports_and_no_stars)
{
    cr_expect(hl_hookline_hosts_are_valid(HL_STR("a.example, b-1,c_d")));
    static const char *const bad[] = {"a:80", "*.example", "http://a", "a/b", "[::1]", "a b"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(hl_hookline_hosts_are_valid(hl_str_from(bad[i])), "%s", bad[i]);
}

static bool is_cross_site(const char *host, const char *lines)
{
    static struct hl_head head;
    struct hl_refusal fault;
    char text[512];
    int n = snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, lines);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", fault.detail);
    return hl_hookline_hosts_is_cross_site(HL_STR("dash.example"), &head);
}

Test(hookline_hosts, pages_of_other_origins_are_told)
{
    static const char here[] = "127.0.0.1:9090";
    cr_expect_not(is_cross_site(here, ""));
    cr_expect_not(is_cross_site(here, "Sec-Fetch-Site: same-origin\r\n"));
    cr_expect_not(is_cross_site(here, "Sec-Fetch-Site: none\r\n"));
    cr_expect_not(is_cross_site(here, "Origin: http://127.0.0.1:9090\r\n"));
    cr_expect(is_cross_site(here, "Sec-Fetch-Site: same-site\r\n"));
    cr_expect(is_cross_site(here, "Sec-Fetch-Site: cross-site\r\n"));
    cr_expect(is_cross_site(here, "Origin: null\r\n"));
    cr_expect(is_cross_site(here, "Origin: http://127.0.0.1\r\n"));
    cr_expect(is_cross_site(here, "Origin: http://localhost:9090\r\n"));
    cr_expect(is_cross_site(here, "Origin: https://127.0.0.1:9090\r\n"));
    cr_expect(
        is_cross_site(here, "Sec-Fetch-Site: cross-site\r\nOrigin: http://127.0.0.1:9090\r\n"));
    cr_expect_not(is_cross_site("dash.example", "Origin: https://dash.example\r\n"));
    cr_expect(is_cross_site("dash.example", "Origin: https://evil.example\r\n"));
}

static struct hl_origin_list origins;

static void end(void)
{
    hl_origin_list_fini(&origins);
}

TestSuite(origin, .fini = end);

Test(origin, is_found_by_all_of_its_bytes)
{
    cr_assert_eq(
        hl_origin_list_parse(HL_STR("https://a.example, http://localhost:3000,app://x,"), &origins),
        HL_OK);
    cr_assert_eq(origins.n, 3);
    cr_expect(hl_str_eq(
        hl_origin_list_find(&origins, HL_STR("https://a.example")), HL_STR("https://a.example")));
    cr_expect_gt(hl_origin_list_find(&origins, HL_STR("http://localhost:3000")).n, 0);
    static const char *const others[] = {"http://a.example", "https://a.example:444",
        "https://a.example.evil", "https://b.a.example", "HTTPS://A.EXAMPLE", "https://a.exampl",
        "https://a.example/", "null", "", "*", "http://localhost", "http://localhost:30000"};
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++)
        cr_expect_eq(hl_origin_list_find(&origins, hl_str_from(others[i])).n, 0, "%s", others[i]);
}

Test(origin, the_schemes_own_port_is_taken_off)
{
    cr_assert_eq(
        hl_origin_list_parse(
            HL_STR("https://a.example:443,http://b.example:80,http://c.example:443"), &origins),
        HL_OK);
    cr_expect_gt(hl_origin_list_find(&origins, HL_STR("https://a.example")).n, 0);
    cr_expect_gt(hl_origin_list_find(&origins, HL_STR("http://b.example")).n, 0);
    cr_expect_eq(hl_origin_list_find(&origins, HL_STR("http://c.example")).n, 0);
}

Test(origin, a_star_stands_alone_and_for_all)
{
    cr_assert_eq(hl_origin_list_parse(HL_STR("*"), &origins), HL_OK);
    cr_expect(origins.has_any);
    cr_expect(hl_str_eq(hl_origin_list_find(&origins, HL_STR("https://any.example")), HL_STR("*")));
    end();
    cr_expect_eq(hl_origin_list_parse(HL_STR("*,https://a.example"), &origins), HL_ERR_INVALID);
    cr_expect_eq(origins.n, 0);
}

Test(origin, other_texts_are_none)
{
    static const char *const bad[] = {"null", "a.example", "https://", "://a", "https://a.example/",
        "https://a.example/path", "https://user@a.example", "https://A.example",
        "https://a example", "https://a.example:", "https:/a.example", "https://a.example\r\nX: y",
        "1http://a"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_eq(
            hl_origin_list_parse(hl_str_from(bad[i]), &origins), HL_ERR_INVALID, "%s", bad[i]);
}

Test(public_path, is_the_whole_path_or_a_beginning_with_a_star)
{
    struct hl_str list = HL_STR("/docs/*, /health,/.well-known/*");
    static const char *const are[] = {
        "/docs/", "/docs/a", "/docs/a/b.css", "/docs/..a", "/health", "/.well-known/jwks.json"};
    static const char *const are_not[] = {
        "/docs", "/doc", "/health/", "/healthz", "/Health", "/", "", "/a/docs/", "*"};
    for (size_t i = 0; i < HL_ARRAY_LEN(are); i++)
        cr_expect(hl_public_paths_have(list, hl_str_from(are[i])), "%s", are[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(are_not); i++)
        cr_expect_not(hl_public_paths_have(list, hl_str_from(are_not[i])), "%s", are_not[i]);
    cr_expect_not(hl_public_paths_have(HL_STR(""), HL_STR("/health")));
}

Test(public_path, is_never_one_that_can_be_read_in_two_ways)
{
    static const char *const paths[] = {"/docs/../run", "/docs/..", "/docs/./run", "/docs/.",
        "/docs/%2e%2e/run", "/docs/%2E./run", "/docs/..%2frun", "/docs/a%2Frun", "/docs/a%5crun",
        "/docs/a%5Crun", "/docs/a\\run", "/docs//run", "//docs/run", "/docs/a;b", "/docs/;/run",
        "/docs/a%00", "/./docs/a"};
    for (size_t i = 0; i < HL_ARRAY_LEN(paths); i++) {
        cr_expect_not(
            hl_public_paths_have(HL_STR("/docs/*"), hl_str_from(paths[i])), "%s", paths[i]);
        cr_expect_not(hl_public_paths_have(HL_STR("/*"), hl_str_from(paths[i])), "%s", paths[i]);
    }
}

Test(public_path, lists_that_could_not_mean_what_they_say_are_refused)
{
    static const char *const good[] = {"", "/", "/*", "/docs/*,/health", "/v4x", "/v2/models*",
        "/v2/projectsx", "/_hook", " /a , /b ", "/%20/a", "/*,/v3"};
    static const char *const bad[] = {"docs", "*", "/v4", "/v4/*", "/v4*", "/v4/p/a/run",
        "/v2/projects", "/v2/projects/*", "/_hookline/healthz", "/_hookline*", "/a*b", "/a/*/b",
        "/**", "/a?b", "/a#b", "/a b", "/a//b", "/a/../b", "/a/..", "/a;b", "/a\\b", "/a%2fb",
        "/a%2E", "/health,docs", "/\xc3\xbc"};
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++)
        cr_expect(hl_public_paths_are_valid(hl_str_from(good[i])), "%s", good[i]);
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(hl_public_paths_are_valid(hl_str_from(bad[i])), "%s", bad[i]);
}

static struct hl_listen_address at(const char *text)
{
    struct hl_listen_address address = {.text = NULL};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address.addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address.addr;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        v4->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        v6->sin6_family = AF_INET6;
    return address;
}

static bool is_open(enum hl_auth_mode auth, enum hl_admin_auth admin, const char *text)
{
    struct hl_listen_address address = at(text);
    struct hl_config config = {
        .auth = auth, .admin_auth = admin, .admin_listen = {.items = &address, .n = 1}};
    bool is = hl_admin_access_is_open(&config, &address);
    cr_expect_eq(hl_admin_access_asks_token(&config), !is);
    return is;
}

Test(admin_access, only_loopback_is_open_by_itself_and_only_without_tokens)
{
    static const char *const loopback[] = {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"};
    static const char *const others[] = {
        "0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::2", "fe80::1"};
    for (size_t i = 0; i < HL_ARRAY_LEN(loopback); i++) {
        cr_expect(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_AUTO, loopback[i]), "%s", loopback[i]);
        cr_expect_not(is_open(HL_AUTH_JWT, HL_ADMIN_AUTH_AUTO, loopback[i]), "%s", loopback[i]);
        cr_expect_not(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_TOKEN, loopback[i]), "%s", loopback[i]);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++) {
        cr_expect_not(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_AUTO, others[i]), "%s", others[i]);
        cr_expect(is_open(HL_AUTH_NONE, HL_ADMIN_AUTH_NONE, others[i]), "%s", others[i]);
        cr_expect(is_open(HL_AUTH_JWT, HL_ADMIN_AUTH_NONE, others[i]), "%s", others[i]);
    }
}
