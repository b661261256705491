#include <criterion/criterion.h>
#include <stdio.h>

#include "config/choice.h"
#include "config/config.h"
#include "http/head.h"
#include "route/plan.h"

#define YEAR_MS (365ull * 24 * 60 * 60 * 1000)

static struct hl_head head;
static struct hl_config config;
static struct hl_plan plan;
static char target_space[4096], text[8192];
static struct hl_plan_scratch scratch;

static void init(void)
{
    config = (struct hl_config){
        .app_run_path = HL_STR("/run"), .auth = HL_AUTH_NONE, .response_grace_period_ms = 900000};
    scratch = (struct hl_plan_scratch){.target = target_space, .target_cap = sizeof target_space};
}

TestSuite(run_field, .init = init);

static void ask(const char *query, const char *lines)
{
    struct hl_refusal fault;
    int n = snprintf(
        text, sizeof text, "POST /v4/p/a/run%s HTTP/1.1\r\nHost: a\r\n%s\r\n", query, lines);
    cr_assert(hl_head_parse_request(&head, text, (size_t)n, &fault), "%s: %s", lines, fault.detail);
    hl_plan_make(&plan, &head, &config, &scratch);
}

Test(run_field, time_is_seconds_or_a_number_with_its_unit)
{
    static const struct {
        const char *value;
        uint64_t ms;
    } cases[] = {
        {"90", 90000},
        {"1", 1000},
        {"0090", 90000},
        {"90s", 90000},
        {"250ms", 250},
        {"5m", 300000},
        {"2h", 7200000},
        {"1d", 86400000},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        char line[128];
        snprintf(line, sizeof line, "x-RUN-timeout: %s\r\nX-Run-Start-Timeout: %s\r\n",
            cases[i].value, cases[i].value);
        ask("", line);
        cr_assert_eq(plan.kind, HL_PLAN_RUN, "%s", cases[i].value);
        cr_assert_eq(plan.terms.timeout_ms, cases[i].ms, "%s", cases[i].value);
        cr_assert_eq(plan.terms.start_timeout_ms, cases[i].ms, "%s", cases[i].value);
    }
}

Test(run_field, too_long_a_time_is_the_longest)
{
    static const char *const values[] = {"9999999999", "99999999999", "184467440737095516160s",
        "99999999999999999999999999999999d", "400d"};
    for (size_t i = 0; i < HL_ARRAY_LEN(values); i++) {
        char line[128];
        snprintf(line, sizeof line, "X-Run-Timeout: %s\r\n", values[i]);
        ask("", line);
        cr_assert_eq(plan.kind, HL_PLAN_RUN, "%s", values[i]);
        cr_assert_eq(plan.terms.timeout_ms, YEAR_MS, "%s", values[i]);
    }
}

