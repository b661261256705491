/* test_transfer.c - the address guard between DNS and the socket, for names with several addresses.
 */
#include "webhook/transfer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

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

/* One attempt at http://Receiver.test./status/200, a name with these addresses. */
static struct hl_transfer_result attempt(const char *addresses, uint32_t *opened)
{
    char url[64];
    struct hl_ip ips[8];
    size_t n = 0;
    struct hl_transfer_result result;
    struct hl_str list = hl_str_from(addresses), element;
    snprintf(url, sizeof url, "http://Receiver.test.:%u/status/200", receiver.port);
    while (hl_str_next_element(&list, &element))
        cr_assert(hl_ip_parse(element, &ips[n++]));
    struct hl_transfer *t = hl_transfer_new(&settings);
    cr_assert_not_null(t);
    cr_assert_eq(hl_transfer_prepare(t, hl_str_from(url), NULL, HL_STR("{}"), NULL, false), HL_OK);
    cr_assert_eq(hl_transfer_set_addresses(t, receiver.port, ips, n, 3000), HL_OK);
    CURLcode code = curl_easy_perform(t->easy);
    hl_transfer_read_result(t, code, &result);
    *opened = t->opened;
    hl_transfer_free(t);
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
        struct hl_transfer_result result = attempt(names[i], &opened);
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
        struct hl_transfer_result result = attempt(names[i], &opened);
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
    struct hl_transfer_result result = attempt("10.0.0.1,127.0.0.1", &opened);
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

Test(transfer, refuses_http_where_only_https_is_allowed)
{
    uint32_t opened;
    settings.https_only = true;
    struct hl_transfer_result result = attempt("127.0.0.1", &opened);
    cr_assert_eq(opened, 0);
    cr_assert(result.is_permanent);
    cr_assert_not_null(strstr(result.error, "HOOKLINE_WEBHOOK_HTTPS_ONLY"));
}
