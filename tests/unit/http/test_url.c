#include <criterion/criterion.h>

#include "http/url.h"

Test(url, takes_absolute_http_urls_apart)
{
    static const struct {
        const char *text, *host, *path;
        uint16_t port;
        bool is_https, is_bracketed, has_userinfo;
    } cases[] = {
        {"http://example.com", "example.com", "", 80, false, false, false},
        {"HTTPS://Example.com/", "Example.com", "/", 443, true, false, false},
        {"https://a:8443/b?c=d&e=%20", "a", "/b?c=d&e=%20", 8443, true, false, false},
        {"http://a?b", "a", "?b", 80, false, false, false},
        {"http://a/b#c?d", "a", "/b", 80, false, false, false},
        {"http://a#b", "a", "", 80, false, false, false},
        {"http://a:/b", "a", "/b", 80, false, false, false},
        {"http://[::1]:81/b", "::1", "/b", 81, false, true, false},
        {"http://[fe80::1%25eth0]/", "fe80::1%25eth0", "/", 80, false, true, false},
        {"http://u@a/b", "a", "/b", 80, false, false, true},
        {"http://u:p@a:81/b", "a", "/b", 81, false, false, true},
        {"http://u@v@a/b", "a", "/b", 80, false, false, true},
        {"http://a/b@c", "a", "/b@c", 80, false, false, false},
        {"http://0x7f.1/", "0x7f.1", "/", 80, false, false, false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_url url;
        const char *text = cases[i].text;
        cr_assert(hl_url_parse(hl_str_from(text), &url), "%s", text);
        cr_assert(hl_str_eq(url.host, hl_str_from(cases[i].host)), "%s", text);
        cr_assert(hl_str_eq(url.path_and_query, hl_str_from(cases[i].path)), "%s", text);
        cr_assert_eq(url.port, cases[i].port, "%s", text);
        cr_assert_eq(url.is_https, cases[i].is_https, "%s", text);
        cr_assert_eq(url.is_bracketed, cases[i].is_bracketed, "%s", text);
        cr_assert_eq(url.has_userinfo, cases[i].has_userinfo, "%s", text);
    }
}

Test(url, refuses_everything_else)
{
    const struct hl_str bad[] = {HL_STR(""), HL_STR("example.com"), HL_STR("//a/b"), HL_STR("/a"),
        HL_STR("http:a"), HL_STR("http:/a"), HL_STR("http://"), HL_STR("http:///a"),
        HL_STR("http://?a"), HL_STR("http://#a"), HL_STR("http://:80/"), HL_STR("http://@/"),
        HL_STR("http://u@/"), HL_STR("ftp://a/"), HL_STR("file:///a"), HL_STR("gopher://a/"),
        HL_STR("httpx://a/"), HL_STR(" http://a/"), HL_STR("http://a/ "), HL_STR("http://a b/"),
        HL_STR("http://a/\t"), HL_STR("http://a/\r\nX: y"), HL_STR("http://a/\0"),
        HL_STR("http://a\\b/"), HL_STR("http://a/\\b"), HL_STR("http://a:x/"),
        HL_STR("http://a:65536/"), HL_STR("http://a:-1/"), HL_STR("http://a:80:80/"),
        HL_STR("http://a/%"), HL_STR("http://a/%4"), HL_STR("http://a/%zz"),
        HL_STR("http://%31%32%37.0.0.1/"), HL_STR("http://a%2eb/"), HL_STR("http://\xc3\xa4/"),
        HL_STR("http://a/\xc3\xa4"), HL_STR("http://[::1/"), HL_STR("http://[::1]a/"),
        HL_STR("http://[1.2.3.4]/"), HL_STR("http://[]/"), HL_STR("http://[v1.a]/"),
        HL_STR("http://[fe80::1%eth0]/"), HL_STR("http://[fe80::1%25]/"), HL_STR("http://::1/"),
        HL_STR("http://a,b/"), HL_STR("http://<a>/"), HL_STR("http://a\x7f/")};
    struct hl_url url;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_url_parse(bad[i], &url), "%.*s", HL_STR_ARG(bad[i]));
}

Test(authority, tells_a_port_from_none)
{
    struct hl_authority a;
    cr_assert(hl_authority_parse(HL_STR("a:0080"), &a));
    cr_assert(a.has_port && a.port == 80);
    cr_assert(hl_authority_parse(HL_STR("a:0"), &a));
    cr_assert(a.has_port && a.port == 0);
    cr_assert(hl_authority_parse(HL_STR("a:"), &a));
    cr_assert_not(a.has_port);
    cr_assert(hl_authority_parse(HL_STR("[::]"), &a));
    cr_assert(a.is_bracketed && !a.has_port);
    cr_assert_not(hl_authority_parse(HL_STR("a:99999999999999999999"), &a));
}

