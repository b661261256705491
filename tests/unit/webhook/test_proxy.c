/* test_proxy.c - the egress proxy's URL as libcurl wants it: with its port. */
#include "webhook/proxy.h"

#include <criterion/criterion.h>

static struct hl_proxy proxy;

static void fini(void)
{
    hl_proxy_fini(&proxy);
}

TestSuite(proxy, .fini = fini);

Test(proxy, is_none_without_a_setting)
{
    cr_assert_eq(hl_proxy_init(&proxy, HL_STR("")), HL_OK);
    cr_assert_null(proxy.text);
}

Test(proxy, writes_the_port_out)
{
    static const struct {
        const char *setting, *text, *host;
        uint16_t port;
        bool is_bracketed;
    } rows[] = {
        {"http://proxy.example", "http://proxy.example:80", "proxy.example", 80, false},
        {"https://proxy.example", "https://proxy.example:443", "proxy.example", 443, false},
        {"http://proxy.example:3128", "http://proxy.example:3128", "proxy.example", 3128, false},
        {"http://proxy.example:3128/", "http://proxy.example:3128", "proxy.example", 3128, false},
        {"http://u:p%40ss@10.0.0.7", "http://u:p%40ss@10.0.0.7:80", "10.0.0.7", 80, false},
        {"https://[fd00::5]", "https://[fd00::5]:443", "fd00::5", 443, true},
        {"http://u:p@[fd00::5]:1080", "http://u:p@[fd00::5]:1080", "fd00::5", 1080, true},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
        cr_assert_eq(hl_proxy_init(&proxy, hl_str_from(rows[i].setting)), HL_OK);
        cr_expect_str_eq(proxy.text, rows[i].text);
        cr_expect(hl_str_eq(proxy.url.host, hl_str_from(rows[i].host)), "%s", rows[i].setting);
        cr_expect_eq(proxy.url.port, rows[i].port);
        cr_expect_eq(proxy.url.is_bracketed, rows[i].is_bracketed);
        hl_proxy_fini(&proxy);
        cr_expect_null(proxy.text);
    }
}

Test(proxy, refuses_what_is_no_url)
{
    cr_assert_eq(hl_proxy_init(&proxy, HL_STR("proxy.example:3128")), HL_ERR_INVALID);
    cr_assert_null(proxy.text);
}
