#include <criterion/criterion.h>
#include <stdio.h>

#include "config/choice.h"
#include "config/config.h"
#include "http/head.h"
#include "route/plan.h"

static struct hl_head head;
static struct hl_config config;
static struct hl_plan plan;
static char target_space[4096];
static struct hl_plan_scratch scratch;
static char text[8192];

static void init(void)
{
    config = (struct hl_config){
        .app_run_path = HL_STR("/run"), .passthrough = true, .auth = HL_AUTH_NONE};
    scratch = (struct hl_plan_scratch){.target = target_space, .target_cap = sizeof target_space};
}

TestSuite(plan, .init = init);

/* `lines` are whole field lines after Host. */
static void make(const char *method, const char *target, const char *lines)
{
    struct hl_refusal fault;
    int n =
        snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, target, lines);
    cr_assert(n > 0 && (size_t)n < sizeof text);
    cr_assert(
        hl_head_parse_request(&head, text, (size_t)n, &fault), "%s: %s", target, fault.detail);
    hl_plan_make(&plan, &head, &config, &scratch);
}

#define UPGRADE "Connection: upgrade\r\nUpgrade: websocket\r\n"

static void expect_refusal(const char *method, const char *target, uint16_t status)
{
    make(method, target, "");
    cr_expect_eq(plan.kind, HL_PLAN_REFUSED, "%s %s", method, target);
    cr_expect_eq(plan.refusal.status, status, "%s %s: %u", method, target, plan.refusal.status);
    cr_expect(plan.refusal.detail && *plan.refusal.detail);
}

Test(plan, run_names_its_project_app_and_target)
{
    make("POST", "/v4/my-proj_1/App.2/run", "");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
    cr_assert(hl_str_eq(plan.project, HL_STR("my-proj_1")));
    cr_assert(hl_str_eq(plan.app, HL_STR("App.2")));
    cr_assert(hl_str_eq(plan.target, HL_STR("/run")));
    cr_assert_not(plan.is_async || plan.prefers_async || plan.is_websocket);
    cr_assert_eq(plan.webhook_url.n + plan.webhook_secret.n + plan.idempotency_key.n, 0);
}

