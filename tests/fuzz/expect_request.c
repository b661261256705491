/* expect_request.c - the request's head that must come out. Not here: its target (expect_target.c). */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "expect.h"
#include "expect_field.h"
#include "strict_grammar.h"
#include "strict_http.h"

static bool is_all_zero(struct hl_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '0')
            return false;
    return true;
}

/* version "-" trace id "-" parent id "-" flags, and what later versions append. */
static bool is_traceparent(struct hl_str v)
{
    if (v.n < 55 || v.p[2] != '-' || v.p[35] != '-' || v.p[52] != '-')
        return false;
    struct hl_str version = {v.p, 2}, trace = {v.p + 3, 32}, parent = {v.p + 36, 16},
                  flags = {v.p + 53, 2};
    if (!expect_is_hex(version) || !expect_is_hex(trace) || !expect_is_hex(parent) ||
        !expect_is_hex(flags) || is_all_zero(trace) || is_all_zero(parent) ||
        strict_same(version, HL_STR("ff")))
        return false;
    return v.n == 55 || (!is_all_zero(version) && v.p[55] == '-');
}

/* Unix seconds, today and until 2286. */
static bool is_ten_digits(struct hl_str v)
{
    for (size_t i = 0; i < v.n; i++)
        if (v.p[i] < '0' || v.p[i] > '9')
            return false;
    return v.n == 10;
}

bool expect_has_trace(const struct strict_message *in)
{
    return strict_count(&in->fields, "traceparent") == 1 &&
           is_traceparent(strict_value(&in->fields, "traceparent"));
}

bool expect_is_websocket(const struct strict_message *in)
{
    return strict_same(in->method, HL_STR("GET")) && in->minor > 0 &&
           strict_lists(&in->fields, "connection", HL_STR("upgrade")) &&
           strict_lists(&in->fields, "upgrade", HL_STR("websocket"));
}

static const char *const never_to_app[] = {"host", "content-length", "x-webhook-secret",
    "x-request-id", "x-forwarded-for", "forwarded", NULL};

static bool request_field_goes_on(const struct strict_message *in, const struct strict_field *field,
    const struct expect_request *e)
{
    struct hl_str name = field->name;
    bool has_body = in->framing == STRICT_CHUNKED || in->length > 0;
    if (expect_is_of_connection(in, name) || expect_is_in(name, never_to_app) ||
        expect_is_spoof(name) || expect_begins(name, HL_STR("x-run-")))
        return false;
    bool is_of_proxy = expect_is_forwarded(name) || strict_same_nocase(name, HL_STR("x-real-ip"));
    if (!e->is_peer_trusted && is_of_proxy)
        return false;
    if (strict_same_nocase(name, HL_STR("authorization")))
        return e->keeps_authorization;
    if (strict_same_nocase(name, HL_STR("accept-encoding")))
        return !e->wants_identity;
    if (strict_same_nocase(name, HL_STR("max-forwards")))
        return !strict_same(in->method, HL_STR("OPTIONS"));
    if (strict_same_nocase(name, HL_STR("expect")))
        return !e->drops_expect && in->minor > 0 && has_body;
    if (strict_same_nocase(name, HL_STR("traceparent")) ||
        strict_same_nocase(name, HL_STR("tracestate")))
        return !e->makes_trace && expect_has_trace(in);
    return true;
}

/* The authority that the request is for (RFC 9112 3.2.2). */
static struct hl_str host_of(const struct strict_message *in)
{
    const char *p = memmem(in->target.p, in->target.n, "://", 3);
    if (in->target.p[0] == '/' || !p)
        return strict_value(&in->fields, "host");
    const char *start = p + 3, *end = in->target.p + in->target.n;
    for (p = start; p < end && *p != '/' && *p != '?'; p++)
        ;
    return (struct hl_str){start, (size_t)(p - start)};
}

/* All values of that name that came, and `last` behind them, as one list. */
static struct hl_str extended(
    const struct strict_message *in, const char *name, bool keeps, const char *last)
{
    static char list[1 << 17];
    const struct strict_field *field;
    size_t n = 0;
    for (size_t i = 0; keeps && (field = strict_next(&in->fields, name, &i));) {
        if (field->value.n == 0)
            continue;
        memcpy(list + n, field->value.p, field->value.n);
        memcpy(list + n + field->value.n, ", ", 2);
        n += field->value.n + 2;
    }
    size_t last_n = strlen(last);
    memcpy(list + n, last, last_n);
    return (struct hl_str){list, n + last_n};
}