Test(target, splits_path_and_query)
{
    static const struct {
        const char *target, *path, *query;
        bool has_query, is_pathless;
    } cases[] = {
        {"/", "/", "", false, false},
        {"/a/b", "/a/b", "", false, false},
        {"/a?", "/a", "", true, false},
        {"/a?b=c&d", "/a", "b=c&d", true, false},
        {"/a?b?c", "/a", "b?c", true, false},
        {"//a", "//a", "", false, false},
        {"*", "*", "", false, false},
        {"http://b", "/", "", false, true},
        {"http://b?c", "/", "c", true, true},
        {"HTTPS://b:1/c/d?e", "/c/d", "e", true, false},
        {"http://b/?c://d/e", "/", "c://d/e", true, false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_target t;
        cr_assert(hl_target_split(hl_str_from(cases[i].target), &t), "%s", cases[i].target);
        cr_assert(hl_str_eq(t.path, hl_str_from(cases[i].path)), "%s", cases[i].target);
        cr_assert(hl_str_eq(t.query, hl_str_from(cases[i].query)), "%s", cases[i].target);
        cr_assert_eq(t.has_query, cases[i].has_query, "%s", cases[i].target);
        cr_assert_eq(t.is_pathless, cases[i].is_pathless, "%s", cases[i].target);
    }
}

Test(target, refuses_bytes_and_forms_that_are_none)
{
    const struct hl_str bad[] = {HL_STR(""), HL_STR("a"), HL_STR("?a"), HL_STR("/a#b"),
        HL_STR("/a b"), HL_STR("/a\x7f"), HL_STR("/\x80"), HL_STR("/a\0"), HL_STR("/\r\n"),
        HL_STR("http:/a"), HL_STR("http:"), HL_STR("**")};
    struct hl_target t;
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_not(hl_target_split(bad[i], &t), "%.*s", HL_STR_ARG(bad[i]));
}

Test(query, yields_each_parameter_as_it_stands)
{
    static const struct {
        const char *raw, *name, *value;
        bool has_value;
    } expected[] = {
        {"a=1", "a", "1", true},
        {"b", "b", "", false},
        {"", "", "", false},
        {"c=", "c", "", true},
        {"=d", "", "d", true},
        {"e=f=g", "e", "f=g", true},
        {"%61+=%", "%61+", "%", true},
        {"", "", "", false},
    };
    struct hl_str query = HL_STR("a=1&b&&c=&=d&e=f=g&%61+=%&");
    struct hl_param param;
    for (size_t i = 0; i < HL_ARRAY_LEN(expected); i++) {
        cr_assert(hl_query_next(&query, &param));
        cr_assert(hl_str_eq(param.raw, hl_str_from(expected[i].raw)), "%zu", i);
        cr_assert(hl_str_eq(param.name, hl_str_from(expected[i].name)), "%zu", i);
        cr_assert(hl_str_eq(param.value, hl_str_from(expected[i].value)), "%zu", i);
        cr_assert_eq(param.has_value, expected[i].has_value, "%zu", i);
    }
    cr_assert_not(hl_query_next(&query, &param));
    cr_assert_not(hl_query_next(&query, &param));
}

Test(query, without_a_query_has_no_parameter)
{
    struct hl_str query = {0};
    struct hl_param param;
    cr_assert_not(hl_query_next(&query, &param));
}

Test(param, is_known_in_any_encoding_of_its_name)
{
    static const struct {
        const char *name;
        bool is_async;
    } cases[] = {
        {"async", true},
        {"%61sync", true},
        {"%61%73%79%6E%63", true},
        {"asyn%63", true},
        {"Async", false},
        {"asyn", false},
        {"asyncc", false},
        {"async%", false},
        {"asyn%6", false},
        {"asyn%6g", false},
        {"async%00", false},
        {"", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        struct hl_param param = {.name = hl_str_from(cases[i].name)};
        cr_assert_eq(hl_param_is(&param, HL_STR("async")), cases[i].is_async, "%s", cases[i].name);
    }
}

Test(query, decodes_form_values)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"abc", "abc"},
        {"a+b%20c%2B", "a b c+"},
        {"https%3A%2F%2Fa%2fb%3Fc%3Dd", "https://a/b?c=d"},
        {"%e4%FF", "\xe4\xff"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char out[64];
        ptrdiff_t n = hl_query_decode(hl_str_from(cases[i].in), out, sizeof out);
        cr_assert_eq(n, (ptrdiff_t)strlen(cases[i].out), "%s", cases[i].in);
        cr_assert_arr_eq(out, cases[i].out, (size_t)n);
    }
}

Test(query, does_not_decode_what_is_broken_or_too_long)
{
    static const char *const bad[] = {"%", "a%", "%4", "%4g", "%g4", "a%00b", "12345"};
    char out[4];
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_assert_eq(hl_query_decode(hl_str_from(bad[i]), out, sizeof out), -1, "%s", bad[i]);
    cr_assert_eq(hl_query_decode(HL_STR("%31234"), out, sizeof out), 4);
}