Test(plan, upstream_target_keeps_every_byte_that_is_not_ours)
{
    static const struct {
        const char *method, *target, *upstream;
    } cases[] = {
        {"POST", "/v4/p/a/run", "/run"},
        {"POST", "/v4/p/a/run?", "/run?"},
        {"POST", "/v4/p/a/run?x=1", "/run?x=1"},
        {"POST", "/v4/p/a/run?async=true", "/run"},
        {"POST", "/v4/p/a/run?async=false&x", "/run?x"},
        {"POST", "/v4/p/a/run?x&async=0", "/run?x"},
        {"POST", "/v4/p/a/run?x=%20+&&async=1&=y&z=%zz&", "/run?x=%20+&&=y&z=%zz&"},
        {"POST", "/v4/p/a/run?%61sync=1&webhookEndpoin%74=http://e/&b", "/run?b"},
        {"POST", "/v4/p/a/run?asyncx=1&xasync=1&Async=1&ASYNC=2&webhookendpoint=q",
            "/run?asyncx=1&xasync=1&Async=1&ASYNC=2&webhookendpoint=q"},
        {"POST", "http://b/v4/p/a/run?c=d", "/run?c=d"},
        {"GET", "/v4/p/a/", "/"},
        {"GET", "/v4/p/a/x/y/z", "/x/y/z"},
        {"GET", "/v4/p/a//x", "//x"},
        {"GET", "/v4/p/a/run/", "/run/"},
        {"DELETE", "/v4/p/a/x%2Fy/..?q=1?2", "/x%2Fy/..?q=1?2"},
        {"GET", "/v4/p/a/x?async=0&q", "/x?q"},
        {"GET", "/v4/p/a/x?q&async=0", "/x?q"},
        {"PURGE", "/v4/p/a/x", "/x"},
        {"OPTIONS", "/v4/p/a/x", "/x"},
        {"GET", "http://b/v4/p/a/x?c=d", "/x?c=d"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        make(cases[i].method, cases[i].target, "");
        cr_assert_eq(plan.kind, HL_PLAN_RUN, "%s: %s", cases[i].target, plan.refusal.detail);
        cr_assert(hl_str_eq(plan.target, hl_str_from(cases[i].upstream)), "%s became %.*s",
            cases[i].target, HL_STR_ARG(plan.target));
    }
}

Test(plan, run_path_is_the_operators)
{
    config.app_run_path = HL_STR("/predict/it");
    make("POST", "/v4/p/a/run", "");
    cr_assert(hl_str_eq(plan.target, HL_STR("/predict/it")));
    make("POST", "/v4/p/a/run?x=1&async=0", "");
    cr_assert(hl_str_eq(plan.target, HL_STR("/predict/it?x=1")));
}

Test(plan, target_that_does_not_fit_is_refused)
{
    scratch.target_cap = 6;
    make("POST", "/v4/p/a/run?x", "");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
    expect_refusal("POST", "/v4/p/a/run?xy", 414);
    scratch.target_cap = 3;
    expect_refusal("POST", "/v4/p/a/run?", 414);
}

Test(plan, names_are_checked)
{
    static const struct {
        const char *target;
        uint16_t status;
    } cases[] = {
        {"/v4", 404},
        {"/v4/", 404},
        {"/v4/p", 404},
        {"/v4/p/", 404},
        {"/v4/p/a", 404},
        {"/v4//a/run", 400},
        {"/v4/p//run", 400},
        {"/v4/./a/run", 400},
        {"/v4/../a/run", 400},
        {"/v4/p/./run", 400},
        {"/v4/p/../run", 400},
        {"/v4/%2e%2e/a/run", 400},
        {"/v4/p%2Fq/a/run", 400},
        {"/v4/p/a%2frun", 400},
        {"/v4/p/%2e/run", 400},
        {"/v4/%70/a/run", 400},
        {"/v4/p!/a/run", 400},
        {"/v4/p/a~/run", 400},
        {"/v4/p/a:1/run", 400},
        {"/v4?x=1", 404},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++)
        expect_refusal("POST", cases[i].target, cases[i].status);
    make("GET", "/v4/.../..a/x", "");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
}

Test(plan, names_have_at_most_128_characters)
{
    char name[130], target[512];
    memset(name, 'n', sizeof name);
    name[128] = '\0';
    snprintf(target, sizeof target, "/v4/%s/%s/run", name, name);
    make("POST", target, "");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
    name[128] = 'n';
    name[129] = '\0';
    snprintf(target, sizeof target, "/v4/%s/a/run", name);
    expect_refusal("POST", target, 400);
    snprintf(target, sizeof target, "/v4/p/%s/run", name);
    expect_refusal("POST", target, 400);
}

Test(plan, other_projects_and_apps_are_not_here)
{
    config.project_id = HL_STR("p");
    config.app_name = HL_STR("a");
    make("POST", "/v4/p/a/run", "");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
    expect_refusal("POST", "/v4/P/a/run", 404);
    expect_refusal("POST", "/v4/pp/a/run", 404);
    expect_refusal("POST", "/v4/p/b/run", 404);
    expect_refusal("GET", "/v4/p/b/run", 404);
}

Test(plan, run_takes_post_only)
{
    static const char *const methods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PURGE"};
    for (size_t i = 0; i < HL_ARRAY_LEN(methods); i++) {
        expect_refusal(methods[i], "/v4/p/a/run?async=true&async=true", 405);
        cr_assert_str_eq(plan.refusal.fields, "Allow: POST\r\n");
    }
}

Test(plan, connect_and_trace_are_served_nowhere)
{
    expect_refusal("CONNECT", "a:443", 405);
    cr_assert(strstr(plan.refusal.fields, "Allow: "));
    expect_refusal("TRACE", "/", 405);
    expect_refusal("TRACE", "/v4/p/a/x", 405);
    expect_refusal("TRACE", "/_hookline/healthz", 405);
}

Test(plan, reserved_paths_never_reach_the_app)
{
    expect_refusal("GET", "/v2/projects", 404);
    cr_assert(strstr(plan.refusal.detail, "REST"));
    make("GET", "/v2/projects/p/service-accounts", "");
    cr_expect_eq(plan.kind, HL_PLAN_REST);
    cr_expect_not(plan.asks_token, "nobody is asked with HOOKLINE_AUTH=none");
    expect_refusal("GET", "/_hookline", 404);
    expect_refusal("GET", "/_hookline/", 404);
    expect_refusal("GET", "/_hookline/metrics", 404);
    expect_refusal("GET", "/_hookline/healthz/", 404);
    expect_refusal("GET", "http://b/_hookline/x", 404);
}

Test(plan, health_is_asked_for_with_get)
{
    make("GET", "/_hookline/healthz", "");
    cr_assert_eq(plan.kind, HL_PLAN_HEALTHZ);
    make("HEAD", "/_hookline/readyz?x", "");
    cr_assert_eq(plan.kind, HL_PLAN_READYZ);
    expect_refusal("POST", "/_hookline/healthz", 405);
    cr_assert_str_eq(plan.refusal.fields, "Allow: GET, HEAD\r\n");
}

Test(plan, the_description_is_read_by_anybody)
{
    make("GET", "/v2/openapi.json", "");
    cr_assert_eq(plan.kind, HL_PLAN_DESCRIPTION);
    cr_assert_not(plan.asks_token);
    make("HEAD", "/v2/openapi.json?x", "");
    cr_assert_eq(plan.kind, HL_PLAN_DESCRIPTION);
    expect_refusal("POST", "/v2/openapi.json", 405);
    cr_assert_str_eq(plan.refusal.fields, "Allow: GET, HEAD\r\n");
    make("GET", "/v2/models", "");
    cr_assert_eq(plan.kind, HL_PLAN_PASS);
}

Test(plan, everything_else_passes_as_it_is)
{
    static const struct {
        const char *method, *target, *upstream;
    } cases[] = {
        {"GET", "/", "/"},
        {"GET", "/v2/health/ready", "/v2/health/ready"},
        {"GET", "/v2/projectsx", "/v2/projectsx"},
        {"POST", "/run?async=true&webhookEndpoint=nonsense",
            "/run?async=true&webhookEndpoint=nonsense"},
        {"GET", "/v40/x", "/v40/x"},
        {"GET", "/v2x", "/v2x"},
        {"GET", "/_hooklines", "/_hooklines"},
        {"GET", "//v4/p/a/run", "//v4/p/a/run"},
        {"GET", "/x%2F..?", "/x%2F..?"},
        {"OPTIONS", "*", "*"},
        {"GET", "http://b", "/"},
        {"GET", "http://b?c=d&async=1", "/?c=d&async=1"},
        {"GET", "http://b/c?d", "/c?d"},
        {"OPTIONS", "http://b", "*"},
        {"OPTIONS", "http://b?c", "/?c"},
        {"OPTIONS", "http://b/", "/"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        make(cases[i].method, cases[i].target, "Prefer: respond-async\r\n");
        cr_assert_eq(plan.kind, HL_PLAN_PASS, "%s", cases[i].target);
        cr_assert(hl_str_eq(plan.target, hl_str_from(cases[i].upstream)), "%s became %.*s",
            cases[i].target, HL_STR_ARG(plan.target));
        cr_assert_not(plan.is_async);
        cr_assert_eq(plan.webhook_url.n, 0);
    }
}

Test(plan, passing_through_can_be_turned_off)
{
    config.passthrough = false;
    expect_refusal("GET", "/", 404);
    expect_refusal("OPTIONS", "*", 404);
    make("POST", "/v4/p/a/run", "");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
}

Test(plan, upgrade_is_seen_on_runs_and_passed_requests)
{
    make("GET", "/v4/p/a/ws", UPGRADE);
    cr_assert(plan.kind == HL_PLAN_RUN && plan.is_websocket);
    make("GET", "/ws", UPGRADE);
    cr_assert(plan.kind == HL_PLAN_PASS && plan.is_websocket);
    make("GET", "/ws", "Connection: upgrade\r\nUpgrade: h2c\r\n");
    cr_assert_not(plan.is_websocket);
}

/* RFC 9110 7.6.2. */
Test(plan, options_that_may_go_no_further_are_answered_here)
{
    static const char *const targets[] = {"*", "/", "/docs", "/v4/p/a/docs", "/v4/p/a/x?async=1"};
    for (size_t i = 0; i < HL_ARRAY_LEN(targets); i++) {
        make("OPTIONS", targets[i], "Max-Forwards: 0\r\n");
        cr_expect_eq(plan.kind, HL_PLAN_OPTIONS, "%s", targets[i]);
        cr_expect(strstr(plan.extra_fields, "Allow: "), "%s", targets[i]);
        make("OPTIONS", targets[i], "Max-Forwards: 1\r\n");
        cr_expect(plan.kind == HL_PLAN_RUN || plan.kind == HL_PLAN_PASS, "%s", targets[i]);
    }
    make("OPTIONS", "/v4/p/a/run", "Max-Forwards: 0\r\n");
    cr_assert_eq(plan.kind, HL_PLAN_REFUSED);
    cr_assert_eq(plan.refusal.status, 405);
}

/* ---- HOOKLINE_AUTH=jwt ---- */

Test(plan, runs_and_all_that_is_said_about_them_ask_for_a_token_of_their_project)
{
    config.auth = HL_AUTH_JWT;
    static const struct {
        const char *method, *target;
        enum hl_plan_kind kind;
    } cases[] = {{"POST", "/v4/p/a/run", HL_PLAN_RUN}, {"GET", "/v4/p/a/x", HL_PLAN_RUN},
        {"GET", "/v4/p/a/run", HL_PLAN_REFUSED}, {"POST", "/v4/p/a/run?async=x", HL_PLAN_REFUSED},
        {"POST", "/v4/p/a/run?async=1&async=1", HL_PLAN_REFUSED},
        {"GET", "/v2/projects/p/runs", HL_PLAN_REST}};
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        make(cases[i].method, cases[i].target, "");
        cr_expect_eq(plan.kind, cases[i].kind, "%s", cases[i].target);
        cr_expect(
            plan.asks_token && hl_str_eq(plan.token_project, HL_STR("p")), "%s", cases[i].target);
    }
    make("OPTIONS", "/v4/p/a/x", "Max-Forwards: 0\r\n");
    cr_expect(plan.kind == HL_PLAN_OPTIONS && plan.asks_token);
}

Test(plan, what_concerns_no_project_asks_for_no_token)
{
    config.auth = HL_AUTH_JWT;
    static const char *const targets[] = {"/_hookline/healthz", "/_hookline/readyz", "/_hookline/x",
        "/v4/p", "/v4/%2e/a/run", "/v2/projects"};
    for (size_t i = 0; i < HL_ARRAY_LEN(targets); i++) {
        make("GET", targets[i], "");
        cr_expect(
            plan.kind != HL_PLAN_RUN && plan.kind != HL_PLAN_PASS && plan.kind != HL_PLAN_REST);
        cr_expect_not(plan.asks_token, "%s", targets[i]);
    }
}

Test(plan, what_is_passed_through_needs_a_token_of_the_configured_project)
{
    config.auth = HL_AUTH_JWT;
    expect_refusal("GET", "/other", 404);
    cr_expect_not(plan.asks_token);
    config.project_id = HL_STR("p");
    make("GET", "/other", "");
    cr_expect_eq(plan.kind, HL_PLAN_PASS);
    cr_expect(plan.asks_token && hl_str_eq(plan.token_project, HL_STR("p")));
}

#define PREFLIGHT "Access-Control-Request-Method: POST\r\nOrigin: "

Test(plan, a_preflight_of_an_allowed_origin_is_answered_here)
{
    struct hl_str allowed = HL_STR("https://a.example");
    config.auth = HL_AUTH_JWT;
    make("OPTIONS", "/v4/p/a/run", PREFLIGHT "https://a.example\r\n");
    cr_expect_neq(plan.kind, HL_PLAN_PREFLIGHT, "none is allowed");
    config.cors_origins = (struct hl_origin_list){.items = &allowed, .n = 1};
    make("OPTIONS", "/v4/p/a/run", PREFLIGHT "https://a.example\r\n");
    cr_expect(plan.kind == HL_PLAN_PREFLIGHT && !plan.asks_token);
    make("OPTIONS", "/v4/p/a/run", PREFLIGHT "https://b.example\r\n");
    cr_expect(plan.kind != HL_PLAN_PREFLIGHT && plan.asks_token);
    make("OPTIONS", "/v4/p/a/run", PREFLIGHT "https://a.example\r\nOrigin: https://b.example\r\n");
    cr_expect_neq(plan.kind, HL_PLAN_PREFLIGHT, "two origins");
}

Test(plan, a_request_that_came_through_here_is_a_loop)
{
    static const char *const loops[] = {"Via: 1.1 hookline-0123abcd\r\n",
        "Via: 1.0 a\r\nvia: 1.1 nginx (b, c), HTTP/1.1 hookline-0123abcd (x), 1.1 d\r\n",
        "Via: 1.1\thookline-0123abcd\r\nConnection: via\r\n"};
    static const char *const others[] = {"", "Via: 1.1 hookline\r\n",
        "Via: 1.1 hookline-0123abce, 1.1 hookline-0123abcd1\r\n",
        "Via: 1.1 xhookline-0123abcd\r\nX-Via: 1.1 hookline-0123abcd\r\n", "Via:\r\n"};
    config.via = HL_STR("hookline-0123abcd");
    config.auth = HL_AUTH_JWT;
    for (size_t i = 0; i < HL_ARRAY_LEN(loops); i++) {
        make("POST", "/v4/p/a/run", loops[i]);
        cr_expect(plan.refusal.status == 508 && !plan.asks_token, "%s", loops[i]);
        make("GET", "/elsewhere", loops[i]);
        cr_expect_eq(plan.refusal.status, 508, "%s", loops[i]);
        make("GET", "/_hookline/healthz", loops[i]);
        cr_expect_eq(plan.kind, HL_PLAN_HEALTHZ);
        make("GET", "/v2/projects/p/runs", loops[i]);
        cr_expect_eq(plan.kind, HL_PLAN_REST);
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(others); i++) {
        make("POST", "/v4/p/a/run", others[i]);
        cr_expect_eq(plan.kind, HL_PLAN_RUN, "%s", others[i]);
    }
}

Test(plan, with_names_of_hosts_any_other_is_misdirected_but_for_health)
{
    config.hosts = HL_STR("b,hookline.internal");
    expect_refusal("POST", "/v4/p/a/run", 421);
    expect_refusal("GET", "/elsewhere", 421);
    make("GET", "/_hookline/readyz", "");
    cr_assert_eq(plan.kind, HL_PLAN_READYZ);
    config.hosts = HL_STR("A");
    make("POST", "/v4/p/a/run", "");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
}

Test(plan, with_names_of_hosts_a_page_of_another_origin_may_only_read)
{
    static const char page[] = "Origin: http://evil.example\r\n";
    config.hosts = HL_STR("a");
    make("POST", "/v4/p/a/run", page);
    cr_assert_eq(plan.refusal.status, 403);
    make("POST", "/v4/p/a/run", "Sec-Fetch-Site: cross-site\r\n");
    cr_assert_eq(plan.refusal.status, 403);
    make("GET", "/v4/p/a/socket", "Origin: http://evil.example\r\n" UPGRADE);
    cr_assert_eq(plan.refusal.status, 403);
    make("GET", "/v4/p/a/words", page);
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
    make("POST", "/v4/p/a/run", "Origin: http://a\r\nSec-Fetch-Site: same-origin\r\n");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
    config.hosts = HL_STR("");
    make("POST", "/v4/p/a/run", page);
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
}

Test(plan, with_names_of_hosts_a_page_of_another_origin_may_ask_for_nothing_of_ours)
{
    static const char *const pages[] = {"Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n", "Origin: http://evil.example\r\n", "Origin: null\r\n",
        "Referer: http://evil.example/a\r\n", "Referer: http://a.evil.example\r\n"};
    static const char *const own[] = {
        "", "Origin: http://a\r\n", "Referer: http://a/b?c=://d\r\n", "Sec-Fetch-Site: none\r\n"};
    static const char *const queries[] = {"async=true", "async=0", "async=maybe", "a=b&async",
        "webhookEndpoint=https%3A%2F%2Fe.example", "webhookEndpoint=x", "async=1&async=1"};
    static const char *const fields[] = {"Prefer: respond-async\r\n", "Prefer: a, WAIT = 5\r\n",
        "Prefer: wait\r\n", "X-Run-Keep: true\r\n", "X-Run-Timeout: 5\r\n",
        "X-Webhook-Secret: s\r\n"};
    static const char *const methods[] = {"GET", "HEAD"};
    char target[128], lines[256];
    config.hosts = HL_STR("a");
    for (size_t m = 0; m < HL_ARRAY_LEN(methods); m++)
        for (size_t i = 0; i < HL_ARRAY_LEN(pages); i++) {
            for (size_t q = 0; q < HL_ARRAY_LEN(queries); q++) {
                snprintf(target, sizeof target, "/v4/p/a/words?%s", queries[q]);
                make(methods[m], target, pages[i]);
                cr_expect_eq(plan.refusal.status, 403, "%s %s", target, pages[i]);
            }
            for (size_t f = 0; f < HL_ARRAY_LEN(fields); f++) {
                snprintf(lines, sizeof lines, "%s%s", pages[i], fields[f]);
                make(methods[m], "/v4/p/a/words", lines);
                cr_expect_eq(plan.refusal.status, 403, "%s", lines);
            }
            make(methods[m], "/v4/p/a/words?a=async", pages[i]);
            cr_expect_eq(plan.kind, HL_PLAN_RUN, "%s", pages[i]);
        }
    for (size_t i = 0; i < HL_ARRAY_LEN(own); i++) {
        make("GET", "/v4/p/a/words?async=true", own[i]);
        cr_expect(plan.kind == HL_PLAN_RUN && plan.is_async, "%s", own[i]);
    }
}

Test(plan, a_worker_takes_no_calls_and_a_front_passes_nothing_on)
{
    config.role = HL_REPLICA_WORKER;
    expect_refusal("POST", "/v4/p/a/run", 421);
    expect_refusal("GET", "/page", 421);
    config.passthrough = false;
    expect_refusal("GET", "/page", 421);
    make("GET", "/_hookline/readyz", "");
    cr_expect_eq(plan.kind, HL_PLAN_READYZ);
    make("GET", "/v2/projects/p/runs", "");
    cr_expect_eq(plan.kind, HL_PLAN_REST);

    config.role = HL_REPLICA_FRONT;
    expect_refusal("GET", "/page", 404);
    config.passthrough = true;
    expect_refusal("GET", "/page", 501);
    make("POST", "/v4/p/a/run", "");
    cr_expect_eq(plan.kind, HL_PLAN_RUN);
}
