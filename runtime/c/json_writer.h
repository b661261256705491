/* json_writer.h - JSON text, built piece by piece: commas and order are taken care of here. */
#ifndef HL_C_JSON_WRITER_H
#define HL_C_JSON_WRITER_H

#include "base/buf.h"
#include "http/json_check.h"

struct hl_str;

struct hl_json_writer {
    struct hl_buf text;
    size_t depth;
    bool is_after_key;
    const char *fault; /* what a piece was refused for: nothing more is written; else NULL */
    struct {
        bool is_object, has_items;
    } levels[HL_JSON_MAX_DEPTH + 1]; /* 0: the one value itself */
};

void hl_json_writer_init(struct hl_json_writer *w, size_t max);
void hl_json_writer_fini(struct hl_json_writer *w);

void hl_json_writer_open(struct hl_json_writer *w, char bracket); /* '{' or '[' */
void hl_json_writer_close(struct hl_json_writer *w);
void hl_json_writer_key(struct hl_json_writer *w, struct hl_str name);
void hl_json_writer_put_text(struct hl_json_writer *w, struct hl_str text);
void hl_json_writer_put_integer(struct hl_json_writer *w, int64_t number);
void hl_json_writer_put_real(struct hl_json_writer *w, double number); /* null if it is none */
/* The same, but a whole number keeps its point: 1.0 stays a real. */
void hl_json_writer_put_pointed_real(struct hl_json_writer *w, double number);
void hl_json_writer_put_boolean(struct hl_json_writer *w, bool is_true);
void hl_json_writer_put_null(struct hl_json_writer *w);
/* JSON text that is known to be good. */
void hl_json_writer_put_json(struct hl_json_writer *w, struct hl_str json);

/* One whole value was written: `*out`, valid until the next one is begun. Returns NULL, or what is
 * wrong with it ("it is ..."). The writer begins anew. */
const char *hl_json_writer_take(struct hl_json_writer *w, struct hl_str *out);

#endif
