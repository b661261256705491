/* error_line.c - what lists and figures show of an answer that says no.
 * Owns: nothing. Thread: any; no allocation.
 * Promise: a bounded part of the body is read, once; what comes out is one harmless line.
 * Not here: which answers are asked (run/tee.c). */
#include "http/error_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/utf8.h"
#include "http/json_text.h"

#define REPLACEMENT 0xfffd

/* ---- the line, a character at a time ---- */

struct line {
    char *out;
    size_t n, characters;
    size_t read_n; /* up to behind its last character that is no blank */
};

static bool ends_line(uint32_t code)
{
    return (code >= 0x0a && code <= 0x0d) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

/* A mark that shows as nothing: byte order, and the three that hint at a direction. */
static bool is_mark(uint32_t code)
{
    return code == 0xfeff || code == 0x200e || code == 0x200f || code == 0x061c;
}

static void append(struct line *line, uint32_t code)
{
    char *to = line->out + line->n;
    if (code < 0x80) {
        to[0] = (char)code;
        line->n += 1;
    } else if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        line->n += 2;
    } else if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        line->n += 3;
    } else {
        to[0] = (char)(0xf0 | code >> 18);
        to[1] = (char)(0x80 | (code >> 12 & 0x3f));
        to[2] = (char)(0x80 | (code >> 6 & 0x3f));
        to[3] = (char)(0x80 | (code & 0x3f));
        line->n += 4;
    }
    line->characters++;
}

/* False: the line is whole. */
static bool add(struct line *line, uint32_t code)
{
    bool is_blank = code == ' ' || code == '\t';
    if (ends_line(code))
        return line->read_n == 0;
    if (is_mark(code) || (is_blank && line->n == 0))
        return true;
    if (is_blank)
        code = ' ';
    append(line, hl_utf8_is_unsafe(code) ? REPLACEMENT : code);
    if (!is_blank)
        line->read_n = line->n;
    return line->characters < HL_ERROR_LINE_CHARACTERS;
}

static void end(struct line *line)
{
    line->out[line->read_n] = '\0';
}

static struct hl_str looked_at(struct hl_str body)
{
    return (struct hl_str){body.p, body.n < HL_ERROR_LINE_LOOKS ? body.n : HL_ERROR_LINE_LOOKS};
}

/* The character at `p`, and what follows it. */
static const char *next_character(const char *p, const char *end, uint32_t *code)
{
    size_t n = hl_utf8_decode(p, (size_t)(end - p), code);
    if (n == 0)
        *code = REPLACEMENT;
    return p + (n ? n : 1);
}

/* Of what Python prints, what was raised: from the last line on that is not indented. */
static struct hl_str behind_traceback(struct hl_str text)
{
    static const char begin[] = "Traceback (most recent call last):";
    const char *end = text.p + text.n, *raised = text.p, *p = text.p;
    if (text.n < sizeof(begin) || memcmp(text.p, begin, sizeof(begin) - 1) != 0)
        return text;
    while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL && ++p < end)
        if (!strchr(" \t\r\n", *p))
            raised = p;
    return (struct hl_str){raised, (size_t)(end - raised)};
}

void hl_error_line_of_text(struct hl_str text, char out[HL_ERROR_LINE_MAX + 1])
{
    struct line line = {.out = out};
    struct hl_str looked = behind_traceback(looked_at(text));
    const char *p = looked.p, *behind = p + looked.n;
    uint32_t code = 0;
    bool goes_on = true;
    while (goes_on && p < behind) {
        p = next_character(p, behind, &code);
        goes_on = add(&line, code);
    }
    end(&line);
}

/* ---- HTML: a reader of what servers and frameworks make, not a parser ---- */

/* Around these a line goes on. */
static const char *const inline_tags[] = {
    "a", "b", "code", "em", "font", "i", "small", "span", "strong", "tt", "u"};
/* What is in these is no text. */
static const char *const mute_tags[] = {"script", "style"};

