/* input.c - a call's JSON as values.
 * Owns: the values (jansson's). Thread: the one that runs the call. The only user of jansson here.
 * Not here: whether a body is JSON at all (core/call.c has looked). */
#include "c/input.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "c/json_writer.h"

#define FAULT_MAX 200 /* of one wrong parameter */

static const json_t *json_of(const struct hl_fn_value *value)
{
    return (const json_t *)value;
}

static const struct hl_fn_value *value_of(const json_t *json)
{
    return (const struct hl_fn_value *)json;
}

static void set_memory(void)
{
    json_malloc_t present;
    json_free_t release;
    json_get_alloc_funcs(&present, &release);
    if (present == malloc) /* else a function has chosen its own */
        json_set_alloc_funcs(hl_noted_malloc, free);
}

/* Of what there was no memory for, jansson reads the rest. */
struct hl_fn_value *hl_input_read(struct hl_str body, char *detail, size_t detail_len)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_error_t error;
    pthread_once(&once, set_memory);
    (void)hl_noted_failure();
    json_t *json = body.n
                       ? json_loadb(body.p, body.n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error)
                       : json_object();
    *detail = '\0';
    if (hl_noted_failure()) {
        json_decref(json);
        json = NULL;
    } else if (!json && json_error_code(&error) == json_error_duplicate_key) {
        snprintf(detail, detail_len,
            "The body has two members of one name (the second before byte %d).", error.position);
    } else if (!json) {
        snprintf(detail, detail_len, "The body's values cannot be read: %s (byte %d).", error.text,
            error.position);
    }
    return (struct hl_fn_value *)json;
}

void hl_input_free(struct hl_fn_value *input)
{
    json_decref((json_t *)input);
}

/* ---- reading ---- */

enum hl_fn_type hl_input_type(const struct hl_fn_value *value)
{
    if (!value)
        return HL_FN_ABSENT;
    switch (json_typeof(json_of(value))) {
    case JSON_NULL:
        return HL_FN_NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return HL_FN_BOOLEAN;
    case JSON_INTEGER:
        return HL_FN_INTEGER;
    case JSON_REAL:
        return HL_FN_REAL;
    case JSON_STRING:
        return HL_FN_STRING;
    case JSON_ARRAY:
        return HL_FN_ARRAY;
    case JSON_OBJECT:
        return HL_FN_OBJECT;
    }
    return HL_FN_ABSENT;
}

size_t hl_input_count(const struct hl_fn_value *value)
{
    const json_t *json = json_of(value);
    return json_is_array(json) ? json_array_size(json) : json_object_size(json);
}

const struct hl_fn_value *hl_input_member(const struct hl_fn_value *object, const char *name)
{
    return value_of(json_object_get(json_of(object), name));
}

const struct hl_fn_value *hl_input_next(const struct hl_fn_value *object, const char **name)
{
    json_t *json =
        (json_t *)(uintptr_t)json_of(object); /* an iterator wants it so; none is changed */
    void *at = *name ? json_object_iter_next(json, json_object_iter_at(json, *name))
                     : json_object_iter(json);
    *name = at ? json_object_iter_key(at) : NULL;
    return at ? value_of(json_object_iter_value(at)) : NULL;
}

const struct hl_fn_value *hl_input_element(const struct hl_fn_value *array, size_t i)
{
    return value_of(json_array_get(json_of(array), i));
}

const char *hl_input_text(const struct hl_fn_value *string, size_t *length)
{
    if (length)
        *length = json_string_length(json_of(string));
    return json_string_value(json_of(string));
}

int64_t hl_input_integer(const struct hl_fn_value *value)
{
    return json_integer_value(json_of(value));
}

double hl_input_real(const struct hl_fn_value *value)
{
    return json_number_value(json_of(value));
}

bool hl_input_boolean(const struct hl_fn_value *value)
{
    return json_is_true(json_of(value));
}

static void write_object(const struct hl_fn_value *object, struct hl_json_writer *w)
{
    hl_json_writer_open(w, '{');
    for (const char *name = NULL; hl_input_next(object, &name);) {
        hl_json_writer_key(w, hl_str_from(name));
        hl_input_write(hl_input_member(object, name), w);
    }
    hl_json_writer_close(w);
}

