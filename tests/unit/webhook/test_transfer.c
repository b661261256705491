/* test_transfer.c - the address guard between DNS and the socket, for names with several addresses.
 */
#include "webhook/transfer.h"
#include "webhook/transfer_result.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "receiver.h"

static struct receiver receiver;
static struct hl_cidr_list allow;
static struct hl_transfer_settings settings = {.timeout_ms = 3000, .allow = &allow};

static void start(void)
{
    struct hl_str bad;
    receiver_start(&receiver);
    cr_assert_eq(hl_cidr_list_parse(HL_STR("127.0.0.1"), &allow, &bad), HL_OK);
    cr_assert_eq(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
}

static void stop(void)
{
    hl_cidr_list_fini(&allow);
    for (unsigned i = 0; i < receiver.count; i++)
        free(receiver.got[i].body);
    curl_global_cleanup();
}

TestSuite(transfer, .init = start, .fini = stop);

static const char *scheme = "http";

/* One attempt at http://Receiver.test./status/200, a name with these addresses. */
static struct hl_transfer_result attempt(const char *addresses, uint32_t *opened)
{
    char url[64];
    struct hl_ip ips[8];
    size_t n = 0;
    struct hl_transfer_result result;
    struct hl_str list = hl_str_from(addresses), element;
    snprintf(url, sizeof url, "%s://Receiver.test.:%u/status/200", scheme, receiver.port);
    while (hl_str_next_element(&list, &element))
        cr_assert(hl_ip_parse(element, &ips[n++]));
    struct hl_transfer *t = hl_transfer_new(&settings);
    cr_assert_not_null(t);
    cr_assert_eq(hl_transfer_prepare(t, hl_str_from(url), NULL, HL_STR("{}"), NULL, false), HL_OK);
    cr_assert_eq(hl_transfer_set_addresses(t, receiver.port, ips, n, 3000), HL_OK);
    CURLcode code = curl_easy_perform(t->easy);
    hl_transfer_result_read(t, code, &result);
    *opened = t->opened;
    hl_transfer_free(t);
    return result;
}

/* The same, without its report. */
static struct hl_transfer_result outcome(const char *addresses, uint32_t *opened)
{
    struct hl_transfer_result result = attempt(addresses, opened);
    free(result.report);
    result.report = NULL;
    return result;
}

Test(transfer, uses_the_addresses_that_are_not_refused)
{
    static const char *const names[] = {
        "127.0.0.1",
        "127.0.0.1,10.0.0.1",
        "10.0.0.1,127.0.0.1",
        "10.0.0.1,127.0.0.2,169.254.169.254,127.0.0.1",
        "::1,127.0.0.1",
        "127.0.0.1,::1",
        "fd00::1,::1,10.0.0.1,127.0.0.1",
        "::ffff:10.0.0.1,127.0.0.1",
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        uint32_t opened;
        struct hl_transfer_result result = outcome(names[i], &opened);
        cr_assert_eq(result.http_status, 200, "%s: %s", names[i], result.error);
        cr_assert_eq(opened, 1, "%s", names[i]);
    }
    cr_assert_eq(receiver_count(&receiver, "/status/200"), HL_ARRAY_LEN(names));
}

Test(transfer, gives_up_for_good_when_all_addresses_are_refused)
{
    static const char *const names[] = {"10.0.0.1", "10.0.0.1,10.0.0.2", "::1,127.0.0.2",
        "::1,fd00::1", "::ffff:127.0.0.2", "0.0.0.0"};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        uint32_t opened;
        struct hl_transfer_result result = outcome(names[i], &opened);
        cr_assert_eq(opened, 0, "%s", names[i]);
        cr_assert(result.is_permanent, "%s: %s", names[i], result.error);
        cr_assert_eq(strncmp(result.error, "blocked_address", 15), 0, "%s", result.error);
        cr_assert_not_null(strstr(result.error, "HOOKLINE_WEBHOOK_ALLOW"));
        cr_assert_null(strstr(result.error, "10.0.0"), "an address is no caller's business");
        cr_assert(result.address[0]);
    }
    cr_assert_eq(receiver.connections, 0);
}

Test(transfer, tries_again_later_when_what_is_not_refused_does_not_answer)
{
    uint32_t opened;
    receiver.port = 1;
    struct hl_transfer_result result = outcome("10.0.0.1,127.0.0.1", &opened);
    cr_assert_eq(opened, 1);
    cr_assert_not(result.is_permanent);
    cr_assert_eq(strncmp(result.error, "connect_failed", 14), 0, "%s", result.error);
}

Test(transfer, wants_addresses_rather_than_let_libcurl_resolve_a_name)
{
    char url[64];
    struct hl_transfer *t = hl_transfer_new(&settings);
    snprintf(url, sizeof url, "http://localhost:%u/status/200", receiver.port);
    cr_assert_eq(hl_transfer_prepare(t, hl_str_from(url), NULL, HL_STR("{}"), NULL, false), HL_OK);
    cr_assert_neq(curl_easy_perform(t->easy), CURLE_OK);
    cr_assert(t->wants_addresses);
    cr_assert_eq(receiver.connections, 0);
    hl_transfer_free(t);
}

