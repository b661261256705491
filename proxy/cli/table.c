/* table.c - rows for people. */
#include "cli/table.h"

#include <string.h>

#include "base/utf8.h"

void hl_cli_table_init(struct hl_cli_table *t, const char *const *titles, size_t columns)
{
    *t = (struct hl_cli_table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        hl_cli_table_add(t, titles[i]);
}

void hl_cli_table_fini(struct hl_cli_table *t)
{
    hl_buf_fini(&t->text);
}

/* Letters of any script stay; controls, C1 controls and what is not UTF-8 do not. */
static enum hl_err append_readable(struct hl_buf *out, const char *text)
{
    struct hl_str s = hl_str_from(text);
    enum hl_err err = HL_OK;
    for (size_t n; s.n > 0 && err == HL_OK; s.p += n, s.n -= n) {
        uint32_t code;
        n = hl_utf8_decode(s.p, s.n, &code);
        bool is_shown = n > 0 && code >= ' ' && !(code >= 0x7f && code < 0xa0) &&
                        !(code >= 0x200e && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
        if (is_shown) {
            err = hl_buf_append(out, s.p, n);
            continue;
        }
        n = n > 0 ? n : 1;
        for (size_t i = 0; i < n && err == HL_OK; i++)
            err = hl_buf_printf(out, "\\x%02x", (unsigned char)s.p[i]);
    }
    return err;
}

/* In characters. */
static size_t count_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void hl_cli_table_add(struct hl_cli_table *t, const char *text)
{
    size_t at = t->text.n, column = t->cells % t->columns;
    enum hl_err err = append_readable(&t->text, text && *text ? text : "-");
    if (err == HL_OK)
        err = hl_buf_append(&t->text, "", 1);
    if (err != HL_OK || t->has_failed) {
        t->has_failed = true;
        return;
    }
    size_t width = count_characters(t->text.p + at);
    if (width > t->width[column])
        t->width[column] = width;
    t->cells++;
}

void hl_cli_table_print(struct hl_cli_table *t, FILE *out)
{
    const char *cell = t->text.p;
    for (size_t i = 0; i < t->cells - t->cells % t->columns; i++) {
        size_t column = i % t->columns, width = count_characters(cell);
        bool is_last = column == t->columns - 1;
        fputs(cell, out);
        if (is_last)
            fputc('\n', out);
        else
            fprintf(out, "%*s", (int)(t->width[column] - width + 2), "");
        cell += strlen(cell) + 1;
    }
    if (t->has_failed)
        fputs("… out of memory: more rows are not shown\n", out);
}

const char *hl_cli_member(const json_t *object, const char *name, char *into, size_t cap)
{
    const json_t *value = json_object_get(object, name);
    snprintf(into, cap, "-");
    if (json_is_string(value))
        snprintf(into, cap, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(into, cap, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        snprintf(into, cap, "%s", json_is_true(value) ? "yes" : "no");
    return into;
}

void hl_cli_print(FILE *out, const char *text)
{
    struct hl_buf readable;
    hl_buf_init(&readable, 0);
    if (append_readable(&readable, text) == HL_OK)
        fwrite(readable.p, 1, readable.n, out);
    hl_buf_fini(&readable);
}
