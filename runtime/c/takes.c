/* takes.c - the JSON Schema of a function's parameters. Pure.
 * Promise: what it says is what input.c holds callers to.
 * Not here: who shows it (core/directory.c). */
#include "c/takes.h"

#include "c/json_writer.h"
#include "hookline/function.h"

#include <string.h>

#define LONGEST 65536

static const char *const names[] = {
    [HL_FN_NULL] = "null",
    [HL_FN_BOOLEAN] = "boolean",
    [HL_FN_INTEGER] = "integer",
    [HL_FN_REAL] = "number",
    [HL_FN_STRING] = "string",
    [HL_FN_ARRAY] = "array",
    [HL_FN_OBJECT] = "object",
};

static void put(struct hl_json_writer *w, const char *text)
{
    hl_json_writer_put_text(w, hl_str_from(text));
}

static void key(struct hl_json_writer *w, const char *name)
{
    hl_json_writer_key(w, hl_str_from(name));
}

static void write_type(struct hl_json_writer *w, const struct hl_fn_parameter *p)
{
    key(w, "type");
    if (!p->is_optional) {
        put(w, names[p->type]);
        return;
    }
    hl_json_writer_open(w, '[');
    put(w, names[p->type]);
    put(w, names[HL_FN_NULL]);
    hl_json_writer_close(w);
}

static bool has_type(const struct hl_fn_parameter *p)
{
    return p->type > HL_FN_ABSENT && p->type < (int)HL_ARRAY_LEN(names);
}

static void write_properties(struct hl_json_writer *w, const struct hl_fn_parameter *parameters)
{
    key(w, "properties");
    hl_json_writer_open(w, '{');
    for (const struct hl_fn_parameter *p = parameters; p->name; p++) {
        key(w, p->name);
        hl_json_writer_open(w, '{');
        if (has_type(p))
            write_type(w, p);
        hl_json_writer_close(w);
    }
    hl_json_writer_close(w);
}

static void write_required(struct hl_json_writer *w, const struct hl_fn_parameter *parameters)
{
    key(w, "required");
    hl_json_writer_open(w, '[');
    for (const struct hl_fn_parameter *p = parameters; p->name; p++) {
        if (!p->is_optional)
            put(w, p->name);
    }
    hl_json_writer_close(w);
}

char *hl_takes_write(const struct hl_fn_parameter *parameters)
{
    struct hl_json_writer w;
    struct hl_str json;
    hl_json_writer_init(&w, LONGEST);
    hl_json_writer_open(&w, '{');
    key(&w, "type");
    put(&w, names[HL_FN_OBJECT]);
    write_properties(&w, parameters);
    write_required(&w, parameters);
    key(&w, "additionalProperties");
    hl_json_writer_put_boolean(&w, false);
    hl_json_writer_close(&w);
    char *text = hl_json_writer_take(&w, &json) ? NULL : strndup(json.p, json.n);
    hl_json_writer_fini(&w);
    return text;
}
