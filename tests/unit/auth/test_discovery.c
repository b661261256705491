/* test_discovery.c - where an issuer's document may stand, and which one counts. */
#include "auth/discovery.h"
#include "base/compiler.h"

#include <criterion/criterion.h>
#include <stdio.h>

static char places[HL_DISCOVERY_PLACES][HL_DISCOVERY_URL_MAX];

#define OPENID "/.well-known/openid-configuration"
#define OAUTH  "/.well-known/oauth-authorization-server"

Test(discovery, looks_below_the_host_for_an_issuer_without_a_path)
{
    const char *issuers[] = {"https://id.example", "https://id.example/"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(hl_discovery_places(hl_str_from(issuers[i]), places), 2);
        cr_expect_str_eq(places[0], "https://id.example" OPENID);
        cr_expect_str_eq(places[1], "https://id.example" OAUTH);
    }
}

Test(discovery, looks_behind_and_before_the_path_of_one_that_has_it)
{
    const char *issuers[] = {
        "https://id.example:8443/realms/a", "https://id.example:8443/realms/a/"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(hl_discovery_places(hl_str_from(issuers[i]), places), 4);
        cr_expect_str_eq(places[0], "https://id.example:8443/realms/a" OPENID);
        cr_expect_str_eq(places[1], "https://id.example:8443" OPENID "/realms/a");
        cr_expect_str_eq(places[2], "https://id.example:8443/realms/a" OAUTH);
        cr_expect_str_eq(places[3], "https://id.example:8443" OAUTH "/realms/a");
    }
}

static const char *read(const char *document, const char *issuer)
{
    static char uri[HL_DISCOVERY_URL_MAX];
    const char *fault = hl_discovery_read(hl_str_from(document), hl_str_from(issuer), uri);
    return fault ? fault : uri;
}

Test(discovery, takes_the_keys_of_the_very_issuer_whatever_their_host)
{
    cr_expect_str_eq(read("{\"issuer\":\"https://a/x\",\"jwks_uri\":\"https://b:6443/keys?v=1\"}",
                         "https://a/x"),
        "https://b:6443/keys?v=1");
    cr_expect_str_eq(
        read("{\"issuer\":\"http://a\",\"jwks_uri\":\"http://b/\"}", "http://a"), "http://b/");
}

Test(discovery, takes_no_document_of_another_issuer)
{
    const char *others[] = {"https://a/", "https://A", "https://a.b", "http://a", ""};
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++) {
        char document[200];
        snprintf(document, sizeof document, "{\"issuer\":\"%s\",\"jwks_uri\":\"https://a/k\"}",
            others[i]);
        cr_expect_str_eq(
            read(document, "https://a"), "its discovery document names another issuer");
    }
    cr_expect_str_eq(read("{\"issuer\":1,\"jwks_uri\":\"https://a/k\"}", "https://a"),
        "its discovery document names another issuer");
}

Test(discovery, takes_no_document_that_leads_nowhere)
{
    const char *uris[] = {"null", "\"\"", "\"/keys\"", "\"ftp://a/k\"", "\"file:///etc/passwd\"",
        "\"https://user:word@a/k\"", "[\"https://a/k\"]", "\"https://a\\u0000b/k\""};
    for (size_t i = 0; i < HL_ARRAY_LEN(uris); i++) {
        char document[200];
        snprintf(document, sizeof document, "{\"issuer\":\"https://a\",\"jwks_uri\":%s}", uris[i]);
        const char *said = read(document, "https://a");
        cr_expect(strstr(said, "jwks_uri") || strstr(said, "no JSON"), "%s: %s", uris[i], said);
    }
    cr_expect_str_eq(read("{\"issuer\":\"https://a\",\"jwks_uri\":\"http://a/k\"}", "https://a"),
        "its discovery document names keys that come without TLS");
    const char *none[] = {"", "<html>", "[]", "\"https://a\"", "{\"issuer\":\"https://a\""};
    for (size_t i = 0; i < HL_ARRAY_LEN(none); i++)
        cr_expect_str_eq(read(none[i], "https://a"), "its discovery document is no JSON object");
}