Test(run_field, what_is_no_time_above_zero_is_refused_by_name)
{
    static const char *const bad[] = {"", "0", "0s", "00", "-1", "+1", "1.5", "1.5s", "s", "ms",
        "90x", "90 s", "1s1s", "99999999999999999999y", "soon", "1,2", "0x10", "1e3"};
    static const char *const names[] = {"X-Run-Timeout", "X-Run-Start-Timeout"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        for (size_t k = 0; k < HL_ARRAY_LEN(names); k++) {
            char line[128];
            snprintf(line, sizeof line, "%s: %s\r\n", names[k], bad[i]);
            ask(k ? "?async=true" : "", line);
            cr_assert_eq(plan.kind, HL_PLAN_REFUSED, "%s", line);
            cr_assert_eq(plan.refusal.status, 400);
            cr_assert(strncmp(plan.refusal.detail, names[k], strlen(names[k])) == 0, "%s: %s", line,
                plan.refusal.detail);
        }
}

Test(run_field, field_that_is_there_twice_is_refused)
{
    ask("", "X-Run-Timeout: 5\r\nX-Run-Attempts: 1\r\nx-run-timeout: 5\r\n");
    cr_assert_eq(plan.kind, HL_PLAN_REFUSED);
    cr_assert(strstr(plan.refusal.detail, "X-Run-Timeout must be a single field"));
}

Test(run_field, synchronous_call_has_at_most_what_the_setting_allows)
{
    ask("", "");
    cr_assert_eq(plan.terms.timeout_ms, 0);
    config.sync_timeout_ms = 30000;
    ask("", "");
    cr_assert_eq(plan.terms.timeout_ms, 30000);
    ask("", "X-Run-Timeout: 31\r\n");
    cr_assert_eq(plan.terms.timeout_ms, 30000);
    ask("", "X-Run-Timeout: 29\r\n");
    cr_assert_eq(plan.terms.timeout_ms, 29000);
}

Test(run_field, asynchronous_run_waits_as_the_setting_says_unless_the_call_does)
{
    config.sync_timeout_ms = 30000;
    config.queue_timeout_ms = 60000;
    ask("?async=true", "");
    cr_assert_eq(plan.terms.timeout_ms, 0);
    cr_assert_eq(plan.terms.start_timeout_ms, 60000);
    ask("?async=true", "X-Run-Timeout: 31\r\nX-Run-Start-Timeout: 2h\r\n");
    cr_assert_eq(plan.terms.timeout_ms, 31000);
    cr_assert_eq(plan.terms.start_timeout_ms, 7200000);
    ask("", "");
    cr_assert_eq(plan.terms.start_timeout_ms, 0);
}

/* ---- X-Run-Keep ---- */

static const struct keep_case {
    enum hl_stream_keep setting;
    enum hl_auth_mode auth;
    const char *value; /* NULL: it is not there */
    uint16_t status;   /* 0: it is not refused */
    bool keeps, asks;
} keeps[] = {
    {HL_STREAM_KEEP_ASK, HL_AUTH_JWT, NULL, 0, false, false},
    {HL_STREAM_KEEP_ASK, HL_AUTH_JWT, "true", 0, true, true},
    {HL_STREAM_KEEP_ASK, HL_AUTH_JWT, "TRUE", 0, true, true},
    {HL_STREAM_KEEP_ASK, HL_AUTH_JWT, "false", 0, false, false},
    {HL_STREAM_KEEP_ASK, HL_AUTH_NONE, NULL, 0, false, false},
    {HL_STREAM_KEEP_ASK, HL_AUTH_NONE, "true", 403, false, false}, /* anyone could read it */
    {HL_STREAM_KEEP_ASK, HL_AUTH_NONE, "false", 0, false, false},
    {HL_STREAM_KEEP_ALL, HL_AUTH_JWT, NULL, 0, true, false},
    {HL_STREAM_KEEP_ALL, HL_AUTH_JWT, "true", 0, true, true},
    {HL_STREAM_KEEP_ALL, HL_AUTH_JWT, "false", 0, false, false},
    {HL_STREAM_KEEP_ALL, HL_AUTH_NONE, NULL, 0, true, false}, /* the operator has said so */
    {HL_STREAM_KEEP_ALL, HL_AUTH_NONE, "true", 0, true, true},
    {HL_STREAM_KEEP_OFF, HL_AUTH_JWT, NULL, 0, false, false},
    {HL_STREAM_KEEP_OFF, HL_AUTH_JWT, "true", 403, false, false},
    {HL_STREAM_KEEP_OFF, HL_AUTH_JWT, "false", 0, false, false},
};

Test(run_field, stream_is_kept_as_setting_and_call_say)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(keeps); i++) {
        const struct keep_case *c = &keeps[i];
        char line[64] = "";
        if (c->value)
            snprintf(line, sizeof line, "X-Run-Keep: %s\r\n", c->value);
        config.stream_keep = c->setting;
        config.auth = c->auth;
        ask("", line);
        cr_assert_eq(plan.kind, c->status ? HL_PLAN_REFUSED : HL_PLAN_RUN, "case %zu", i);
        if (c->status) {
            cr_assert_eq(plan.refusal.status, c->status, "case %zu", i);
            continue;
        }
        cr_assert_eq(plan.terms.keeps_stream, c->keeps, "case %zu", i);
        cr_assert_eq(plan.terms.asks_keep, c->asks, "case %zu", i);
    }
}

