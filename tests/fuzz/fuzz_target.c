/* fuzz_target.c - targets, queries and webhook URLs.
 * Input: a byte for the configuration, a byte for the method, then the target's bytes.
 * Claims: the app sees the target that contract 2 says; parameters that are hookline's are read as
 * a naive decoder reads them; a webhook URL that is accepted is to curl, which connects to it, the
 * same URL, and its host no blocked address. The bytes are read as a webhook URL, too. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "expect.h"
#include "expect_address.h"
#include "fuzz.h"
#include "http/head.h"
#include "http/url.h"
#include "net/guard.h"
#include "preset.h"
#include "route/plan.h"
#include "strict_grammar.h"

#define MAX_TARGET 8192

static struct hl_head head;
static struct hl_plan_scratch scratch;
static char target_space[2 * MAX_TARGET], expected_space[2 * MAX_TARGET];

/* ---- URLs ---- */

/* A part of the URL as curl sees it; "" when there is none. Owned. */
static char *part_of(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL, *copy;
    bool is_there = curl_url_get(url, part, &text, flags) == CURLUE_OK;
    copy = strdup(is_there ? text : "");
    curl_free(text);
    if (!copy)
        abort();
    return copy;
}

static void check_part(CURLU *url, CURLUPart part, unsigned flags, struct hl_str expected)
{
    char *text = part_of(url, part, flags);
    fuzz_note("curl", hl_str_from(text));
    fuzz_note("ours", expected);
    FUZZ_CHECK(strict_same_nocase(hl_str_from(text), expected), "curl sees another part");
    fuzz_note("curl", HL_STR(""));
    free(text);
}

/* Curl's host, if it is a literal address, is the address that the guard has judged. */
static void check_literal(CURLU *curl, const struct hl_url *url, bool is_allowed)
{
    char *text = part_of(curl, CURLUPART_HOST, 0);
    struct hl_str host = hl_str_from(text);
    struct hl_ip ip;
    uint8_t seen[16];
    bool is_read = hl_guard_parse_host(url->host, url->is_bracketed, &ip);
    if (host.n > 1 && host.p[0] == '[')
        host = (struct hl_str){host.p + 1, host.n - 2};
    fuzz_note("curl's host", host);
    if (expect_v4(host, seen) || expect_v6(host, seen)) {
        FUZZ_CHECK(is_read && memcmp(ip.b, seen, 16) == 0, "to curl it is an address");
        FUZZ_CHECK(is_allowed || !expect_is_blocked(seen), "a blocked address is accepted");
    } else {
        FUZZ_CHECK(strict_same_nocase(host, url->host), "curl connects to another host");
    }
    fuzz_note("curl's host", HL_STR(""));
    free(text);
}

/* `is_allowed`: blocked addresses are not refused where it came from. */
static void check_url(struct hl_str text, bool is_allowed)
{
    struct hl_url url;
    if (text.n >= MAX_TARGET || !hl_url_parse(text, &url) || url.port == 0)
        return;
    char z[MAX_TARGET], port[8];
    CURLU *curl = curl_url();
    if (!curl)
        abort();
    memcpy(z, text.p, text.n);
    z[text.n] = '\0';
    if (curl_url_set(curl, CURLUPART_URL, z, CURLU_PATH_AS_IS) == CURLUE_OK) {
        snprintf(port, sizeof port, "%u", url.port);
        check_part(curl, CURLUPART_SCHEME, 0, url.is_https ? HL_STR("https") : HL_STR("http"));
        check_part(curl, CURLUPART_PORT, CURLU_DEFAULT_PORT, hl_str_from(port));
        if (!url.has_userinfo) {
            check_part(curl, CURLUPART_USER, 0, HL_STR(""));
            check_part(curl, CURLUPART_PASSWORD, 0, HL_STR(""));
        }
        check_literal(curl, &url, is_allowed);
    }
    curl_url_cleanup(curl);
}

/* ---- parameters ---- */

/* '+' is a space, %XX a byte. False: a bad escape, or NUL. `out` has room for raw.n and NUL. */
static bool decode(struct hl_str raw, char *out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        unsigned c = (unsigned char)raw.p[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            char digits[3] = {0};
            if (raw.n - i < 3)
                return false;
            memcpy(digits, raw.p + i + 1, 2);
            if (strspn(digits, "0123456789abcdefABCDEF") != 2)
                return false;
            c = (unsigned)strtoul(digits, NULL, 16);
            i += 2;
        }
        if (c == 0)
            return false;
        out[(*n)++] = (char)c;
    }
    out[*n] = '\0';
    return true;
}

enum truth { FALSE, TRUE, NEITHER };

static enum truth truth_of(struct hl_str raw)
{
    char text[MAX_TARGET];
    size_t n;
    if (!decode(raw, text, &n))
        return NEITHER;
    struct hl_str value = {text, n};
    if (strict_same(value, HL_STR("1")) || strict_same_nocase(value, HL_STR("true")))
        return TRUE;
    if (strict_same(value, HL_STR("0")) || strict_same_nocase(value, HL_STR("false")))
        return FALSE;
    return NEITHER;
}