static void write_array(const struct hl_fn_value *array, struct hl_json_writer *w)
{
    hl_json_writer_open(w, '[');
    for (size_t i = 0; i < hl_input_count(array); i++)
        hl_input_write(hl_input_element(array, i), w);
    hl_json_writer_close(w);
}

/* Calls itself HL_JSON_MAX_DEPTH times at the most: the body was checked. */
void hl_input_write(const struct hl_fn_value *value, struct hl_json_writer *w)
{
    struct hl_str text;
    switch (hl_input_type(value)) {
    case HL_FN_ABSENT:
    case HL_FN_NULL:
        hl_json_writer_put_null(w);
        break;
    case HL_FN_BOOLEAN:
        hl_json_writer_put_boolean(w, hl_input_boolean(value));
        break;
    case HL_FN_INTEGER:
        hl_json_writer_put_integer(w, hl_input_integer(value));
        break;
    case HL_FN_REAL:
        hl_json_writer_put_pointed_real(w, hl_input_real(value));
        break;
    case HL_FN_STRING:
        text.p = hl_input_text(value, &text.n);
        hl_json_writer_put_text(w, text);
        break;
    case HL_FN_ARRAY:
        write_array(value, w);
        break;
    case HL_FN_OBJECT:
        write_object(value, w);
        break;
    }
}

/* ---- checking ---- */

static const char *const type_texts[] = {
    [HL_FN_ABSENT] = "missing",
    [HL_FN_NULL] = "null",
    [HL_FN_BOOLEAN] = "a boolean",
    [HL_FN_INTEGER] = "an integer",
    [HL_FN_REAL] = "a number",
    [HL_FN_STRING] = "a string",
    [HL_FN_ARRAY] = "an array",
    [HL_FN_OBJECT] = "an object",
};

static bool is_type_good(const struct hl_fn_parameter *parameter, enum hl_fn_type type)
{
    return parameter->type == HL_FN_ABSENT || parameter->type == type ||
           (parameter->type == HL_FN_REAL && type == HL_FN_INTEGER) ||
           (parameter->is_optional && type == HL_FN_NULL);
}

static const struct hl_fn_parameter *find(
    const struct hl_fn_parameter *parameters, const char *name)
{
    for (; parameters->name; parameters++)
        if (strcmp(parameters->name, name) == 0)
            return parameters;
    return NULL;
}

/* One more fault behind those that are said already, if there is room for it. */
static void add_fault(char *detail, size_t detail_len, const char *format, ...) HL_PRINTF(3, 4);

static void add_fault(char *detail, size_t detail_len, const char *format, ...)
{
    char fault[FAULT_MAX];
    size_t n = strlen(detail);
    va_list args;
    va_start(args, format);
    vsnprintf(fault, sizeof(fault), format, args);
    va_end(args);
    const char *between = detail[n - 1] == ' ' ? "" : "; ";
    if (n + strlen(between) + strlen(fault) < detail_len)
        snprintf(detail + n, detail_len - n, "%s%s", between, fault);
}

bool hl_input_check(const struct hl_fn_value *input, const struct hl_fn_function *function,
    char *detail, size_t detail_len)
{
    if (!function->parameters)
        return true;
    int begin = snprintf(detail, detail_len, "%s(): ", function->name);
    for (const struct hl_fn_parameter *p = function->parameters; p->name; p++) {
        enum hl_fn_type type = hl_input_type(hl_input_member(input, p->name));
        if (type == HL_FN_ABSENT && !p->is_optional)
            add_fault(detail, detail_len, "'%s' is missing", p->name);
        else if (type != HL_FN_ABSENT && !is_type_good(p, type))
            add_fault(detail, detail_len, "'%s' must be %s, not %s", p->name, type_texts[p->type],
                type_texts[type]);
    }
    const char *name = NULL;
    while (hl_input_next(input, &name))
        if (!find(function->parameters, name))
            add_fault(detail, detail_len, "'%s' is not a parameter", name);
    return detail[begin] == '\0';
}
