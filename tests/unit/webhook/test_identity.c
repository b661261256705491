/* test_principal.c - what is shown to trusted hosts alone. */
#include "config/config.h"
#include "webhook/identity.h"

#include <criterion/criterion.h>

static struct hl_identity identity;
static struct hl_config config;
static char why[256];

static void fini(void)
{
    hl_identity_fini(&identity);
}

TestSuite(identity, .fini = fini);

static void start(const char *hosts, const char *fields)
{
    config.webhook_trusted_hosts = hl_str_from(hosts);
    config.webhook_headers = hl_str_from(fields);
    cr_assert_eq(hl_identity_init(&identity, &config, why, sizeof why), HL_OK, "%s", why);
}

static bool trusts(const char *url)
{
    return hl_identity_trusts(&identity, hl_str_from(url));
}

Test(identity, trusts_nobody_unless_it_is_told)
{
    start("", "");
    cr_assert_not(trusts("https://hooks.example/"));
    cr_assert_null(identity.fields);
}

Test(identity, goes_by_the_urls_host_and_by_nothing_else_in_it)
{
    start("hooks.example, *.corp.example, [fd00::5]", "");
    cr_assert(trusts("https://hooks.example/any?x=1"));
    cr_assert(trusts("http://HOOKS.example:8080/"));
    cr_assert(trusts("https://a.b.corp.example/"));
    cr_assert(trusts("https://[fd00::5]:8443/"));
    cr_assert_not(trusts("https://corp.example/"));
    cr_assert_not(trusts("https://hooks.example.evil.example/"));
    cr_assert_not(trusts("https://evil.example/hooks.example"));
    cr_assert_not(trusts("https://evil.example?hooks.example"));
    cr_assert_not(trusts("https://hooks.example@evil.example/"));
    cr_assert_not(trusts("https://evil.example#hooks.example"));
    cr_assert_not(trusts("hooks.example"));
    cr_assert_not(trusts(""));
}

Test(identity, has_a_field_for_each_line)
{
    start("*", "Authorization: Bearer x\r\nX-Tenant: 7\n");
    cr_assert_not_null(identity.fields);
    cr_assert_str_eq(identity.fields->data, "Authorization: Bearer x");
    cr_assert_str_eq(identity.fields->next->data, "X-Tenant: 7");
    cr_assert_null(identity.fields->next->next);
}

Test(identity, does_not_start_with_a_certificate_that_cannot_be_read)
{
    config.webhook_client_cert_file = HL_STR("/nowhere/cert.pem");
    config.webhook_client_key_file = HL_STR("/nowhere/key.pem");
    cr_assert_neq(hl_identity_init(&identity, &config, why, sizeof why), HL_OK);
    cr_assert_not_null(strstr(why, "HOOKLINE_WEBHOOK_CLIENT_CERT_FILE: /nowhere/cert.pem"));
}
