/* test_claims.c - what tokens may say, from outside and of our own. */
#include "auth/claims.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct hl_claim_rules defaults;
static json_t *json;
static struct hl_claims claims;

static void end(void)
{
    json_decref(json);
    json = NULL;
}

static void begin(void)
{
    defaults = (struct hl_claim_rules){
        .project_claim = HL_STR("project_id"), .role_claim = HL_STR("role")};
}

TestSuite(claims, .init = begin, .fini = end);

static json_t *parse(const char *text)
{
    end();
    json = json_loads(text, 0, NULL);
    cr_assert(json, "%s", text);
    return json;
}

static bool is_outside(const char *text, const struct hl_claim_rules *rules)
{
    return !hl_claims_read_outside(parse(text), rules, &claims);
}

static bool is_own(const char *text)
{
    return !hl_claims_read_own(parse(text), &claims);
}

Test(claims, read_what_a_token_from_outside_says)
{
    cr_assert(
        is_outside("{\"exp\":1700000000,\"nbf\":1600000000.5,\"project_id\":\"p\",\"sub\":\"me\","
                   "\"role\":\"admin\"}",
            &defaults));
    cr_assert_eq(claims.expires_ms, 1700000000000);
    cr_assert_eq(claims.not_before_ms, 1600000000500);
    cr_assert(hl_str_eq(claims.project, HL_STR("p")));
    cr_assert(hl_str_eq(claims.subject, HL_STR("me")));
    cr_assert_eq(claims.role, HL_ROLE_ADMIN);
    cr_assert_not(claims.has_all_projects);
    cr_assert(hl_id_is_nil(&claims.account));
}

Test(claims, times_are_seconds_and_exp_is_required)
{
    static const char *const bad[] = {"{}", "{\"exp\":null}", "{\"exp\":\"1700000000\"}",
        "{\"exp\":true}", "{\"exp\":-1}", "{\"exp\":1700000000000}", "{\"exp\":[1700000000]}",
        "{\"exp\":1700000000,\"nbf\":\"1\"}", "{\"exp\":1700000000,\"nbf\":null}"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(is_outside(bad[i], &defaults), "%s", bad[i]);
    cr_expect(is_outside("{\"exp\":1700000000}", &defaults));
}

Test(claims, only_the_words_admin_and_viewer_make_one)
{
    static const struct {
        const char *role;
        enum hl_role is;
    } cases[] = {{"\"admin\"", HL_ROLE_ADMIN}, {"[\"user\",\"admin\"]", HL_ROLE_ADMIN},
        {"\"viewer\"", HL_ROLE_VIEWER}, {"[\"user\",\"viewer\"]", HL_ROLE_VIEWER},
        {"[\"viewer\",\"admin\"]", HL_ROLE_ADMIN}, {"[\"viewer\",\"invoke\"]", HL_ROLE_INVOKE},
        {"\"Viewer\"", HL_ROLE_INVOKE}, {"\"Admin\"", HL_ROLE_INVOKE},
        {"\"admin \"", HL_ROLE_INVOKE}, {"\"root\"", HL_ROLE_INVOKE}, {"true", HL_ROLE_INVOKE},
        {"{\"admin\":true}", HL_ROLE_INVOKE}, {"[[\"admin\"]]", HL_ROLE_INVOKE},
        {"\"\"", HL_ROLE_INVOKE}};
    char text[128];
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        snprintf(text, sizeof text, "{\"exp\":1,\"role\":%s}", cases[i].role);
        cr_assert(is_outside(text, &defaults));
        cr_expect_eq(claims.role, cases[i].is, "%s", text);
    }
    struct hl_claim_rules none = defaults;
    none.role_claim = HL_STR("");
    cr_assert(is_outside("{\"exp\":1,\"role\":\"admin\",\"\":\"admin\"}", &none));
    cr_expect_eq(claims.role, HL_ROLE_INVOKE);
}

/* Two that differ only in what no text holds are not one. */
Test(claims, a_subject_or_issuer_with_a_nul_is_refused_and_such_a_project_is_none)
{
    static const char *const bad[] = {
        "{\"exp\":1,\"sub\":\"a\\u0000b\"}", "{\"exp\":1,\"iss\":\"a\\u0000\"}"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
        end();
        json = json_loads(bad[i], JSON_ALLOW_NUL, NULL);
        cr_assert(json);
        cr_expect(hl_claims_read_outside(json, &defaults, &claims), "%s", bad[i]);
    }
    end();
    json = json_loads("{\"exp\":1,\"project_id\":\"p\\u0000\"}", JSON_ALLOW_NUL, NULL);
    cr_assert_not(hl_claims_read_outside(json, &defaults, &claims));
    cr_expect(claims.project.n == 0 && !claims.has_all_projects);
}

