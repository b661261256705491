/* test_resumption.c - which sessions a client offers to take up again. */
#include "tls/resumption.h"

#include <criterion/criterion.h>
#include <mbedtls/certs.h>
#include <stdlib.h>
#include <string.h>

#include "tls/identity.h"

/* Valid until the year 2126. */
static const char valid_cert[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBgzCCASmgAwIBAgIUYZDWW4a+1F4RwtcaxJaL5UIyTLMwCgYIKoZIzj0EAwIw\n"
    "DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI3MDg1NTAzWhgPMjEyNjExMDMwODU1MDNa\n"
    "MBUxEzARBgNVBAMMCm90aGVyLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
    "AAQ3zFbZdgkeWnI+x1kt/yBu7nz5BpF00K0UtfdoIllikk7lANgjEf/qL9I0XV0W\n"
    "vYqIwmt3DVXNiioO+gHItO3/o10wWzAZBgNVHREEEjAQgghhcHAudGVzdIcEfwAA\n"
    "ATAdBgNVHQ4EFgQUUGGlj9QH2deCAQzlZX+MY0anE74wHwYDVR0jBBgwFoAUszyZ\n"
    "ba4lDLyeoIefpskO34vbMH8wCgYIKoZIzj0EAwIDSAAwRQIhAP2pvyezR4+3kcsX\n"
    "oGqXnJT1bUvI7uLj8HGrz7k1NEC0AiAWhdoEDsyIMxpjWdPrf3uNfVmZHFRcezO2\n"
    "IcAGtdY9oA==\n"
    "-----END CERTIFICATE-----\n";

static struct hl_tls_resumptions kept;
static mbedtls_ssl_config config;
static mbedtls_ssl_context ssl;
static const struct hl_tls_place place = {.port = 443}, other = {.port = 444};

static void begin(void)
{
    hl_tls_resumptions_init(&kept);
    mbedtls_ssl_config_init(&config);
    mbedtls_ssl_init(&ssl);
    cr_assert_eq(mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT,
                     MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT),
        0);
    mbedtls_ssl_conf_rng(&config, hl_tls_random, NULL);
    cr_assert_eq(mbedtls_ssl_setup(&ssl, &config), 0);
}

static void end(void)
{
    mbedtls_ssl_free(&ssl);
    mbedtls_ssl_config_free(&config);
    hl_tls_resumptions_fini(&kept);
}

TestSuite(tls_resumption, .init = begin, .fini = end);

/* As a handshake with a server that has shown it leaves it. */
static void keep_session_of(const char *cert)
{
    struct hl_tls_resumption *item = &kept.items[0];
    item->place = place;
    item->is_there = true;
    item->session.id_len = 1;
    item->session.peer_cert = calloc(1, sizeof(*item->session.peer_cert));
    cr_assert_not_null(item->session.peer_cert);
    mbedtls_x509_crt_init(item->session.peer_cert);
    cr_assert_eq(mbedtls_x509_crt_parse(
                     item->session.peer_cert, (const unsigned char *)cert, strlen(cert) + 1),
        0);
}

static bool is_offered(const struct hl_tls_place *to)
{
    cr_assert_eq(hl_tls_resumptions_use(&kept, to, &ssl), 0);
    return ssl.session_negotiate->id_len > 0;
}

Test(tls_resumption, offers_a_session_to_the_place_that_gave_it_alone)
{
    keep_session_of(valid_cert);
    cr_assert_not(is_offered(&other));
    cr_assert(is_offered(&place));
}

Test(tls_resumption, offers_none_behind_a_certificate_that_has_expired)
{
    keep_session_of(mbedtls_test_srv_crt_ec);
    cr_assert_not(is_offered(&place));
}
