#include <criterion/criterion.h>
#include <jansson.h>

#include "trace/otlp.h"
#include "trace/span.h"

static struct hl_span span_of(void)
{
    struct hl_span span = {.kind = HL_SPAN_SERVER,
        .started_us = 1700000000000001,
        .ended_us = 1700000000000500,
        .context = {.trace_id = {{0x0a, 1}}, .span_id = {2, 3}, .flags = 1}};
    hl_span_set_name(&span, "GET", "");
    return span;
}

static json_t *written(const struct hl_span *spans, size_t n)
{
    struct hl_buf out;
    hl_buf_init(&out, 0);
    cr_assert_eq(hl_otlp_begin(&out, HL_STR("")), HL_OK);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(hl_otlp_add_span(&out, &spans[i], i == 0), HL_OK);
    cr_assert_eq(hl_otlp_end(&out), HL_OK);
    json_t *root = json_loadb(out.p, out.n, 0, NULL);
    cr_assert(root, "%.*s", (int)out.n, out.p);
    hl_buf_fini(&out);
    json_t *resource = json_array_get(json_object_get(root, "resourceSpans"), 0);
    json_t *scope = json_array_get(json_object_get(resource, "scopeSpans"), 0);
    json_t *all = json_incref(json_object_get(scope, "spans"));
    json_decref(root);
    cr_assert_eq(json_array_size(all), n);
    return all;
}

static const char *text(json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

Test(otlp, has_ids_in_hex_and_times_in_nanoseconds_as_strings)
{
    struct hl_span spans[2] = {span_of(), span_of()};
    spans[1].has_parent = true;
    spans[1].parent[0] = 9;
    json_t *all = written(spans, 2), *first = json_array_get(all, 0);
    cr_assert_str_eq(text(first, "traceId"), "0a010000000000000000000000000000");
    cr_assert_str_eq(text(first, "spanId"), "0203000000000000");
    cr_assert_str_eq(text(first, "parentSpanId"), "");
    cr_assert_str_eq(text(first, "startTimeUnixNano"), "1700000000000001000");
    cr_assert_str_eq(text(first, "endTimeUnixNano"), "1700000000000500000");
    cr_assert_eq(json_integer_value(json_object_get(first, "kind")), 2);
    cr_assert_str_eq(text(json_array_get(all, 1), "parentSpanId"), "0900000000000000");
    json_decref(all);
}

static json_t *attribute(json_t *span, size_t i)
{
    return json_object_get(json_array_get(json_object_get(span, "attributes"), i), "value");
}

Test(otlp, takes_whatever_a_peer_has_sent)
{
    struct hl_span span = span_of();
    hl_span_add_text(&span, "a", HL_STR("\"\\\n\x7f\xff\xc3\xa4"));
    hl_span_add_number(&span, "b", -7);
    hl_span_add_text(&span, "c", HL_STR(""));
    hl_span_fail(&span, HL_STR("500"));
    hl_span_fail(&span, HL_STR("later"));
    json_t *all = written(&span, 1), *first = json_array_get(all, 0);
    cr_assert_eq(json_array_size(json_object_get(first, "attributes")), 3);
    cr_assert_str_eq(text(attribute(first, 0), "stringValue"), "\"\\\n\x7f\xef\xbf\xbd\xc3\xa4");
    cr_assert_str_eq(text(attribute(first, 1), "intValue"), "-7");
    cr_assert_str_eq(text(attribute(first, 2), "stringValue"), "500");
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(first, "status"), "code")), 2);
    json_decref(all);
}

Test(otlp, has_an_attribute_for_each_tag)
{
    struct hl_span span = span_of();
    hl_span_add_tags(&span, HL_STR(""));
    hl_span_add_tags(&span, HL_STR("tier=gold,order=17=x"));
    hl_span_add_number(&span, "b", 7);
    json_t *all = written(&span, 1), *first = json_array_get(all, 0);
    json_t *attributes = json_object_get(first, "attributes");
    cr_assert_eq(json_array_size(attributes), 3);
    cr_assert_str_eq(text(json_array_get(attributes, 0), "key"), "hookline.tag.tier");
    cr_assert_str_eq(text(attribute(first, 0), "stringValue"), "gold");
    cr_assert_str_eq(text(json_array_get(attributes, 1), "key"), "hookline.tag.order");
    cr_assert_str_eq(text(attribute(first, 1), "stringValue"), "17=x");
    json_decref(all);
}

