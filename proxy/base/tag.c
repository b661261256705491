/* tag.c - see tag.h. Any thread; no allocation. */
#include "base/tag.h"

#include <string.h>

static struct hl_str take(struct hl_str *text, char end)
{
    const char *at = text->n > 0 ? memchr(text->p, end, text->n) : NULL;
    struct hl_str taken = {text->p, at ? (size_t)(at - text->p) : text->n};
    size_t used = taken.n + (at ? 1 : 0);
    *text = (struct hl_str){text->p + used, text->n - used};
    return taken;
}

bool hl_tag_next(struct hl_str *tags, struct hl_tag *tag)
{
    if (tags->n == 0)
        return false;
    tag->whole = tag->value = take(tags, ',');
    tag->name = take(&tag->value, '=');
    return true;
}

bool hl_tags_have(struct hl_str tags, struct hl_str wanted)
{
    struct hl_str name = take(&wanted, '=');
    bool is_any = wanted.n == 0; /* no value is empty */
    struct hl_tag tag;
    while (hl_tag_next(&tags, &tag))
        if (hl_str_eq(tag.name, name))
            return is_any || hl_str_eq(tag.value, wanted);
    return false;
}

static bool is_name(struct hl_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i], lower = c | 0x20;
        bool is_good = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
                       memchr("._-/", c, 4) != NULL;
        if (!is_good)
            return false;
    }
    return name.n >= 1 && name.n <= HL_TAG_MAX;
}

static bool is_value(struct hl_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (c < ' ' || c > '~' || c == ',' || c == '"' || c == '\\')
            return false;
    }
    return value.n >= 1 && value.n <= HL_TAG_MAX && hl_str_trim(value).n == value.n;
}

bool hl_tag_is_wanted(struct hl_str text)
{
    struct hl_str value = text, name = take(&value, '=');
    bool has_value = name.n < text.n;
    return is_name(name) && (!has_value || is_value(value));
}

/* ---- as a caller writes them ---- */

static enum hl_tag_fault judge(
    const struct hl_tag_list *list, struct hl_str element, struct hl_tag *tag)
{
    struct hl_str value = element, name = take(&value, '='), text = {list->text, list->n};
    bool has_value = name.n < element.n;
    *tag = (struct hl_tag){.name = hl_str_trim(name), .value = hl_str_trim(value)};
    if (element.n == 0)
        return HL_TAG_EMPTY;
    if (!has_value)
        return HL_TAG_NO_VALUE;
    if (!is_name(tag->name))
        return HL_TAG_BAD_NAME;
    if (!is_value(tag->value))
        return HL_TAG_BAD_VALUE;
    if (hl_tags_have(text, tag->name))
        return HL_TAG_TWICE;
    return list->count == HL_TAGS_MAX ? HL_TAG_TOO_MANY : HL_TAG_GOOD;
}

static void put(struct hl_tag_list *list, const struct hl_tag *tag)
{
    char *at = list->text + list->n;
    if (list->count++ > 0)
        *at++ = ',';
    at = mempcpy(at, tag->name.p, tag->name.n);
    *at++ = '=';
    at = mempcpy(at, tag->value.p, tag->value.n);
    list->n = (size_t)(at - list->text);
}

enum hl_tag_fault hl_tags_add(struct hl_tag_list *list, struct hl_str written, struct hl_str *bad)
{
    bool has_more = true;
    while (has_more) {
        struct hl_tag tag;
        size_t n = written.n;
        struct hl_str element = take(&written, ',');
        has_more = element.n < n; /* a comma stood behind it */
        *bad = hl_str_trim(element);
        enum hl_tag_fault fault = judge(list, *bad, &tag);
        if (fault)
            return fault;
        put(list, &tag);
    }
    return HL_TAG_GOOD;
}
