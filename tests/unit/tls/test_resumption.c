/* test_resumption.c - which sessions a client offers to take up again. */
#include "tls/resumption.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "certificates.h"
#include "tls/identity.h"

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
    keep_session_of(app_certificate);
    cr_assert_not(is_offered(&other));
    cr_assert(is_offered(&place));
}

Test(tls_resumption, offers_none_behind_a_certificate_that_has_expired)
{
    keep_session_of(expired_certificate);
    cr_assert_not(is_offered(&place));
}