Test(otlp, has_what_fits_of_many_and_long_texts)
{
    char x[4000];
    memset(x, 'x', sizeof(x));
    struct hl_span span = span_of();
    for (int i = 0; i < 40; i++)
        hl_span_add_text(&span, "a", (struct hl_str){x, sizeof(x)});
    for (int i = 0; i < 40; i++)
        hl_span_add_number(&span, "b", i);
    cr_assert_eq(span.attribute_count, HL_SPAN_ATTRIBUTES);
    cr_assert_eq(span.attributes[0].n, HL_SPAN_TEXT_MAX);
    cr_assert_eq(span.text_n, HL_SPAN_TEXT);
    json_decref(written(&span, 1));
}

Test(otlp, has_what_is_short_behind_all_that_a_caller_can_make_long)
{
    char x[4000];
    memset(x, 'x', sizeof(x));
    const struct hl_str text = {x, sizeof(x)};
    struct hl_span span = span_of();
    hl_span_add_method(&span, text, "/x");
    hl_span_add_text(&span, "http.route", HL_STR("/v4/{project}/{app}/{path}"));
    hl_span_add_text(&span, "url.path", text);
    hl_span_add_text(&span, "server.address", text);
    hl_span_add_text(
        &span, "client.address", HL_STR("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"));
    hl_span_add_text(&span, "user_agent.original", text);
    hl_span_add_run(&span, &span.context.trace_id);
    hl_span_add_text(&span, "hookline.mode", HL_STR("stream"));
    hl_span_fail(&span, HL_STR("cut"));
    cr_assert_eq(span.attribute_count, 10);
    cr_assert_eq(span.attributes[7].n, HL_ID_TEXT);
    cr_assert_eq(span.attributes[8].n, strlen("stream"));
    cr_assert_eq(span.attributes[9].n, strlen("cut"));
}

Test(otlp, method_that_nobody_knows_is_no_name)
{
    struct hl_span span = span_of();
    hl_span_add_method(&span, HL_STR("BREW"), "/x");
    cr_assert(hl_str_eq(span.name, HL_STR("HTTP")));
    json_t *all = written(&span, 1), *first = json_array_get(all, 0);
    cr_assert_str_eq(text(first, "name"), "HTTP /x");
    cr_assert_str_eq(text(attribute(first, 0), "stringValue"), "_OTHER");
    cr_assert_str_eq(text(attribute(first, 1), "stringValue"), "BREW");
    json_decref(all);
}

Test(otlp, answer_says_how_many_were_rejected)
{
    cr_assert_eq(
        hl_otlp_read_rejected(HL_STR("{\"partialSuccess\":{\"rejectedSpans\":\"5\"}}")), 5);
    cr_assert_eq(hl_otlp_read_rejected(HL_STR("{\"partialSuccess\":{\"rejectedSpans\":6}}")), 6);
    cr_assert_eq(hl_otlp_read_rejected(HL_STR("{\"partialSuccess\":{\"rejectedSpans\":-6}}")), 0);
    cr_assert_eq(
        hl_otlp_read_rejected(HL_STR("{\"partialSuccess\":{\"rejectedSpans\":\"x\"}}")), 0);
    cr_assert_eq(hl_otlp_read_rejected(HL_STR("{\"partialSuccess\":7}")), 0);
    cr_assert_eq(hl_otlp_read_rejected(HL_STR("{}")), 0);
    cr_assert_eq(hl_otlp_read_rejected(HL_STR("<html>")), 0);
    cr_assert_eq(hl_otlp_read_rejected(HL_STR("")), 0);
}
