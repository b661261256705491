#include <criterion/criterion.h>

#include "http/authority.h"
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