Test(run_field, what_is_neither_true_nor_false_is_refused_by_name)
{
    static const char *const bad[] = {"", "1", "yes", "true, true", "truee", "0"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        char line[64];
        snprintf(line, sizeof line, "X-Run-Keep: %s\r\n", bad[i]);
        for (int is_async = 0; is_async < 2; is_async++) {
            ask(is_async ? "?async=true" : "", line);
            cr_assert_eq(plan.kind, HL_PLAN_REFUSED, "%s", line);
            cr_assert_eq(plan.refusal.status, 400);
            cr_assert(strstr(plan.refusal.detail, "X-Run-Keep"), "%s", plan.refusal.detail);
        }
    }
    ask("", "X-Run-Keep: false\r\nX-Run-Keep: false\r\n");
    cr_assert_eq(plan.refusal.status, 400);
}

Test(run_field, asynchronous_run_is_kept_anyway_and_the_field_is_only_checked)
{
    static const char *const lines[] = {"", "X-Run-Keep: true\r\n", "X-Run-Keep: false\r\n"};
    static const enum hl_stream_keep settings[] = {
        HL_STREAM_KEEP_ASK, HL_STREAM_KEEP_ALL, HL_STREAM_KEEP_OFF};
    for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++)
        for (size_t k = 0; k < HL_ARRAY_LEN(settings); k++) {
            config.stream_keep = settings[k];
            ask("?async=true", lines[i]);
            cr_assert_eq(plan.kind, HL_PLAN_RUN, "%s", lines[i]);
            cr_assert_not(plan.terms.keeps_stream || plan.terms.asks_keep);
        }
}

Test(run_field, refused_wish_names_what_would_allow_it)
{
    config.auth = HL_AUTH_JWT;
    config.stream_keep = HL_STREAM_KEEP_OFF;
    ask("", "X-Run-Keep: true\r\n");
    cr_assert(strstr(plan.refusal.detail, "HOOKLINE_STREAM_KEEP"), "%s", plan.refusal.detail);
    config.auth = HL_AUTH_NONE;
    config.stream_keep = HL_STREAM_KEEP_ASK;
    ask("", "X-Run-Keep: true\r\n");
    cr_assert(strstr(plan.refusal.detail, "HOOKLINE_AUTH"), "%s", plan.refusal.detail);
}

/* ---- X-Run-Tag ---- */

Test(run_field, tags_are_one_list_over_all_fields)
{
    static const char *const queries[] = {"", "?async=true", "?webhookEndpoint=https://e/"};
    for (size_t i = 0; i < HL_ARRAY_LEN(queries); i++) {
        ask(queries[i], "X-Run-Tag: tier=gold , order = 17\r\nA: b\r\nx-run-TAG:n=a b\r\n");
        cr_assert_eq(plan.kind, HL_PLAN_RUN, "%s", queries[i]);
        cr_assert(hl_str_eq(plan.tags, HL_STR("tier=gold,order=17,n=a b")), "%s", queries[i]);
    }
    ask("", "X-Run-Timeout: 5\r\nX-Run-Tags: none\r\n");
    cr_assert_eq(plan.kind, HL_PLAN_RUN);
    cr_assert_eq(plan.tags.n, 0);
}

Test(run_field, tag_that_is_none_is_refused_by_name)
{
    static const struct {
        const char *lines, *told;
    } cases[] = {
        {"X-Run-Tag:\r\n", "empty at tag 1"},
        {"X-Run-Tag: a=1,b=2\r\nX-Run-Tag: ,c=3\r\n", "empty at tag 3"},
        {"X-Run-Tag: gold\r\n", "`gold`, which is no tag"},
        {"X-Run-Tag: a b=1\r\n", "`a b=1`, whose name"},
        {"X-Run-Tag: a=\r\n", "`a=`, whose value"},
        {"X-Run-Tag: a=\xc3\xa4\r\n", "`a=??`, whose value"},
        {"X-Run-Tag: a=1\r\nX-Run-Tag: a=2\r\n", "`a=2`, and that name once before"},
        {"X-Run-Tag: a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9\r\n", "`i=9` is the ninth"},
        {"X-Run-Tag: a=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n",
            "`a=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`, whose value"},
    };
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        ask(i % 2 ? "?async=true" : "", cases[i].lines);
        cr_assert_eq(plan.kind, HL_PLAN_REFUSED, "%s", cases[i].lines);
        cr_assert_eq(plan.refusal.status, 400);
        cr_assert(strstr(plan.refusal.detail, cases[i].told), "%s", plan.refusal.detail);
    }
}
