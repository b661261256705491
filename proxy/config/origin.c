/* origin.c - lists of web origins.
 * Thread: start; finding: any. */
#include "config/origin.h"

#include <stdlib.h>

#include "config/choice.h"

#define LONGEST_ORIGIN 255 /* it is written into every answer */
#define MOST_ORIGINS   64

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* The length of "scheme://", or 0. */
static size_t scheme_length(struct hl_str text)
{
    size_t n = 0;
    while (n < text.n && (is_lower_or_digit(text.p[n]) || memchr("+.-", text.p[n], 3)))
        n++;
    bool ends = text.n - n > 3 && memcmp(text.p + n, "://", 3) == 0;
    return n > 0 && ends && text.p[0] >= 'a' ? n + 3 : 0;
}

static bool is_origin(struct hl_str text)
{
    size_t n = scheme_length(text);
    if (n == 0 || text.n > LONGEST_ORIGIN)
        return false;
    for (size_t i = n; i < text.n; i++) {
        if (!is_lower_or_digit(text.p[i]) && !memchr("-._:[]", text.p[i], 6))
            return false;
    }
    return text.p[text.n - 1] != ':';
}

static bool ends_with(struct hl_str text, struct hl_str end)
{
    return text.n > end.n && memcmp(text.p + text.n - end.n, end.p, end.n) == 0;
}

/* Browsers leave the scheme's own port out. */
static struct hl_str without_own_port(struct hl_str text)
{
    if (hl_str_starts_with(text, HL_STR("https://")) && ends_with(text, HL_STR(":443")))
        text.n -= 4;
    else if (hl_str_starts_with(text, HL_STR("http://")) && ends_with(text, HL_STR(":80")))
        text.n -= 3;
    return text;
}

static enum hl_err add(struct hl_origin_list *list, struct hl_str text)
{
    bool is_any = hl_str_eq(text, HL_STR("*"));
    if (list->n == MOST_ORIGINS || (!is_any && !is_origin(text)))
        return HL_ERR_INVALID;
    text = without_own_port(text);
    char *copy = hl_str_dup(text);
    struct hl_str *items = realloc(list->items, (list->n + 1) * sizeof(*items));
    if (items)
        list->items = items;
    if (!copy || !items) {
        free(copy);
        return HL_ERR_NOMEM;
    }
    list->items[list->n++] = (struct hl_str){copy, text.n};
    list->has_any = list->has_any || is_any;
    return HL_OK;
}

enum hl_err hl_origin_list_parse(struct hl_str text, struct hl_origin_list *out)
{
    struct hl_str element;
    enum hl_err err = HL_OK;
    *out = (struct hl_origin_list){0};
    while (!err && hl_str_next_element(&text, &element))
        err = add(out, element);
    if (!err && out->has_any && out->n > 1)
        err = HL_ERR_INVALID;
    if (err)
        hl_origin_list_fini(out);
    return err;
}

void hl_origin_list_fini(struct hl_origin_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((char *)list->items[i].p);
    free(list->items);
    *list = (struct hl_origin_list){0};
}

struct hl_str hl_origin_list_find(const struct hl_origin_list *list, struct hl_str origin)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->has_any || hl_str_eq(list->items[i], origin))
            return list->items[i];
    }
    return (struct hl_str){0};
}