Test(claims, a_project_is_a_text_and_nothing_else)
{
    static const char *const none[] = {"{\"exp\":1}", "{\"exp\":1,\"project_id\":7}",
        "{\"exp\":1,\"project_id\":[\"p\"]}", "{\"exp\":1,\"project_id\":null}",
        "{\"exp\":1,\"project_id\":\"\"}"};
    for (size_t i = 0; i < HL_ARRAY_LEN(none); i++) {
        cr_assert(is_outside(none[i], &defaults));
        cr_expect(claims.project.n == 0 && !claims.has_all_projects, "%s", none[i]);
    }
    struct hl_claim_rules other = defaults;
    other.project_claim = HL_STR("https://id.example/project");
    cr_assert(is_outside(
        "{\"exp\":1,\"project_id\":\"p\",\"https://id.example/project\":\"q\"}", &other));
    cr_expect(hl_str_eq(claims.project, HL_STR("q")));
    other.project_claim = HL_STR("");
    cr_assert(is_outside("{\"exp\":1,\"project_id\":\"p\"}", &other));
    cr_expect(claims.has_all_projects);
}

Test(claims, issuer_and_audience_are_held_to_the_settings)
{
    struct hl_claim_rules rules = defaults;
    rules.issuer = HL_STR("https://id.example/");
    rules.audience = HL_STR("hook");
    cr_expect(is_outside("{\"exp\":1,\"iss\":\"https://id.example/\",\"aud\":\"hook\"}", &rules));
    cr_expect(
        is_outside("{\"exp\":1,\"iss\":\"https://id.example/\",\"aud\":[\"a\",\"hook\"]}", &rules));
    static const char *const bad[] = {"{\"exp\":1}", "{\"exp\":1,\"aud\":\"hook\"}",
        "{\"exp\":1,\"iss\":\"https://id.example/\"}",
        "{\"exp\":1,\"iss\":\"https://id.example\",\"aud\":\"hook\"}",
        "{\"exp\":1,\"iss\":[\"https://id.example/\"],\"aud\":\"hook\"}",
        "{\"exp\":1,\"iss\":\"https://id.example/\",\"aud\":\"hookline\"}",
        "{\"exp\":1,\"iss\":\"https://id.example/\",\"aud\":[]}"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(is_outside(bad[i], &rules), "%s", bad[i]);
}

#define OWN                                                                                        \
    "\"iss\":\"hookline\",\"sub\":\"x\",\"project_id\":\"p\",\"role\":\"admin\",\"exp\":"          \
    "1700000000"
#define JTI "\"jti\":\"01930000-0000-7000-8000-000000000001\""

Test(claims, our_own_tokens_are_an_accounts_or_a_session_of_an_hour)
{
    cr_assert(is_own("{" OWN "," JTI "}"));
    cr_expect(!hl_id_is_nil(&claims.account) && claims.role == HL_ROLE_ADMIN);
    cr_assert(is_own("{" OWN ",\"iat\":1699996400}"));
    cr_expect(hl_id_is_nil(&claims.account));
    static const char *const bad[] = {"{" OWN "}", "{" OWN ",\"iat\":1699996399}",
        "{" OWN ",\"jti\":\"\",\"iat\":1699999999}", "{" OWN ",\"jti\":7,\"iat\":1699999999}",
        "{" OWN ",\"jti\":\"00000000-0000-0000-0000-000000000000\"}",
        "{\"iss\":\"other\",\"project_id\":\"p\",\"role\":\"admin\",\"exp\":1700000000," JTI "}",
        "{\"iss\":\"hookline\",\"role\":\"admin\",\"exp\":1700000000," JTI "}",
        "{\"iss\":\"hookline\",\"project_id\":\"p\",\"exp\":1700000000," JTI "}",
        "{\"iss\":\"hookline\",\"project_id\":\"p\",\"role\":\"root\",\"exp\":1700000000," JTI "}",
        "{\"iss\":\"hookline\",\"project_id\":\"p\",\"role\":\"admin\"," JTI "}"};
    for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++)
        cr_expect_not(is_own(bad[i]), "%s", bad[i]);
}

