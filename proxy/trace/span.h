/* span.h - a span: something that took a time, as OpenTelemetry has it. One block of memory, made where it begins,
 * filled there, given to the tracer at its end. */
#ifndef HL_TRACE_SPAN_H
#define HL_TRACE_SPAN_H

#include "base/id.h"
#include "loop/mailbox.h"
#include "trace/context.h"

struct hl_tracer;

/* OTLP's numbers. */
enum hl_span_kind { HL_SPAN_INTERNAL = 1, HL_SPAN_SERVER = 2, HL_SPAN_CLIENT = 3 };

#define HL_SPAN_ATTRIBUTES 16
#define HL_SPAN_TEXT       3344 /* of all texts: the four that a peer can make long, the others, tags */
#define HL_SPAN_TEXT_MAX   512 /* of one of them; what is longer is cut, but for tags */

struct hl_span_attribute {
    const char *name; /* static */
    bool is_text;
    bool is_tags;   /* a text that is an attribute for each tag in it: `name` and the tag's */
    uint16_t at, n; /* in `text` */
    int64_t number;
};

struct hl_span {
    struct hl_msg msg; /* to the tracer */
    struct hl_tracer *tracer;
    struct hl_trace_context context; /* the span's own */
    uint8_t parent[HL_SPAN_ID];
    bool has_parent;
    bool is_failed;
    enum hl_span_kind kind;
    struct hl_str name,
        more; /* static: the name, and what follows it behind a blank; may be empty */
    int64_t started_us, ended_us; /* wall */
    uint64_t began_us;            /* monotonic, and what the wall clock said then */
    int64_t began_wall_us;
    unsigned attribute_count;
    struct hl_span_attribute attributes[HL_SPAN_ATTRIBUTES];
    size_t text_n;
    char text[HL_SPAN_TEXT];
};

/* A child of `parent` if it has an id, else the trace's first: its trace id and flags hold. It began at
 * `began_us`, monotonic. NULL: out of memory, which costs the span. */
struct hl_span *hl_span_begin(struct hl_tracer *tracer, enum hl_span_kind kind,
    const struct hl_trace_context *parent, struct hl_id_source *ids, uint64_t began_us);
/* It began otherwise after all. */
void hl_span_set_began(struct hl_span *span, uint64_t began_us);
/* It began so much earlier, perhaps before this process or this machine did. */
void hl_span_set_age(struct hl_span *span, uint64_t us);

/* `name` and the attributes' names are static. Texts are copied, and cut; an empty one is left out. */
void hl_span_set_name(struct hl_span *span, const char *name, const char *more);
void hl_span_add_text(struct hl_span *span, const char *name, struct hl_str text);
void hl_span_add_number(struct hl_span *span, const char *name, int64_t number);
void hl_span_add_run(struct hl_span *span, const struct hl_id *run_id);
/* "hookline.tag.NAME" for each (base/tag.h). */
void hl_span_add_tags(struct hl_span *span, struct hl_str tags);
/* The method, as the semantic conventions have it: one that is not known is _OTHER there, and HTTP in the
 * span's name. */
void hl_span_add_method(struct hl_span *span, struct hl_str method, const char *route);
/* error.type, and that it failed. */
void hl_span_fail(struct hl_span *span, struct hl_str type);
/* The response's status, and whether it is an error: from `least_bad` on. 0: none came. */
void hl_span_add_status(struct hl_span *span, uint16_t status, uint16_t least_bad);

/* Gives it to its tracer (tracer.h). `ended_us`: monotonic. NULL-safe. */
void hl_span_end(struct hl_span *span, uint64_t ended_us);
/* It did not happen. NULL-safe. */
void hl_span_drop(struct hl_span *span);

#endif
