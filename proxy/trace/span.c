/* span.c - what is known of a span, from its beginning to its end.
 * Owns: the span until its end. Thread: whoever began it.
 * Promise: no call of it fails, waits or locks; what does not fit is cut.
 * Not here: how it is written (otlp.c), what becomes of it (tracer.c). */
#include "trace/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/head.h"
#include "trace/tracer.h"

/* The last half of an id is 62 random bits behind two that are not both 0, so it is no zero (id.h). */
static void make_id(struct hl_id_source *ids, uint8_t out[HL_SPAN_ID])
{
    struct hl_id id = hl_id_next(ids, hl_clock_wall_ms());
    memcpy(out, id.b + sizeof(id.b) - HL_SPAN_ID, HL_SPAN_ID);
}

static bool is_zero(const uint8_t id[HL_SPAN_ID])
{
    static const uint8_t zero[HL_SPAN_ID];
    return memcmp(id, zero, sizeof(zero)) == 0;
}

struct hl_span *hl_span_begin(struct hl_tracer *tracer, enum hl_span_kind kind,
    const struct hl_trace_context *parent, struct hl_id_source *ids, uint64_t began_us)
{
    struct hl_span *span = malloc(sizeof(*span));
    if (!span) {
        hl_tracer_note_dropped(tracer);
        return NULL;
    }
    memset(span, 0, offsetof(struct hl_span, attributes));
    span->text_n = 0;
    span->tracer = tracer;
    span->kind = kind;
    span->context = *parent;
    span->context.flags |= HL_TRACE_SAMPLED;
    span->has_parent = !is_zero(parent->span_id);
    memcpy(span->parent, parent->span_id, sizeof(span->parent));
    make_id(ids, span->context.span_id);
    hl_span_set_began(span, began_us);
    return span;
}

void hl_span_set_began(struct hl_span *span, uint64_t began_us)
{
    span->began_us = began_us;
    span->began_wall_us = (int64_t)began_us + hl_tracer_ahead_us(span->tracer);
    span->started_us = span->began_wall_us;
}

void hl_span_set_age(struct hl_span *span, uint64_t us)
{
    span->started_us = span->began_wall_us - (int64_t)us;
}

void hl_span_set_name(struct hl_span *span, const char *name, const char *more)
{
    span->name = hl_str_from(name);
    span->more = hl_str_from(more);
}

static struct hl_span_attribute *add(struct hl_span *span, const char *name)
{
    if (span->attribute_count == HL_SPAN_ATTRIBUTES)
        return NULL;
    struct hl_span_attribute *attribute = &span->attributes[span->attribute_count++];
    *attribute = (struct hl_span_attribute){.name = name};
    return attribute;
}

/* NULL: there is nothing to add, or no room. */
static struct hl_span_attribute *add_text(
    struct hl_span *span, const char *name, struct hl_str text)
{
    struct hl_span_attribute *attribute = text.n > 0 ? add(span, name) : NULL;
    if (!attribute)
        return NULL;
    attribute->is_text = true;
    attribute->at = (uint16_t)span->text_n;
    attribute->n = (uint16_t)text.n;
    memcpy(span->text + span->text_n, text.p, text.n);
    span->text_n += text.n;
    return attribute;
}

static size_t room_left(const struct hl_span *span)
{
    return sizeof(span->text) - span->text_n;
}

void hl_span_add_text(struct hl_span *span, const char *name, struct hl_str text)
{
    size_t n = text.n < HL_SPAN_TEXT_MAX ? text.n : HL_SPAN_TEXT_MAX;
    n = n < room_left(span) ? n : room_left(span);
    add_text(span, name, (struct hl_str){text.p, n});
}

void hl_span_add_tags(struct hl_span *span, struct hl_str tags)
{
    struct hl_span_attribute *attribute =
        tags.n <= room_left(span) ? add_text(span, "hookline.tag.", tags) : NULL;
    if (attribute)
        attribute->is_tags = true;
}

void hl_span_add_number(struct hl_span *span, const char *name, int64_t number)
{
    struct hl_span_attribute *attribute = add(span, name);
    if (attribute)
        attribute->number = number;
}

void hl_span_add_run(struct hl_span *span, const struct hl_id *run_id)
{
    char text[HL_ID_TEXT];
    hl_id_format(run_id, text);
    hl_span_add_text(span, "hookline.run_id", (struct hl_str){text, sizeof(text)});
}

void hl_span_add_method(struct hl_span *span, struct hl_str method, const char *route)
{
    static const char *const names[HL_METHOD_TRACE + 1] = {[HL_METHOD_GET] = "GET",
        [HL_METHOD_HEAD] = "HEAD",
        [HL_METHOD_POST] = "POST",
        [HL_METHOD_PUT] = "PUT",
        [HL_METHOD_PATCH] = "PATCH",
        [HL_METHOD_DELETE] = "DELETE",
        [HL_METHOD_OPTIONS] = "OPTIONS",
        [HL_METHOD_CONNECT] = "CONNECT",
        [HL_METHOD_TRACE] = "TRACE"};
    const char *known = names[hl_method_lookup(method)];
    hl_span_set_name(span, known ? known : "HTTP", route);
    hl_span_add_text(span, "http.request.method", known ? method : HL_STR("_OTHER"));
    if (!known)
        hl_span_add_text(span, "http.request.method_original", method);
}

void hl_span_fail(struct hl_span *span, struct hl_str type)
{
    if (span->is_failed)
        return;
    span->is_failed = true;
    hl_span_add_text(span, "error.type", type);
}

void hl_span_add_status(struct hl_span *span, uint16_t status, uint16_t least_bad)
{
    if (status == 0)
        return;
    char text[8];
    int n = snprintf(text, sizeof(text), "%u", (unsigned)status);
    hl_span_add_number(span, "http.response.status_code", status);
    if (status >= least_bad)
        hl_span_fail(span, (struct hl_str){text, (size_t)n});
}

void hl_span_end(struct hl_span *span, uint64_t ended_us)
{
    if (!span)
        return;
    uint64_t us = ended_us > span->began_us ? ended_us - span->began_us : 0;
    span->ended_us = span->began_wall_us + (int64_t)us;
    hl_tracer_take(span->tracer, &span->msg);
}

void hl_span_drop(struct hl_span *span)
{
    free(span);
}