static const struct {
    const char *name;
    uint32_t code;
} entities[] = {
    {"amp", '&'}, {"apos", '\''}, {"gt", '>'}, {"lt", '<'}, {"nbsp", ' '}, {"quot", '"'}};

static bool is_one_of(struct hl_str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hl_str_eq_nocase(name, hl_str_from(names[i])))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *behind_text(const char *p, const char *end, const char *text)
{
    const char *found = p < end ? memmem(p, (size_t)(end - p), text, strlen(text)) : NULL;
    return found ? found + strlen(text) : end;
}

/* Behind the end of the element `name` that has begun. */
static const char *behind_element(const char *p, const char *end, struct hl_str name)
{
    while ((p = behind_text(p, end, "</")) < end)
        if ((size_t)(end - p) >= name.n && hl_str_eq_nocase((struct hl_str){p, name.n}, name))
            return behind_text(p, end, ">");
    return end;
}

/* Whether markup begins at `p`, a "<"; a lone one is text. */
static bool is_markup(const char *p, const char *end)
{
    return end - p >= 2 && (is_letter(p[1]) || p[1] == '/' || p[1] == '!' || p[1] == '?');
}

/* Behind the markup at `p`; `*ends_line`: what follows is another line. */
static const char *skip_markup(const char *p, const char *end, bool *ends_line)
{
    const char *name = p + 1 + (p[1] == '/'), *q = name;
    while (q < end && (is_letter(*q) || is_digit(*q)))
        q++;
    struct hl_str tag = {name, (size_t)(q - name)};
    *ends_line = tag.n > 0 && !is_one_of(tag, inline_tags, HL_ARRAY_LEN(inline_tags));
    if ((size_t)(end - p) >= 4 && memcmp(p, "<!--", 4) == 0)
        return behind_text(p + 4, end, "-->");
    q = behind_text(q, end, ">");
    bool is_mute = p[1] != '/' && is_one_of(tag, mute_tags, HL_ARRAY_LEN(mute_tags));
    return is_mute ? behind_element(q, end, tag) : q;
}

/* Of "&#39;" and "&#x27;" what is behind "#"; what no text has is U+FFFD. */
static uint32_t read_number(struct hl_str digits)
{
    char text[16] = "", *behind;
    bool is_hex = digits.n > 0 && (digits.p[0] | 0x20) == 'x';
    hl_str_put_cut(text, sizeof(text), (struct hl_str){digits.p + is_hex, digits.n - is_hex});
    unsigned long code = strtoul(text, &behind, is_hex ? 16 : 10);
    bool is_text = text[0] && *behind == '\0' && code > 0 && code <= 0x10ffff &&
                   (code < 0xd800 || code > 0xdfff);
    return is_text ? (uint32_t)code : REPLACEMENT;
}

/* The character that the reference at `p`, an "&", stands for, and what follows it; one that is not known is text. */
static const char *next_reference(const char *p, const char *end, uint32_t *code)
{
    const char *last = memchr(p, ';', end - p < 12 ? (size_t)(end - p) : 12);
    struct hl_str name = {p + 1, last ? (size_t)(last - p) - 1 : 0};
    *code = '&';
    if (name.n > 1 && name.p[0] == '#') {
        *code = read_number((struct hl_str){name.p + 1, name.n - 1});
        return last + 1;
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(entities); i++)
        if (hl_str_eq(name, hl_str_from(entities[i].name))) {
            *code = entities[i].code;
            return last + 1;
        }
    return p + 1;
}

void hl_error_line_of_html(struct hl_str html, char out[HL_ERROR_LINE_MAX + 1])
{
    struct line line = {.out = out};
    struct hl_str looked = looked_at(html);
    const char *p = looked.p, *behind = p + looked.n;
    uint32_t code = 0;
    bool goes_on = true;
    while (goes_on && p < behind) {
        if (*p == '<' && is_markup(p, behind)) {
            bool ends_line;
            p = skip_markup(p, behind, &ends_line);
            goes_on = !ends_line || add(&line, '\n');
            continue;
        }
        p = *p == '&' ? next_reference(p, behind, &code) : next_character(p, behind, &code);
        goes_on = add(&line, code);
    }
    end(&line);
}

