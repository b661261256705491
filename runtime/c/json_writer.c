/* json_writer.c - JSON text, built piece by piece.
 * Owns: the text. Thread: one at a time.
 * Promise: what hl_json_writer_take gives out is one JSON value, whatever was asked for before. */
#include "c/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "http/body_check.h"

#define ESCAPED_AT_ONCE 512 /* bytes of a text */
#define NUMBER_MAX      40

static const char not_in_order[] =
    "its pieces are out of order, such as a member without a key or an unmatched bracket";
static const char too_deep[] = "it is nested deeper than 512 levels";
static_assert(HL_JSON_MAX_DEPTH == 512, "what is said of it");

void hl_json_writer_init(struct hl_json_writer *w, size_t max)
{
    memset(w, 0, sizeof(*w));
    hl_buf_init(&w->text, max);
}

void hl_json_writer_fini(struct hl_json_writer *w)
{
    hl_buf_fini(&w->text);
}

static void refuse(struct hl_json_writer *w, const char *fault)
{
    if (!w->fault)
        w->fault = fault;
}

static void append(struct hl_json_writer *w, struct hl_str s)
{
    enum hl_err err = w->fault ? HL_OK : hl_buf_append_str(&w->text, s);
    if (err)
        refuse(w, err == HL_ERR_TOO_LARGE ? "it is longer than HOOKLINE_FUNCTION_MAX_BODY allows"
                                          : "there is no memory for it");
}

/* A value may stand here: as the one value, as an element, or after a key. */
static void begin_value(struct hl_json_writer *w)
{
    bool is_object = w->levels[w->depth].is_object, has_items = w->levels[w->depth].has_items;
    if (w->depth == 0 && !w->fault && !has_items)
        w->text.n = 0; /* what was taken before */
    if (is_object ? !w->is_after_key : w->depth == 0 && has_items)
        refuse(w, not_in_order);
    else if (!is_object && has_items)
        append(w, HL_STR(","));
    w->is_after_key = false;
    w->levels[w->depth].has_items = true;
}

void hl_json_writer_open(struct hl_json_writer *w, char bracket)
{
    begin_value(w);
    if (bracket != '{' && bracket != '[')
        refuse(w, not_in_order);
    if (w->depth == HL_JSON_MAX_DEPTH)
        refuse(w, too_deep);
    if (w->fault)
        return;
    append(w, (struct hl_str){&bracket, 1});
    w->depth++;
    w->levels[w->depth].is_object = bracket == '{';
    w->levels[w->depth].has_items = false;
}

void hl_json_writer_close(struct hl_json_writer *w)
{
    if (w->depth == 0 || w->is_after_key)
        refuse(w, not_in_order);
    if (w->fault)
        return;
    append(w, w->levels[w->depth].is_object ? HL_STR("}") : HL_STR("]"));
    w->depth--;
}

static void append_string(struct hl_json_writer *w, struct hl_str text)
{
    char escaped[6 * ESCAPED_AT_ONCE];
    if (!hl_utf8_is_valid(text))
        refuse(w, "a string in it is not UTF-8");
    append(w, HL_STR("\""));
    while (text.n > 0 && !w->fault) {
        size_t n = text.n < ESCAPED_AT_ONCE ? text.n : ESCAPED_AT_ONCE;
        append(w, (struct hl_str){escaped, hl_json_escape(escaped, text.p, n)});
        text.p += n;
        text.n -= n;
    }
    append(w, HL_STR("\""));
}

void hl_json_writer_key(struct hl_json_writer *w, struct hl_str name)
{
    if (!w->levels[w->depth].is_object || w->is_after_key)
        refuse(w, not_in_order);
    if (w->levels[w->depth].has_items)
        append(w, HL_STR(","));
    append_string(w, name);
    append(w, HL_STR(":"));
    w->is_after_key = true;
}

void hl_json_writer_put_json(struct hl_json_writer *w, struct hl_str json)
{
    begin_value(w);
    append(w, json);
}

void hl_json_writer_put_text(struct hl_json_writer *w, struct hl_str text)
{
    begin_value(w);
    append_string(w, text);
}

void hl_json_writer_put_integer(struct hl_json_writer *w, int64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, number);
    hl_json_writer_put_json(w, hl_str_from(text));
}

/* The fewest digits that read back as the same number; a point, whatever the locale has. True: there is
 * no point and no exponent. */
static bool format_real(char text[NUMBER_MAX], double number)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, NUMBER_MAX, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    char *at = text + (text[0] == '-') + strspn(text + (text[0] == '-'), "0123456789");
    if (*at && *at != 'e')
        *at = '.';
    return *at == '\0';
}

static void put_real(struct hl_json_writer *w, double number, bool is_pointed)
{
    char text[NUMBER_MAX + 2];
    if (!isfinite(number)) {
        hl_json_writer_put_null(w);
        return;
    }
    if (format_real(text, number) && is_pointed)
        hl_str_put(text + strlen(text), sizeof(text) - strlen(text), ".0");
    hl_json_writer_put_json(w, hl_str_from(text));
}

void hl_json_writer_put_real(struct hl_json_writer *w, double number)
{
    put_real(w, number, false);
}

void hl_json_writer_put_pointed_real(struct hl_json_writer *w, double number)
{
    put_real(w, number, true);
}

void hl_json_writer_put_boolean(struct hl_json_writer *w, bool is_true)
{
    hl_json_writer_put_json(w, is_true ? HL_STR("true") : HL_STR("false"));
}

void hl_json_writer_put_null(struct hl_json_writer *w)
{
    hl_json_writer_put_json(w, HL_STR("null"));
}

static const char *find_fault(const struct hl_json_writer *w)
{
    if (w->fault)
        return w->fault;
    if (w->depth > 0)
        return "a bracket in it is still open";
    return w->levels[0].has_items ? NULL : "it was not written";
}

const char *hl_json_writer_take(struct hl_json_writer *w, struct hl_str *out)
{
    const char *fault = find_fault(w);
    w->depth = 0;
    w->levels[0].has_items = w->is_after_key = false;
    w->fault = NULL;
    *out = fault ? HL_STR("") : hl_buf_str(&w->text);
    return fault;
}
