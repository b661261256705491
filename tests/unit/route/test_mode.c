#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "config/choice.h"
#include "config/config.h"
#include "http/head.h"
#include "route/plan.h"

static struct hl_head head;
static struct hl_config config;
static struct hl_plan plan;
static char target_space[8192];
static struct hl_plan_scratch scratch;
static char text[16384];

static void init(void)
{
    config = (struct hl_config){
        .app_run_path = HL_STR("/run"), .passthrough = true, .auth = HL_AUTH_NONE};
    scratch = (struct hl_plan_scratch){.target = target_space, .target_cap = sizeof target_space};
}

TestSuite(mode, .init = init);

/* A POST to the run path with that query and those field lines. */
static void ask(const char *query, const char *lines)
{
    struct hl_refusal fault;
    int n = snprintf(
        text, sizeof text, "POST /v4/p/a/run?%s HTTP/1.1\r\nHost: a\r\n%s\r\n", query, lines);
    cr_assert(n > 0 && (size_t)n < sizeof text);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s: %s", query, fault.detail);
    hl_plan_make(&plan, &head, &config, &scratch);
}

static void upgrade(const char *query, const char *lines)
{
    struct hl_refusal fault;
    int n = snprintf(text, sizeof text,
        "GET /v4/p/a/ws?%s HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: "
        "websocket\r\n%s\r\n",
        query, lines);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s", query);
    hl_plan_make(&plan, &head, &config, &scratch);
}

#define ASSERT_REFUSED(what)                                                                       \
    cr_assert(plan.kind == HL_PLAN_REFUSED && plan.refusal.status == 400 && plan.refusal.detail,   \
        "%s: %u", (what), plan.refusal.status)
#define ASSERT_RUN(what) cr_assert(plan.kind == HL_PLAN_RUN, "%s: %s", (what), plan.refusal.detail)