static void take_addresses(const struct strict_message *in, const struct strict_message *out,
    const struct expect_request *e)
{
    char peer[64], forwarded[80];
    bool is_v6 = e->peer.n > 0 && memchr(e->peer.p, ':', e->peer.n);
    snprintf(peer, sizeof peer, "%.*s", HL_STR_ARG(e->peer));
    snprintf(forwarded, sizeof forwarded, is_v6 ? "for=\"[%s]\"" : "for=%s", peer);
    if (e->peer.n > 0) {
        bool trusts = e->is_peer_trusted;
        expect_take(out, "X-Forwarded-For", extended(in, "x-forwarded-for", trusts, peer));
        if (strict_count(&in->fields, "forwarded") > 0)
            expect_take(out, "Forwarded", extended(in, "forwarded", trusts, forwarded));
        if (strict_count(&in->fields, "x-real-ip") > 0 && !trusts)
            expect_take(out, "X-Real-IP", e->peer);
    }
    if (!e->is_peer_trusted || strict_count(&in->fields, "x-forwarded-proto") == 0)
        expect_take(out, "X-Forwarded-Proto", HL_STR("http"));
    if (host_of(in).n > 0 &&
        (!e->is_peer_trusted || strict_count(&in->fields, "x-forwarded-host") == 0))
        expect_take(out, "X-Forwarded-Host", host_of(in));
}

/* RFC 9110 7.6.2: of OPTIONS, one less. */
static void take_max_forwards(const struct strict_message *in, const struct strict_message *out)
{
    struct hl_str count = strict_value(&in->fields, "max-forwards");
    if (count.n == 0 || !strict_same(in->method, HL_STR("OPTIONS")))
        return;
    char digits[32], less[32];
    snprintf(digits, sizeof digits, "%.*s", HL_STR_ARG(count));
    unsigned long long n = strtoull(digits, NULL, 10);
    snprintf(less, sizeof less, "%llu", (n < UINT32_MAX ? n : UINT32_MAX) - 1);
    expect_take(out, "Max-Forwards", hl_str_from(less));
}

bool expect_is_last(const struct strict_message *in)
{
    struct hl_str count = strict_value(&in->fields, "max-forwards");
    size_t zeros = 0;
    while (zeros < count.n && count.p[zeros] == '0')
        zeros++;
    return strict_same(in->method, HL_STR("OPTIONS")) && count.n > 0 && zeros == count.n;
}

/* Connection, Upgrade, TE, the framing. */
static void take_request_hop(const struct strict_message *in, const struct strict_message *out)
{
    bool is_websocket = expect_is_websocket(in);
    if (is_websocket) {
        expect_take(out, "Connection", HL_STR("Upgrade"));
        expect_take(out, "Upgrade", HL_STR("websocket"));
    } else if (strict_lists(&in->fields, "te", HL_STR("trailers"))) {
        expect_take(out, "Connection", HL_STR("TE"));
        expect_take(out, "TE", HL_STR("trailers"));
    }
    expect_that(out->framing == (is_websocket ? STRICT_NONE : in->framing), "another framing");
    if (out->framing == STRICT_CHUNKED && strict_count(&in->fields, "trailer") > 0)
        expect_take(out, "Trailer", strict_value(&in->fields, "trailer"));
}

const char *expect_request_head(const struct strict_message *in, const struct strict_message *out,
    const struct expect_request *e)
{
    expect_begin(out);
    expect_that(strict_same(in->method, out->method), "another method");
    expect_that(strict_same(e->target, out->target), "another target");
    expect_that(out->fields.n > 0 && expect_find(out, "host") == 0, "Host is not the first field");
    expect_take(out, "Host", host_of(in));
    EXPECT_KEPT(in, out, 1, request_field_goes_on(in, field, e));

    expect_take_any(out, "X-Request-Id", expect_is_uuid);
    take_addresses(in, out, e);
    if (e->makes_trace)
        expect_take_any(out, "traceparent", is_traceparent);
    if (e->wants_identity)
        expect_take(out, "Accept-Encoding", HL_STR("identity"));
    take_max_forwards(in, out);
    expect_take(out, "Via", in->minor > 0 ? HL_STR("1.1 hookline") : HL_STR("1.0 hookline"));
    if (e->is_stored) {
        expect_take(out, "X-Run-Attempt", HL_STR("1"));
        expect_take_any(out, "X-Run-Deadline", is_ten_digits);
        expect_that(out->framing != STRICT_CHUNKED, "a stored run is sent with its length");
    } else {
        take_request_hop(in, out);
        expect_that(out->length == in->length || out->framing == STRICT_NONE, "another length");
    }
    expect_take_framing(out);
    return expect_end(out);
}
