/* otlp.c - spans in OTLP's JSON: ids in hex, 64-bit numbers as strings, enums as numbers.
 * Thread: any; no state. */
#include "trace/otlp.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/tag.h"
#include "base/utf8.h"
#include "trace/span.h"

static enum hl_err add_escaped(struct hl_buf *out, struct hl_str text)
{
    static const char plain[] = "\\u%04x";
    enum hl_err err = HL_OK;
    size_t kept = 0;
    for (size_t i = 0; i < text.n && !err;) {
        uint32_t code;
        size_t n = hl_utf8_decode(text.p + i, text.n - i, &code);
        if (n > 0 && code >= ' ' && code != '"' && code != '\\' && code != 0x7f) {
            i += n;
            continue;
        }
        err = hl_buf_append(out, text.p + kept, i - kept);
        if (!err)
            err = hl_buf_printf(out, plain, n > 0 ? code : 0xfffdu);
        kept = i += n > 0 ? n : 1;
    }
    return err ? err : hl_buf_append(out, text.p + kept, text.n - kept);
}

enum hl_err hl_otlp_add_string(struct hl_buf *out, struct hl_str text)
{
    enum hl_err err = hl_buf_append(out, "\"", 1);
    if (!err && text.n > 0)
        err = add_escaped(out, text);
    return err ? err : hl_buf_append(out, "\"", 1);
}

static enum hl_err add_key(struct hl_buf *out, struct hl_str name)
{
    enum hl_err err = hl_buf_append_str(out, HL_STR("{\"key\":"));
    if (!err)
        err = hl_otlp_add_string(out, name);
    return err ? err : hl_buf_append_str(out, HL_STR(",\"value\":{"));
}

enum hl_err hl_otlp_add_text(struct hl_buf *out, struct hl_str name, struct hl_str text)
{
    enum hl_err err = add_key(out, name);
    if (!err)
        err = hl_buf_append_str(out, HL_STR("\"stringValue\":"));
    if (!err)
        err = hl_otlp_add_string(out, text);
    return err ? err : hl_buf_append_str(out, HL_STR("}}"));
}

enum hl_err hl_otlp_begin(struct hl_buf *out, struct hl_str resource)
{
    return hl_buf_printf(out,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[%.*s]},\"scopeSpans\":[{\"scope\":{"
        "\"name\":\"hookline\",\"version\":\"" HL_VERSION "\"},\"spans\":[",
        HL_STR_ARG(resource));
}

static enum hl_err add_tags(struct hl_buf *out, const char *prefix, struct hl_str tags)
{
    enum hl_err err = HL_OK;
    struct hl_tag tag;
    bool is_first = true;
    for (; !err && hl_tag_next(&tags, &tag); is_first = false) {
        char name[64 + HL_TAG_MAX];
        int n = snprintf(name, sizeof(name), "%s%.*s", prefix, HL_STR_ARG(tag.name));
        if (!is_first)
            err = hl_buf_append(out, ",", 1);
        if (!err)
            err = hl_otlp_add_text(out, (struct hl_str){name, (size_t)n}, tag.value);
    }
    return err;
}

static enum hl_err add_attribute(
    struct hl_buf *out, const struct hl_span *span, const struct hl_span_attribute *attribute)
{
    struct hl_str name = hl_str_from(attribute->name);
    struct hl_str text = {span->text + attribute->at, attribute->n};
    if (attribute->is_tags)
        return add_tags(out, attribute->name, text);
    if (attribute->is_text)
        return hl_otlp_add_text(out, name, text);
    enum hl_err err = add_key(out, name);
    return err ? err : hl_buf_printf(out, "\"intValue\":\"%" PRId64 "\"}}", attribute->number);
}

enum hl_err hl_otlp_add_span(struct hl_buf *out, const struct hl_span *span, bool is_first)
{
    char trace[2 * sizeof(span->context.trace_id.b)], id[2 * HL_SPAN_ID], parent[2 * HL_SPAN_ID];
    hl_hex_write(trace, span->context.trace_id.b, sizeof(span->context.trace_id.b));
    hl_hex_write(id, span->context.span_id, HL_SPAN_ID);
    hl_hex_write(parent, span->parent, HL_SPAN_ID);
    enum hl_err err = hl_buf_printf(out,
        "%s{\"traceId\":\"%.32s\",\"spanId\":\"%.16s\",\"parentSpanId\":\"%.*s\",\"flags\":%u,"
        "\"name\":\"%.*s%s%.*s\",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64
        "000\",\"endTimeUnixNano\":\"%" PRId64 "000\",\"attributes\":[",
        is_first ? "" : ",", trace, id, span->has_parent ? 2 * HL_SPAN_ID : 0, parent,
        (unsigned)span->context.flags, HL_STR_ARG(span->name), span->more.n > 0 ? " " : "",
        HL_STR_ARG(span->more), (int)span->kind, span->started_us, span->ended_us);
    for (unsigned i = 0; i < span->attribute_count && !err; i++) {
        if (i > 0)
            err = hl_buf_append(out, ",", 1);
        if (!err)
            err = add_attribute(out, span, &span->attributes[i]);
    }
    return err ? err
               : hl_buf_printf(out, "],\"status\":{%s}}", span->is_failed ? "\"code\":2" : "");
}

enum hl_err hl_otlp_end(struct hl_buf *out)
{
    return hl_buf_append_str(out, HL_STR("]}]}]}"));
}

uint64_t hl_otlp_read_rejected(struct hl_str answer)
{
    uint64_t n = 0;
    json_t *root = answer.n > 0 ? json_loadb(answer.p, answer.n, 0, NULL) : NULL;
    json_t *part = json_object_get(root, "partialSuccess");
    json_t *said = json_object_get(part ? part : json_object_get(root, "partial_success"),
        part ? "rejectedSpans" : "rejected_spans");
    if (json_is_integer(said) && json_integer_value(said) > 0)
        n = (uint64_t)json_integer_value(said);
    else if (json_is_string(said) && !hl_str_to_u64(hl_str_from(json_string_value(said)), &n))
        n = 0;
    json_decref(root);
    return n;
}