Test(mode, async_is_a_truth_value_in_any_case)
{
    static const struct {
        const char *query;
        bool is_async;
    } cases[] = {
        {"", false},
        {"async=true", true},
        {"async=True", true},
        {"async=TRUE", true},
        {"async=1", true},
        {"async=%74rue", true},
        {"%61sync=1", true},
        {"async=false", false},
        {"async=False", false},
        {"async=0", false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        ask(cases[i].query, "");
        ASSERT_RUN(cases[i].query);
        cr_assert_eq(plan.is_async, cases[i].is_async, "%s", cases[i].query);
        cr_assert_not(plan.prefers_async);
    }
}

Test(mode, async_is_nothing_else)
{
    static const char *const bad[] = {"async", "async=", "async=2", "async=yes", "async=on",
        "async=true+", "async=+1", "async=tru", "async=truetruetrue", "async=%", "async=1%00",
        "async=01"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        ask(bad[i], "");
        ASSERT_REFUSED(bad[i]);
    }
}

Test(mode, parameter_that_is_nearly_ours_is_refused_with_our_name_unless_it_may_be_the_apps)
{
    ask("x=1&web_hook_endpoint=https://e/", "");
    ASSERT_RUN("HOOKLINE_OWN_PARAMETERS=off");
    cr_assert(hl_str_eq(plan.target, HL_STR("/run?x=1&web_hook_endpoint=https://e/")));
    config.own_parameters = true;
    ask("x=1&web_hook_endpoint=https://e/", "");
    ASSERT_REFUSED("web_hook_endpoint");
    cr_assert(strstr(
        plan.refusal.detail, "web_hook_endpoint is not hookline's, which is webhookEndpoint"));
    ask("async=true&%41%73%79%6e%63=1", "");
    ASSERT_REFUSED("Async");
    upgrade("Async=1", "");
    ASSERT_REFUSED("Async of an upgrade");
    ask("async=true&x=Async&sync=1", "");
    ASSERT_RUN("names that are not near");
}

Test(mode, own_parameter_may_be_there_once)
{
    static const char *const bad[] = {"async=true&async=true", "async=1&x&async=0",
        "async=1&%61sync=1", "%61sync=0&a%73ync=0", "async&async=1",
        "webhookEndpoint=https://e/&webhookEndpoint=https://e/",
        "webhookEndpoint=https://e/&webhook%45ndpoint=https://e/"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        ask(bad[i], "");
        ASSERT_REFUSED(bad[i]);
    }
}

Test(mode, preference_asks_for_async_and_the_parameter_wins)
{
    static const struct {
        const char *query, *lines;
        bool is_async, prefers;
    } cases[] = {
        {"", "Prefer: respond-async\r\n", true, true},
        {"", "Prefer: Respond-Async; wait=10\r\n", true, true},
        {"", "prefer: wait=10, respond-async\r\n", true, true},
        {"", "Prefer: wait=10\r\nPrefer: respond-async\r\n", true, true},
        {"", "Prefer: a=\"b, \\\" c\", respond-async\r\n", true, true},
        {"async=true", "Prefer: respond-async\r\n", true, true},
        {"async=false", "Prefer: respond-async\r\n", false, false},
        {"", "Prefer: respond-async-never\r\n", false, false},
        {"", "Prefer: respond-async=no\r\n", false, false},
        {"", "Prefer: a=\"x, respond-async, y\"\r\n", false, false},
        {"", "Prefer: a=\"x\\\", respond-async, y\"\r\n", false, false},
        {"", "Prefer: a=\"x, respond-async\\\r\n", false, false},
        {"", "Prefer: a; respond-async\r\n", false, false},
        {"", "Prefer:\r\n", false, false},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        ask(cases[i].query, cases[i].lines);
        ASSERT_RUN(cases[i].lines);
        cr_assert_eq(plan.is_async, cases[i].is_async, "%s %s", cases[i].query, cases[i].lines);
        cr_assert_eq(plan.prefers_async, cases[i].prefers, "%s %s", cases[i].query, cases[i].lines);
    }
}

Test(mode, websocket_cannot_be_async_and_has_no_webhook)
{
    upgrade("async=true", "");
    ASSERT_REFUSED("async=true");
    upgrade("async=maybe", "");
    ASSERT_REFUSED("async=maybe");
    upgrade("async=false&x", "Prefer: respond-async\r\n");
    ASSERT_RUN("async=false");
    cr_assert(plan.is_websocket && !plan.is_async && !plan.prefers_async);
    upgrade("", "Prefer: respond-async\r\n");
    ASSERT_RUN("Prefer");
    cr_assert_not(plan.is_async);
    upgrade("webhookEndpoint=nonsense&x", "X-Webhook-Secret: whsec_!\r\n");
    ASSERT_RUN("webhookEndpoint");
    cr_assert_eq(plan.webhook_url.n + plan.webhook_secret.n, 0);
    cr_assert(hl_str_eq(plan.target, HL_STR("/ws?x")));
}

Test(mode, webhook_url_is_decoded)
{
    static const struct {
        const char *query, *url;
    } cases[] = {
        {"webhookEndpoint=https%3A%2F%2Fexample.com%2Fhook%3Fa%3Db%26c",
            "https://example.com/hook?a=b&c"},
        {"webhookEndpoint=http://example.com:8080/x", "http://example.com:8080/x"},
        {"a&webhook%45ndpoint=http://93.184.216.34/&b", "http://93.184.216.34/"},
        {"webhookEndpoint=http://[2606:4700::1111]/", "http://[2606:4700::1111]/"},
        {"webhookEndpoint=http://localhost/", "http://localhost/"},
        {"webhookEndpoint=http://example.com/%2520", "http://example.com/%20"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        ask(cases[i].query, "");
        ASSERT_RUN(cases[i].query);
        cr_assert(hl_str_eq(plan.webhook_url, hl_str_from(cases[i].url)), "%s became %.*s",
            cases[i].query, HL_STR_ARG(plan.webhook_url));
        cr_assert_eq(plan.webhook_url.p[plan.webhook_url.n], '\0');
    }
}

Test(mode, webhook_url_is_refused_when_it_is_none_or_may_not_be_reached)
{
    static const char *const bad[] = {"", "=", "=example.com", "=/hook", "=//example.com/",
        "=ftp://example.com/", "=http://", "=http%3A%2F%2F", "=http://a%20b/", "=http://a/+b",
        "=http://a/%0d%0aX:%20y", "=http://a/%00", "=http://a/%", "=http://a/%25", "=http://a:0/",
        "=http://a:99999/", "=http://user@example.com/", "=http://user:pw@example.com/",
        "=http://%40example.com/", "=http://example.com%5c@127.0.0.1/", "=http://%C3%A4/",
        "=http://127.0.0.1/", "=http://127.0.0.1./", "=http://127.1/", "=http://2130706433/",
        "=http://0x7f000001/", "=http://0177.0.0.1/", "=http://0/", "=http://10.1.2.3:80/",
        "=http://169.254.169.254/latest", "=http://168.63.129.16/", "=http://[::1]/",
        "=http://[::]/", "=http://[::ffff:127.0.0.1]/", "=http://[::ffff:7f00:1]/",
        "=http://[fe80::1%2525eth0]/", "=http://[64:ff9b::7f00:1]/", "=http://[2002:7f00:1::]/",
        "=https://192.168.1.1/", "=http://%31%32%37.0.0.1/", "=http://%2531%2532%2537.0.0.1/"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        char query[256];
        snprintf(query, sizeof query, "webhookEndpoint%s", bad[i]);
        ask(query, "");
        ASSERT_REFUSED(bad[i]);
    }
}

Test(mode, webhook_url_has_at_most_2048_bytes_decoded)
{
    char query[3000] = "webhookEndpoint=http://a/";
    size_t n = strlen(query);
    memset(query + n, 'x', 2048 - 9);
    query[n + 2048 - 9] = '\0';
    ask(query, "");
    ASSERT_RUN("2048");
    cr_assert_eq(plan.webhook_url.n, 2048);
    query[n + 2048 - 9] = 'x';
    ask(query, "");
    ASSERT_REFUSED("2049");
}

Test(mode, operator_allows_addresses_and_forbids_http)
{
    struct hl_str bad;
    cr_assert_eq(hl_cidr_list_parse(HL_STR("10.0.0.0/8"), &config.webhook_allow, &bad), HL_OK);
    ask("webhookEndpoint=http://10.1.2.3/", "");
    ASSERT_RUN("allowed");
    ask("webhookEndpoint=http://127.0.0.1/", "");
    ASSERT_REFUSED("not allowed");
    config.webhook_https_only = true;
    ask("webhookEndpoint=http://example.com/", "");
    ASSERT_REFUSED("http");
    ask("webhookEndpoint=https://example.com/", "");
    ASSERT_RUN("https");
    hl_cidr_list_fini(&config.webhook_allow);
}

#define HOOK "webhookEndpoint=https://example.com/"

Test(mode, secret_goes_with_a_webhook)
{
    static const char *const good[] = {"s", "any bytes \x80 a value may hold",
        "whsec_YQ==", "whsec_YWI=", "whsec_YWJj", "whsec_+/+/", "WHSEC_!", "whsec"};
    char line[2048];
    for (size_t i = 0; i < HL_ARRAY_LEN(good); i++) {
        snprintf(line, sizeof line, "X-Webhook-Secret: %s\r\n", good[i]);
        ask(HOOK, line);
        ASSERT_RUN(good[i]);
        cr_assert(hl_str_eq(plan.webhook_secret, hl_str_from(good[i])), "%s", good[i]);
    }
    ask("", "X-Webhook-Secret: whsec_!\r\n");
    ASSERT_RUN("without a webhook");
    cr_assert_eq(plan.webhook_secret.n, 0);
}

Test(mode, secret_is_refused_when_it_cannot_sign)
{
    static const char *const bad[] = {"X-Webhook-Secret:\r\n",
        "X-Webhook-Secret: a\r\nX-Webhook-Secret: a\r\n", "X-Webhook-Secret: whsec_\r\n",
        "X-Webhook-Secret: whsec_=\r\n", "X-Webhook-Secret: whsec_====\r\n",
        "X-Webhook-Secret: whsec_Y\r\n", "X-Webhook-Secret: whsec_YQ=\r\n",
        "X-Webhook-Secret: whsec_YQ===\r\n", "X-Webhook-Secret: whsec_YWJj=\r\n",
        "X-Webhook-Secret: whsec_Y=Q=\r\n", "X-Webhook-Secret: whsec_-_-_\r\n",
        "X-Webhook-Secret: whsec_YW Jj\r\n"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        ask(HOOK, bad[i]);
        ASSERT_REFUSED(bad[i]);
    }
}

/* "`name`: xxx…" with `n` bytes of value. */
static const char *long_line(const char *name, size_t n)
{
    static char line[2048];
    int start = snprintf(line, sizeof line, "%s: ", name);
    memset(line + start, 'x', n);
    strcpy(line + start + n, "\r\n");
    return line;
}

Test(mode, secret_has_1_to_1024_bytes)
{
    ask(HOOK, long_line("X-Webhook-Secret", 1024));
    ASSERT_RUN("1024");
    cr_assert_eq(plan.webhook_secret.n, 1024);
    ask(HOOK, long_line("X-Webhook-Secret", 1025));
    ASSERT_REFUSED("1025");
}

Test(mode, idempotency_key_counts_on_async_runs)
{
    ask("async=1", "Idempotency-Key: \"a key\"\r\n");
    ASSERT_RUN("key");
    cr_assert(hl_str_eq(plan.idempotency_key, HL_STR("\"a key\"")));
    ask("", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n");
    ASSERT_RUN("synchronous");
    cr_assert_eq(plan.idempotency_key.n, 0);

    ask("async=1", long_line("Idempotency-Key", 255));
    ASSERT_RUN("255");
    ask("async=1", long_line("Idempotency-Key", 256));
    ASSERT_REFUSED("256");
    ask("async=1", "Idempotency-Key:\r\n");
    ASSERT_REFUSED("empty");
    ask("async=1", "Idempotency-Key: a\r\nIdempotency-Key: a\r\n");
    ASSERT_REFUSED("twice");
    ask("async=1", "Idempotency-Key: a\tb\r\n");
    ASSERT_REFUSED("tab");
    ask("async=1", "Idempotency-Key: \xc3\xa4\r\n");
    ASSERT_REFUSED("not ASCII");
}

Test(mode, wait_is_a_number_of_seconds_and_makes_a_call_asynchronous)
{
    static const struct {
        const char *query, *lines;
        bool is_async;
        uint64_t wait_ms;
    } cases[] = {
        {"", "Prefer: wait=5\r\n", true, 5000},
        {"", "Prefer: respond-async, wait=5\r\n", true, 5000},
        {"", "Prefer: respond-async\r\nPrefer: WAIT=\"7\";a=b\r\n", true, 7000},
        {"", "Prefer: wait=0\r\n", true, 0},
        {"", "Prefer: wait=3600\r\n", true, 60000},
        {"", "Prefer: wait=18446744073709551616\r\n", true, 60000},
        {"", "Prefer: wait=5, wait=6\r\n", true, 5000},
        {"", "Prefer: wait\r\n", false, 0},
        {"", "Prefer: wait=\r\n", false, 0},
        {"", "Prefer: wait=-5\r\n", false, 0},
        {"", "Prefer: wait=5s\r\n", false, 0},
        {"", "Prefer: wait=\"\r\n", false, 0},
        {"", "Prefer: await=5\r\n", false, 0},
        {"async=true", "Prefer: wait=5\r\n", true, 0},
        {"async=false", "Prefer: wait=5\r\n", false, 0},
        {"", "Prefer: wait=5\r\nAccept: text/event-stream\r\n", false, 0},
        {"", "Prefer: respond-async, wait=5\r\nAccept: a/b, text/event-stream;q=1\r\n", true, 0},
    };
    config.max_wait_ms = 60000;
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        ask(cases[i].query, cases[i].lines);
        ASSERT_RUN(cases[i].lines);
        cr_assert_eq(plan.is_async, cases[i].is_async, "%s", cases[i].lines);
        cr_assert_eq(plan.terms.wait_ms, cases[i].wait_ms, "%s", cases[i].lines);
    }
}

Test(mode, at_a_front_a_synchronous_call_is_queued_and_keeps_what_it_asks_for)
{
    config.role = HL_REPLICA_FRONT;
    config.front_timeout_ms = 900000;
    config.queue_timeout_ms = 5000;
    config.sync_timeout_ms = 60000;
    config.stream_keep = HL_STREAM_KEEP_ALL;
    ask("", "Idempotency-Key: k\r\nX-Run-Start-Timeout: 7s\r\n");
    ASSERT_RUN("a front's");
    cr_assert(plan.is_async && plan.terms.has_caller && plan.terms.keeps_stream);
    cr_assert_eq(plan.terms.wait_ms, 900000);
    cr_assert_eq(plan.terms.timeout_ms, 60000);
    cr_assert_eq(plan.terms.start_timeout_ms, 7000);
    cr_assert(hl_str_eq(plan.idempotency_key, HL_STR("k")));

    ask("", "");
    cr_assert_eq(
        plan.terms.start_timeout_ms, 0); /* HOOKLINE_QUEUE_TIMEOUT is for asynchronous calls */
    ask("async=true", "");
    cr_assert(plan.is_async && !plan.terms.has_caller && !plan.terms.keeps_stream);
    cr_assert_eq(plan.terms.start_timeout_ms, 5000);
    ask("", "Idempotency-Key: \r\n");
    ASSERT_REFUSED("an empty key");
    upgrade("", "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n");
    cr_assert_eq(plan.refusal.status, 501);
}
