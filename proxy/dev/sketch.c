/* sketch.c - see sketch.h. Not here: what Python makes of the file (runtime/python). */
#include "dev/sketch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"

#define FILE_MAX (1024 * 1024)

static struct hl_str trim(struct hl_str s)
{
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]))
        s.p++, s.n--;
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

static const char *value_of(struct hl_str type)
{
    static const struct {
        const char *type, *value;
    } values[] = {{"str", "\"hello\""}, {"int", "1"}, {"float", "1.5"}, {"bool", "true"},
        {"list", "[]"}, {"dict", "{}"}, {"bytes", "\"\""}, {"tuple", "[]"}};
    for (size_t i = 0; i < HL_ARRAY_LEN(values); i++)
        if (hl_str_starts_with(type, hl_str_from(values[i].type)))
            return values[i].value;
    return "\"hello\"";
}

/* "name", "name: type"; nothing of one with a default, or that takes what is left. */
static void add_parameter(struct hl_dev_function *f, struct hl_str text)
{
    text = trim(text);
    if (text.n == 0 || memchr(text.p, '=', text.n) || text.p[0] == '*' || text.p[0] == '/')
        return;
    const char *colon = memchr(text.p, ':', text.n);
    struct hl_str name = trim((struct hl_str){text.p, colon ? (size_t)(colon - text.p) : text.n});
    struct hl_str type = HL_STR("");
    if (colon)
        type = trim((struct hl_str){colon + 1, text.n - (size_t)(colon - text.p) - 1});
    size_t n = strlen(f->json);
    snprintf(f->json + n, sizeof(f->json) - n, "%s\"%.*s\": %s", n > 1 ? ", " : "",
        HL_STR_ARG(name), value_of(type));
}

/* From behind the opening parenthesis; returns behind the closing one. */
static const char *read_parameters(struct hl_dev_function *f, const char *p, const char *end)
{
    int depth = 0;
    const char *begin = p;
    snprintf(f->json, sizeof(f->json), "{");
    for (; p < end; p++) {
        bool is_last = *p == ')' && depth == 0;
        if (is_last || (*p == ',' && depth == 0)) {
            add_parameter(f, (struct hl_str){begin, (size_t)(p - begin)});
            begin = p + 1;
        }
        if (is_last)
            break;
        depth += (*p == '(' || *p == '[' || *p == '{') - (*p == ')' || *p == ']' || *p == '}');
    }
    size_t n = strlen(f->json);
    snprintf(f->json + n, sizeof(f->json) - n, "}");
    return p;
}

static const char *next_line(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

static const char *behind_def(const char *p, const char *end)
{
    struct hl_str line = {p, (size_t)(end - p)};
    if (hl_str_starts_with(line, HL_STR("async ")))
        line = (struct hl_str){line.p + 6, line.n - 6};
    return hl_str_starts_with(line, HL_STR("def ")) ? line.p + 4 : NULL;
}

/* Its body: lines that are indented, or empty. */
static bool body_yields(const char *p, const char *end)
{
    for (p = next_line(p, end); p < end && strchr(" \t\r\n#", *p); p = next_line(p, end)) {
        struct hl_str line = trim((struct hl_str){p, (size_t)(next_line(p, end) - p)});
        if (hl_str_starts_with(line, HL_STR("yield")) ||
            (line.n > 0 && memmem(line.p, line.n, " yield ", 7)))
            return true;
    }
    return false;
}

static bool is_name(char c)
{
    char lower = (char)(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static void read_function(struct hl_dev_sketch *sketch, const char *p, const char *end)
{
    const char *name = p;
    while (p < end && is_name(*p))
        p++;
    size_t n = (size_t)(p - name);
    if (p == end || *p != '(' || n == 0 || name[0] == '_' || sketch->count == HL_DEV_FUNCTIONS_MAX)
        return;
    struct hl_dev_function *f = &sketch->functions[sketch->count];
    if (n >= sizeof(f->name))
        return;
    snprintf(f->name, sizeof(f->name), "%.*s", (int)n, name);
    p = read_parameters(f, p + 1, end);
    f->yields = body_yields(p, end);
    sketch->count++;
}

void hl_dev_sketch_read(struct hl_dev_sketch *sketch, const char *path)
{
    *sketch = (struct hl_dev_sketch){.count = 0};
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(FILE_MAX) : NULL;
    size_t n = text ? fread(text, 1, FILE_MAX, file) : 0;
    for (const char *p = text, *end = text + n; p && p < end; p = next_line(p, end)) {
        const char *name = behind_def(p, end);
        if (name)
            read_function(sketch, name, end);
    }
    free(text);
    if (file)
        fclose(file);
}

const struct hl_dev_function *hl_dev_sketch_pick(const struct hl_dev_sketch *sketch, bool yields)
{
    const struct hl_dev_function *first = NULL;
    for (size_t i = 0; i < sketch->count; i++) {
        const struct hl_dev_function *f = &sketch->functions[i];
        if (f->yields != yields)
            continue;
        if (strcmp(f->name, "run") == 0)
            return f;
        first = first ? first : f;
    }
    return first;
}