/* ---- JSON ---- */

/* The escape at `p`, of a pair both halves; one that is cut ends the text. */
static const char *next_escape(const char *p, const char *end, uint32_t *code)
{
    char meant[12], *to = meant;
    bool is_odd;
    size_t n = p + 1 < end && p[1] == 'u' ? 6 : 2;
    if ((size_t)(end - p) < n)
        return end;
    if (n == 6 && end - p >= 12 && p[6] == '\\' && p[7] == 'u' && (p[2] | 0x20) == 'd')
        n = 12;
    const char *q = hl_json_string_read(p, p + n, &to, &is_odd);
    size_t first = hl_utf8_decode(meant, (size_t)(to - meant), code);
    /* Two that are no pair: one after the other. */
    return n == 12 && first < (size_t)(to - meant) ? p + 6 : q;
}

/* Of the string whose first quote is at `p`. */
static void read_string(struct line *line, const char *p, const char *end)
{
    uint32_t code = 0;
    bool goes_on = true;
    for (p++; goes_on && p < end && *p != '"'; goes_on = p < end && add(line, code))
        p = *p == '\\' ? next_escape(p, end, &code) : next_character(p, end, &code);
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* Behind the string whose first quote is at `p`. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\' && p + 1 < end)
            p++;
    return p < end ? p + 1 : end;
}

/* Up to what ends the value at `p`: a comma, or the bracket of what it is in. */
static const char *skip_value(const char *p, const char *end)
{
    size_t depth = 0;
    while (p < end) {
        if (*p == '"') {
            p = skip_string(p, end);
            continue;
        }
        if (depth == 0 && (*p == ',' || *p == '}' || *p == ']'))
            return p;
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
        p++;
    }
    return end;
}

/* Where the values of those members begin, of the object whose bracket is at `p`; of others it stays. */
static void find_members(
    const char *p, const char *end, const char *const *names, size_t n, const char **values)
{
    p = skip_blank(p + 1, end);
    while (p < end && *p == '"') {
        const char *name = p + 1, *behind = skip_string(p, end);
        p = skip_blank(behind, end);
        if (p == end)
            return;
        p = skip_blank(p + 1, end); /* behind the colon */
        struct hl_str found = {name, (size_t)(behind - name) - 1};
        for (size_t i = 0; p < end && i < n; i++)
            if (hl_str_eq(found, hl_str_from(names[i])))
                values[i] = p;
        p = skip_value(p, end);
        if (p < end && *p == ',')
            p = skip_blank(p + 1, end);
    }
}

/* The value that says it where it is not a string: of an object its `message`, of a list the `msg` of its first object. */
static const char *inner_value(const char *value, const char *end)
{
    static const char *const of_object[] = {"message"}, *const of_list[] = {"msg"};
    const char *found = NULL, *first = *value == '[' ? skip_blank(value + 1, end) : value;
    if (first < end && *first == '{')
        find_members(first, end, *value == '[' ? of_list : of_object, 1, &found);
    return found;
}

void hl_error_line_of_json(struct hl_str json, char out[HL_ERROR_LINE_MAX + 1])
{
    static const char *const names[] = {"detail", "error", "message", "title"};
    const char *values[HL_ARRAY_LEN(names)] = {NULL};
    struct line line = {.out = out};
    struct hl_str looked = looked_at(json);
    const char *behind = looked.p + looked.n, *p = skip_blank(looked.p, behind);
    if (p < behind && *p == '{')
        find_members(p, behind, names, HL_ARRAY_LEN(names), values);
    for (size_t i = 0; i < HL_ARRAY_LEN(names) && line.read_n == 0; i++) {
        const char *value = values[i];
        bool is_error = strcmp(names[i], "error") == 0, is_detail = strcmp(names[i], "detail") == 0;
        if (value && ((is_error && *value == '{') || (is_detail && *value == '[')))
            value = inner_value(value, behind);
        line.n = line.characters = 0;
        if (value && *value == '"')
            read_string(&line, value, behind);
    }
    end(&line);
}
