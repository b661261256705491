/* test_public_path.c - which paths need no token. */
#include "base/compiler.h"
#include "base/str.h"
#include "config/public_path.h"

#include <criterion/criterion.h>

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
