/* expect_response.c - the response's head that must come out, and any message's body. */
#include <stdio.h>
#include <time.h>

#include "base/str.h"
#include "expect.h"
#include "expect_field.h"
#include "strict_grammar.h"
#include "strict_http.h"

static const char *const never_in_trailers[] = {"host", "content-length", "authorization",
    "proxy-authorization", "content-type", "content-encoding", "cache-control", "te", "trailer",
    "transfer-encoding", "connection", "upgrade", "expect", "max-forwards", "set-cookie", "cookie",
    "x-request-id", "x-webhook-secret", "forwarded", "x-real-ip", "idempotency-key", "prefer",
    "date", "location", "retry-after", "vary", "range", "age", "expires", "www-authenticate", NULL};

static struct hl_str media_type(const struct strict_message *in)
{
    struct hl_str type = strict_value(&in->fields, "content-type");
    size_t n = 0;
    while (n < type.n && type.p[n] != ';')
        n++;
    while (n > 0 && (type.p[n - 1] == ' ' || type.p[n - 1] == '\t'))
        n--;
    return (struct hl_str){type.p, n};
}

/* RFC 9110 5.6.7. */
static bool is_date(struct hl_str value)
{
    struct tm tm;
    char text[32], again[32];
    snprintf(text, sizeof text, "%.*s", HL_STR_ARG(value));
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return end && *end == '\0' &&
           strftime(again, sizeof again, "%a, %d %b %Y %H:%M:%S GMT", &tm) > 0 &&
           strcmp(text, again) == 0;
}

/* Whether a Date of the app's goes on. */
static bool has_date(const struct strict_message *in)
{
    return strict_count(&in->fields, "date") > 0 && !expect_is_of_connection(in, HL_STR("date"));
}

static bool is_connection_option(struct hl_str value)
{
    return strict_same(value, HL_STR("close")) || strict_same(value, HL_STR("keep-alive"));
}

static void take_response_hop(const struct strict_message *in, const struct strict_message *out,
    const struct expect_response *e)
{
    if (in->status == 101) {
        expect_take(out, "Connection", HL_STR("Upgrade"));
        expect_take(out, "Upgrade", HL_STR("websocket"));
        return;
    }
    if (expect_find(out, "Connection") >= 0 && in->status >= 200)
        expect_take_any(out, "Connection", is_connection_option);
    bool is_open_ended = in->framing == STRICT_CHUNKED || in->framing == STRICT_UNTIL_CLOSE;
    enum strict_framing framing = !is_open_ended         ? in->framing
                                  : e->caller_minor == 0 ? STRICT_UNTIL_CLOSE
                                                         : STRICT_CHUNKED;
    expect_that(out->framing == framing, "another framing");
    bool says_length = in->has_length && in->status >= 200 && in->status != 204;
    expect_that(out->has_length == says_length, "Content-Length came or went");
    expect_that(!says_length || out->length == in->length, "another length");
    if (framing == STRICT_CHUNKED && strict_count(&in->fields, "trailer") > 0)
        expect_take(out, "Trailer", strict_value(&in->fields, "trailer"));
}

static bool response_field_goes_on(
    const struct strict_message *in, const struct strict_field *field, bool writes_type)
{
    struct hl_str name = field->name;
    if (expect_is_of_connection(in, name) || expect_is_spoof(name))
        return false;
    if (strict_same_nocase(name, HL_STR("content-type")))
        return !writes_type;
    return !strict_same_nocase(name, HL_STR("content-length")) &&
           !strict_same_nocase(name, HL_STR("x-request-id"));
}

const char *expect_response_head(const struct strict_message *in, const struct strict_message *out,
    const struct expect_response *e)
{
    expect_begin(out);
    expect_that(in->status == out->status, "another status");
    expect_that(strict_same(in->reason, out->reason), "another reason phrase");
    bool is_stream =
        in->status >= 200 && strict_same_nocase(media_type(in), HL_STR("text/event-stream"));
    bool writes_type = is_stream && strict_same_nocase(strict_value(&in->fields, "content-type"),
                                        HL_STR("text/event-stream"));
    EXPECT_KEPT(in, out, 0, response_field_goes_on(in, field, writes_type));

    expect_take_any(out, "X-Request-Id", expect_is_uuid);
    if (in->status >= 200 && e->is_dated && !has_date(in))
        expect_take_any(out, "Date", is_date);
    if (writes_type)
        expect_take(out, "Content-Type", HL_STR("text/event-stream; charset=utf-8"));
    if (is_stream && strict_count(&in->fields, "cache-control") == 0)
        expect_take(out, "Cache-Control", HL_STR("no-cache"));
    if (is_stream && strict_count(&in->fields, "x-accel-buffering") == 0)
        expect_take(out, "X-Accel-Buffering", HL_STR("no"));
    if (e->preference_applied)
        expect_take(out, "Preference-Applied", HL_STR("respond-async"));
    take_response_hop(in, out, e);
    expect_take_framing(out);
    return expect_end(out);
}

static void expect_trailers(const struct strict_message *in, const struct strict_message *out)
{
    size_t from = 0;
    for (size_t i = 0; i < out->trailers.n; i++) {
        const struct strict_field *field = &out->trailers.items[i];
        expect_that(
            !expect_is_in(field->name, never_in_trailers) && !expect_is_spoof(field->name) &&
                !expect_begins(field->name, HL_STR("x-run-")) && !expect_is_forwarded(field->name),
            "a trailer went on that should not have");
        while (
            from < in->trailers.n && !(strict_same(in->trailers.items[from].name, field->name) &&
                                         strict_same(in->trailers.items[from].value, field->value)))
            from++;
        expect_that(from++ < in->trailers.n, "a trailer that nobody sent");
    }
}

const char *expect_same_body(
    const struct strict_message *in, const struct strict_message *out, bool is_cut)
{
    expect_begin(out);
    expect_that(out->body.n <= in->body.n, "the body became longer");
    expect_that(is_cut || out->body.n == in->body.n, "the body became shorter");
    size_t n = out->body.n < in->body.n ? out->body.n : in->body.n;
    expect_that(strict_same((struct hl_str){in->body.p, n}, (struct hl_str){out->body.p, n}),
        "another body");
    expect_trailers(in, out);
    return expect_fault();
}