/* What came of an attempt of `t` at that path of the receiver; what stands before its host is `before`. */
static struct hl_transfer_result attempt_at(
    struct hl_transfer *t, const char *before, const char *path)
{
    char url[64];
    struct hl_ip ip;
    struct hl_transfer_result result;
    cr_assert(hl_ip_parse(HL_STR("127.0.0.1"), &ip));
    snprintf(url, sizeof url, "http://%sreceiver.test:%u%s", before, receiver.port, path);
    cr_assert_eq(hl_transfer_prepare(t, hl_str_from(url), NULL, HL_STR("{}"), NULL, false), HL_OK);
    cr_assert_eq(hl_transfer_set_addresses(t, receiver.port, &ip, 1, 3000), HL_OK);
    hl_transfer_result_read(t, curl_easy_perform(t->easy), &result);
    free(result.report);
    result.report = NULL;
    return result;
}

Test(transfer, a_url_that_it_had_no_memory_to_write_is_no_bad_one)
{
    struct hl_transfer *t = hl_transfer_new(&settings);
    struct hl_transfer_result result;
    cr_assert_eq(
        hl_transfer_prepare(t, HL_STR("http://receiver.test/"), NULL, HL_STR("{}"), NULL, false),
        HL_OK);
    hl_transfer_result_read(t, CURLE_URL_MALFORMAT, &result);
    cr_assert_str_eq(result.error, "out_of_memory");
    cr_assert_not(result.is_permanent);
    free(result.report);
    hl_transfer_free(t);
}

Test(transfer, goes_where_each_attempt_says_whatever_the_last_one_said)
{
    struct hl_transfer *t = hl_transfer_new(&settings);
    cr_assert_eq(attempt_at(t, "", "/status/200").http_status, 200);
    cr_assert_eq(attempt_at(t, "", "/status/200").http_status, 200);
    cr_assert_eq(attempt_at(t, "", "/status/503").http_status, 503);
    cr_assert_str_eq(attempt_at(t, "{}", "/status/200").error, "bad_url");
    cr_assert_str_eq(attempt_at(t, "{}", "/status/200").error, "bad_url");
    cr_assert_neq(*attempt_at(t, "someone@", "/status/200").error, '\0');
    cr_assert_eq(attempt_at(t, "", "/status/200/../503").http_status, 200, "it is sent as it is");
    cr_assert_eq(attempt_at(t, "", "/status/503").http_status, 503);
    cr_assert_eq(receiver_count(&receiver, "/status/200"), 2);
    cr_assert_eq(receiver_count(&receiver, "/status/503"), 2);
    hl_transfer_free(t);
}

Test(transfer, refuses_http_where_only_https_is_allowed)
{
    uint32_t opened;
    settings.https_only = true;
    struct hl_transfer_result result = outcome("127.0.0.1", &opened);
    cr_assert_eq(opened, 0);
    cr_assert(result.is_permanent);
    cr_assert_not_null(strstr(result.error, "HOOKLINE_WEBHOOK_HTTPS_ONLY"));
}

/* --- a receiver that does not come to an agreement in TLS ---------------------------------------- */

static int listener = -1;
static const char
    *first_words; /* what it says to whoever connects; NULL: it never takes anybody in */

static void *talk(void *unused)
{
    char hello[4096];
    int peer = accept(listener, NULL, NULL);
    ssize_t n = read(peer, hello, sizeof hello);
    cr_assert(n > 0 && write(peer, first_words, strlen(first_words)) > 0);
    while (read(peer, hello, sizeof hello) > 0)
        continue;
    close(peer);
    return unused;
}

static struct hl_transfer_result attempt_tls(const char *words)
{
    uint32_t opened;
    pthread_t talker;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(listen(listener, 4), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    receiver.port = ntohs(at.sin_port);
    scheme = "https";
    first_words = words;
    if (words)
        cr_assert_eq(pthread_create(&talker, NULL, talk, NULL), 0);
    struct hl_transfer_result result = attempt("127.0.0.1", &opened);
    if (words)
        pthread_join(talker, NULL);
    close(listener);
    cr_assert_eq(opened, 1);
    return result;
}

Test(transfer, tells_how_long_connecting_took_though_tls_was_never_answered)
{
    struct hl_transfer_result result = attempt_tls(NULL);
    cr_assert_str_eq(result.error, "timeout");
    cr_assert(result.report->connect_us >= 0 && result.report->connect_us < 2500000, "%d us",
        result.report->connect_us);
    cr_assert_eq(result.report->tls_us, -1);
    cr_assert_eq(result.report->first_byte_us, -1);
    free(result.report);
}

Test(transfer, tells_how_long_connecting_took_though_tls_failed)
{
    struct hl_transfer_result result = attempt_tls("what is it that you want of me\r\n");
    cr_assert_str_eq(result.error, "tls_failed");
    cr_assert_geq(result.report->connect_us, 0);
    cr_assert_eq(result.report->tls_us, -1);
    free(result.report);
}
