/* stored_head.c - see stored_head.h. */
#include "http/stored_head.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/id.h"

#define TRACE_ID_AT 3 /* of a traceparent: behind "00-" */

static bool take_line(struct hl_str *rest, struct hl_str *line)
{
    const char *end = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!end)
        return false;
    *line = (struct hl_str){rest->p, (size_t)(end - rest->p) + 1};
    *rest = (struct hl_str){end + 1, rest->n - line->n};
    return true;
}

static struct hl_str take_word(struct hl_str *line)
{
    const char *end = line->n > 0 ? memchr(line->p, ' ', line->n) : NULL;
    if (!end)
        return (struct hl_str){NULL, 0};
    struct hl_str word = {line->p, (size_t)(end - line->p)};
    *line = (struct hl_str){end + 1, line->n - word.n - 1};
    return word;
}

bool hl_stored_head_start(struct hl_str *rest, struct hl_stored_start *start)
{
    struct hl_str line;
    if (!take_line(rest, &line))
        return false;
    start->method = take_word(&line);
    start->target = take_word(&line);
    return start->method.n > 0 && start->target.n > 0;
}

bool hl_stored_head_next(struct hl_str *rest, struct hl_stored_field *field)
{
    struct hl_str line, next = *rest;
    if (!take_line(&next, &line))
        return false;
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon)
        return false;
    *rest = next;
    size_t n = (size_t)(colon - line.p), end = line.n - 1;
    if (line.p[end - 1] == '\r')
        end--;
    field->line = line;
    field->name = (struct hl_str){line.p, n};
    field->value = hl_str_trim((struct hl_str){colon + 1, end - n - 1});
    return true;
}

bool hl_stored_head_find(struct hl_str head, struct hl_str name, struct hl_stored_field *field)
{
    struct hl_stored_start start;
    if (!hl_stored_head_start(&head, &start))
        return false;
    while (hl_stored_head_next(&head, field))
        if (hl_str_eq_nocase(field->name, name))
            return true;
    return false;
}

struct hl_str hl_stored_head_traceparent(struct hl_str head)
{
    static const char name[] = "traceparent:";
    const size_t n = sizeof(name) - 1;
    while (head.n > 1) {
        const char *before = memrchr(head.p, '\n', head.n - 1);
        size_t at = before ? (size_t)(before - head.p) + 1 : 0;
        struct hl_str line = {head.p + at, head.n - at};
        if (at > 0 && line.n > n && hl_str_eq_nocase((struct hl_str){line.p, n}, HL_STR(name)))
            return hl_str_trim((struct hl_str){line.p + n, line.n - n - 2});
        head.n = at;
    }
    return (struct hl_str){NULL, 0};
}

static bool begins_with(struct hl_str name, struct hl_str prefix)
{
    return name.n >= prefix.n && hl_str_eq_nocase((struct hl_str){name.p, prefix.n}, prefix);
}

bool hl_stored_field_is_harmless(const struct hl_stored_field *field)
{
    struct hl_str name = field->name;
    return begins_with(name, HL_STR("Accept")) || begins_with(name, HL_STR("Content-")) ||
           hl_str_eq_nocase(name, HL_STR("User-Agent")) ||
           hl_str_eq_nocase(name, HL_STR("traceparent")) ||
           hl_str_eq_nocase(name, HL_STR("X-Request-Id"));
}

static bool is_credential(struct hl_str name)
{
    return hl_str_eq_nocase(name, HL_STR("Authorization")) ||
           hl_str_eq_nocase(name, HL_STR("Proxy-Authorization")) ||
           hl_str_eq_nocase(name, HL_STR("Cookie"));
}

static enum hl_err add_id(struct hl_buf *out, const struct hl_id *id)
{
    char text[HL_ID_TEXT];
    hl_id_format(id, text);
    return hl_buf_printf(out, "X-Request-Id: %.*s\r\n", HL_ID_TEXT, text);
}

/* A trace whose id is the run's was begun here: the other run has one of its own. */
static enum hl_err add_trace(
    struct hl_buf *out, const struct hl_stored_field *field, const struct hl_stored_edit *edit)
{
    char own[32], other[32];
    hl_hex_write(own, edit->from->b, sizeof(edit->from->b));
    hl_hex_write(other, edit->to->b, sizeof(edit->to->b));
    struct hl_str value = field->value;
    size_t end = TRACE_ID_AT + sizeof(own);
    if (value.n < end || memcmp(value.p + TRACE_ID_AT, own, sizeof(own)) != 0)
        return hl_buf_append_str(out, field->line);
    return hl_buf_printf(out, "traceparent: %.*s%.*s%.*s\r\n", TRACE_ID_AT, value.p,
        (int)sizeof(other), other, (int)(value.n - end), value.p + end);
}

static enum hl_err add_field(
    struct hl_buf *out, const struct hl_stored_field *field, const struct hl_stored_edit *edit)
{
    if (hl_str_eq_nocase(field->name, HL_STR("X-Request-Id")))
        return add_id(out, edit->to);
    if (!edit->keeps_trace && hl_str_eq_nocase(field->name, HL_STR("traceparent")))
        return add_trace(out, field, edit);
    if (edit->drops_credentials && is_credential(field->name))
        return HL_OK;
    return hl_buf_append_str(out, field->line);
}

enum hl_err hl_stored_head_edit(
    struct hl_buf *out, struct hl_str head, const struct hl_stored_edit *edit)
{
    struct hl_str rest = head;
    struct hl_stored_start start;
    struct hl_stored_field field;
    if (!hl_stored_head_start(&rest, &start))
        return HL_ERR_CORRUPT;
    enum hl_err err = hl_buf_append(out, head.p, head.n - rest.n);
    while (!err && hl_stored_head_next(&rest, &field))
        err = add_field(out, &field, edit);
    return err || rest.n == 0 ? err : HL_ERR_CORRUPT;
}