Test(claims, clocks_may_differ_by_a_minute)
{
    struct hl_claims c = {.expires_ms = 1000000, .not_before_ms = 500000};
    cr_expect_eq(hl_claims_judge_time(&c, 700000), HL_REFUSAL_NONE);
    cr_expect_eq(hl_claims_judge_time(&c, 1000000 + 59999), HL_REFUSAL_NONE);
    cr_expect(hl_claims_judge_time(&c, 1000000 + 60000));
    cr_expect_eq(hl_claims_judge_time(&c, 500000 - 60000), HL_REFUSAL_NONE);
    cr_expect(hl_claims_judge_time(&c, 500000 - 60001));
}

/* ---- limits ---- */

static struct hl_claim_rules limited(const char *limits, const char *names)
{
    struct hl_claim_rules rules = defaults;
    cr_assert_eq(hl_claim_rules_limit(&rules, hl_str_from(limits), hl_str_from(names)), HL_OK);
    return rules;
}

Test(claims, a_claim_says_a_limit_and_the_rules_say_the_others)
{
    struct hl_claim_rules rules =
        limited("max_running=4,rate=100/m,max_priority=low", "rate=r,max_queued=q,max_priority=p");
    cr_assert(is_outside("{\"exp\":1700000000}", &rules));
    cr_expect_eq(claims.limits.max_running, 4);
    cr_expect_eq(claims.limits.max_queued, 0);
    cr_expect_eq(claims.limits.rate.count, 100);
    cr_expect_eq(claims.limits.max_priority, HL_PRIORITY_LOW);
    cr_expect_eq(claims.limits.revision, 0);
    cr_assert(is_outside("{\"exp\":1700000000,\"iat\":1600000000,\"r\":\"7/s\",\"q\":9,"
                         "\"p\":\"high\",\"max_running\":1}",
        &rules));
    cr_expect_eq(claims.limits.max_running, 4, "nothing names that claim");
    cr_expect_eq(claims.limits.max_queued, 9);
    cr_expect(claims.limits.rate.count == 7 && claims.limits.rate.window_s == 1);
    cr_expect_eq(claims.limits.max_priority, HL_PRIORITY_HIGH);
    cr_expect_eq(claims.limits.revision, 1600000000, "the later token's hold");
    hl_claim_rules_fini(&rules);
}

Test(claims, a_claim_that_is_no_limit_is_refused_by_its_name)
{
    static const struct {
        const char *text;
        enum hl_refusal_cause cause;
    } cases[] = {{"\"n\":null", HL_REFUSAL_TOKEN_MAX_RUNNING},
        {"\"n\":\"4\"", HL_REFUSAL_TOKEN_MAX_RUNNING}, {"\"n\":0", HL_REFUSAL_TOKEN_MAX_RUNNING},
        {"\"n\":-1", HL_REFUSAL_TOKEN_MAX_RUNNING}, {"\"n\":1.5", HL_REFUSAL_TOKEN_MAX_RUNNING},
        {"\"n\":1000000001", HL_REFUSAL_TOKEN_MAX_RUNNING},
        {"\"n\":[4]", HL_REFUSAL_TOKEN_MAX_RUNNING}, {"\"q\":true", HL_REFUSAL_TOKEN_MAX_QUEUED},
        {"\"r\":100", HL_REFUSAL_TOKEN_RATE}, {"\"r\":\"100\"", HL_REFUSAL_TOKEN_RATE},
        {"\"r\":\"\"", HL_REFUSAL_TOKEN_RATE}, {"\"r\":null", HL_REFUSAL_TOKEN_RATE},
        {"\"p\":\"urgent\"", HL_REFUSAL_TOKEN_MAX_PRIORITY},
        {"\"p\":1", HL_REFUSAL_TOKEN_MAX_PRIORITY}, {"\"p\":null", HL_REFUSAL_TOKEN_MAX_PRIORITY}};
    struct hl_claim_rules rules = limited("", "max_running=n,max_queued=q,rate=r,max_priority=p");
    char text[128];
    for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
        snprintf(text, sizeof text, "{\"exp\":1700000000,%s}", cases[i].text);
        cr_expect_eq(hl_claims_read_outside(parse(text), &rules, &claims), cases[i].cause, "%s",
            cases[i].text);
    }
    hl_claim_rules_fini(&rules);
}