/* Equal, or a letter is missing, too many, another one, or behind its neighbour. */
static bool is_one_slip_from(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    if (!*a && !*b)
        return true;
    bool is_swapped = a[0] && a[1] && b[0] && a[0] == b[1] && a[1] == b[0];
    return (*a && strcmp(a + 1, b) == 0) || (*b && strcmp(a, b + 1) == 0) ||
           (*a && *b && strcmp(a + 1, b + 1) == 0) || (is_swapped && strcmp(a + 2, b + 2) == 0);
}

/* Without regard to case, `_` and `-`. */
static bool has_near_name(struct hl_str query)
{
    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n);
        struct hl_str name = {query.p, end ? (size_t)(end - query.p) : query.n};
        query = (struct hl_str){name.p + name.n, query.n - name.n};
        if (query.n > 0)
            query = (struct hl_str){query.p + 1, query.n - 1};
        const char *equals = memchr(name.p, '=', name.n);
        char text[MAX_TARGET], folded[MAX_TARGET];
        size_t n, m = 0;
        if (equals)
            name.n = (size_t)(equals - name.p);
        if (!decode(name, text, &n))
            continue;
        for (size_t i = 0; i < n; i++)
            if (text[i] != '_' && text[i] != '-')
                folded[m++] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
        folded[m] = '\0';
        if (is_one_slip_from(folded, "async") || is_one_slip_from(folded, "webhookendpoint"))
            return true;
    }
    return false;
}

static void check_parameters(
    const struct hl_plan *plan, struct hl_str query, const struct hl_config *config)
{
    struct hl_str raw_async, raw_hook;
    bool has_async = expect_parameter(query, "async", &raw_async);
    bool has_hook = expect_parameter(query, "webhookEndpoint", &raw_hook);
    enum truth async = has_async ? truth_of(raw_async) : FALSE;
    bool is_near = config->own_parameters && has_near_name(query);
    FUZZ_CHECK(plan->kind == HL_PLAN_RUN || async == NEITHER || has_hook || is_near,
        "refused for nothing");
    if (plan->kind != HL_PLAN_RUN)
        return;
    char url[MAX_TARGET];
    size_t n;
    FUZZ_CHECK(async != NEITHER && plan->is_async == (async == TRUE), "another mode");
    FUZZ_CHECK(has_hook == (plan->webhook_url.n > 0), "a webhook came or went");
    if (!has_hook)
        return;
    FUZZ_CHECK(decode(raw_hook, url, &n) && n <= HL_WEBHOOK_URL_MAX, "a URL that is none");
    FUZZ_CHECK(strict_same((struct hl_str){url, n}, plan->webhook_url), "another webhook URL");
    FUZZ_CHECK(!memchr(url, '@', strcspn(url + 8, "/?#") + 8), "credentials in a webhook URL");
    check_url(plan->webhook_url, config->webhook_allow.n > 0);
}

static void check_plan(struct hl_str method, struct hl_str target, const struct hl_config *config)
{
    struct hl_plan plan;
    struct hl_str mapped = {"", 0};
    scratch.target = target_space;
    scratch.target_cap = sizeof target_space;
    hl_plan_make(&plan, &head, config, &scratch);
    enum expect_route route = expect_target(method, target, config, expected_space, &mapped);
    bool is_forwarded = plan.kind == HL_PLAN_RUN || plan.kind == HL_PLAN_PASS;
    FUZZ_CHECK(plan.kind != HL_PLAN_RUN || route == EXPECT_RUN, "a run that should be none");
    FUZZ_CHECK((plan.kind == HL_PLAN_PASS) == (route == EXPECT_PASS), "passed through by one only");
    FUZZ_CHECK(!is_forwarded || strict_same(plan.target, mapped), "another target");
    const char *mark = memchr(target.p, '?', target.n);
    struct hl_str query = {"", 0};
    if (mark)
        query = (struct hl_str){mark + 1, (size_t)(target.p + target.n - mark - 1)};
    if (route == EXPECT_RUN)
        check_parameters(&plan, query, config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"POST", "GET", "OPTIONS", "HEAD", "TRACE", "M-X"};
    struct fuzz_input input = fuzz_input(data, size);
    const struct hl_config *config = preset(fuzz_take_byte(&input));
    const char *method = methods[fuzz_take_byte(&input) % HL_ARRAY_LEN(methods)];
    struct hl_str target = {input.p, input.n};
    struct hl_refusal fault;
    fuzz_forget();
    fuzz_note("target", target);
    if (target.n >= MAX_TARGET)
        return 0;
    check_url(target, true);

    char *text;
    int n = asprintf(&text, "%s %.*s HTTP/1.1\r\nHost: h\r\n\r\n", method, HL_STR_ARG(target));
    if (n < 0)
        abort();
    size_t target_at = strlen(method) + 1;
    /* a target that ends its line early is another head: fuzz_request.c has those */
    if (hl_head_parse_request(&head, text, (size_t)n, &fault) && head.target.n == target.n)
        check_plan(hl_str_from(method), (struct hl_str){text + target_at, target.n}, config);
    free(text);
    return 0;
}
