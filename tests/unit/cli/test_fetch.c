/* test_fetch.c - whose host a URL names, as libcurl reads it. */
#include <criterion/criterion.h>

#include "base/compiler.h"
#include "cli/fetch.h"

Test(fetch, loopback_is_judged_by_the_host_that_is_connected_to)
{
    static const struct {
        const char *url;
        bool is_loopback;
    } rows[] = {{"http://127.0.0.1", true}, {"http://127.200.3.4:80/x", true},
        {"http://127.1", true}, {"http://0x7f000001", true}, {"http://LocalHost:8080/", true},
        {"http://localhost.", true}, {"http://[::1]:9090", true},
        {"http://[::ffff:127.0.0.1]", true}, {"https://localhost", true},
        {"http://localhost.example", false}, {"http://localhostess", false},
        {"http://127.0.0.1.example", false}, {"http://127.example", false}, {"http://[::2]", false},
        {"http://128.0.0.1", false}, {"http://0.0.0.0", false}, {"http://localhost@example", false},
        {"http://example/localhost", false}, {"http://example#@localhost", false}};
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
        struct hl_cli_origin origin;
        cr_assert(hl_cli_origin_read(rows[i].url, &origin), "%s", rows[i].url);
        cr_assert_eq(origin.is_loopback, rows[i].is_loopback, "%s", rows[i].url);
    }
}

Test(fetch, says_what_else_is_in_it)
{
    struct hl_cli_origin origin;
    cr_assert(hl_cli_origin_read("https://a:b@example/?q", &origin));
    cr_assert(origin.has_user && origin.has_query && !origin.is_plain);
    cr_assert(hl_cli_origin_read("http://example/path", &origin));
    cr_assert(!origin.has_user && !origin.has_query && origin.is_plain);
}

Test(fetch, is_none_of_what_is_no_http_url)
{
    static const char *const urls[] = {"", "http://", "ftp://example", "file:///etc/passwd",
        "http://exa mple", "http://exam\nple", "http://[::1"};
    struct hl_cli_origin origin;
    for (size_t i = 0; i < HL_ARRAY_LEN(urls); i++)
        cr_assert_not(hl_cli_origin_read(urls[i], &origin), "%s", urls[i]);
}
