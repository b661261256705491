/* prefer.c - reads Prefer, a list whose elements may hold quoted strings, and writes what is left of it.
 * Thread: any; pure. */
#include "http/prefer.h"

#include "base/str.h"
#include "http/field.h"
#include "http/head.h"

/* Takes the next element off `*list`, up to a comma that no quotes enclose. False when nothing is
 * left. */
static bool next_preference(struct hl_str *list, struct hl_str *element)
{
    bool is_quoted = false;
    size_t i = 0;
    if (list->n == 0)
        return false;
    for (; i < list->n && (is_quoted || list->p[i] != ','); i++) {
        if (list->p[i] == '"')
            is_quoted = !is_quoted;
        else if (is_quoted && list->p[i] == '\\')
            i++;
    }
    if (i > list->n) /* a backslash was the last byte */
        i = list->n;
    *element = hl_str_trim((struct hl_str){list->p, i});
    size_t taken = i < list->n ? i + 1 : i;
    *list = (struct hl_str){list->p + taken, list->n - taken};
    return true;
}

/* Without its parameters. */
static struct hl_str without_params(struct hl_str preference)
{
    const char *semicolon = preference.n ? memchr(preference.p, ';', preference.n) : NULL;
    if (semicolon)
        preference.n = (size_t)(semicolon - preference.p);
    return hl_str_trim(preference);
}

static bool is_respond_async(struct hl_str element, void *arg)
{
    (void)arg;
    return hl_str_eq_nocase(without_params(element), HL_STR("respond-async"));
}

/* Calls `is` with one after the other, as it stands there, until it says true. */
static bool any_element(
    const struct hl_head *head, bool (*is)(struct hl_str element, void *arg), void *arg)
{
    if (head->first[HL_FIELD_PREFER] < 0)
        return false;
    for (size_t i = (size_t)head->first[HL_FIELD_PREFER]; i < head->field_count; i++) {
        if (head->fields[i].id != HL_FIELD_PREFER)
            continue;
        struct hl_str list = head->fields[i].value, element;
        while (next_preference(&list, &element))
            if (is(element, arg))
                return true;
    }
    return false;
}

bool hl_prefers_async(const struct hl_head *head)
{
    return any_element(head, is_respond_async, NULL);
}

bool hl_wait_parse(struct hl_str text, uint64_t max_ms, uint64_t *ms)
{
    uint64_t seconds;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    if (text.n == 0)
        return false;
    bool is_long = !hl_str_to_u64(text, &seconds) || seconds > max_ms / 1000;
    *ms = is_long ? max_ms / 1000 * 1000 : seconds * 1000;
    return true;
}

/* Its name, and its value behind '='; `value->p` NULL: there is none. */
static struct hl_str split(struct hl_str preference, struct hl_str *value)
{
    const char *equals = preference.n ? memchr(preference.p, '=', preference.n) : NULL;
    size_t n = equals ? (size_t)(equals - preference.p) : preference.n;
    *value = equals ? hl_str_trim((struct hl_str){equals + 1, preference.n - n - 1})
                    : (struct hl_str){NULL, 0};
    return hl_str_trim((struct hl_str){preference.p, n});
}

static bool is_ours(struct hl_str element, void *arg)
{
    (void)arg;
    struct hl_str value, name = split(without_params(element), &value);
    return hl_str_eq_nocase(name, HL_STR("respond-async")) ||
           hl_str_eq_nocase(name, HL_STR("wait"));
}

bool hl_prefers_ours(const struct hl_head *head)
{
    return any_element(head, is_ours, NULL);
}

struct wish {
    uint64_t max_ms, ms;
    bool is_valid;
};

/* The first counts; the value may be quoted (RFC 7240 2). */
static bool is_wait(struct hl_str element, void *arg)
{
    struct wish *wish = arg;
    struct hl_str value;
    if (!hl_str_eq_nocase(split(without_params(element), &value), HL_STR("wait")) || !value.p)
        return false;
    if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
        value = (struct hl_str){value.p + 1, value.n - 2};
    wish->is_valid = hl_wait_parse(value, wish->max_ms, &wish->ms);
    return true;
}

bool hl_prefers_wait(const struct hl_head *head, uint64_t max_ms, uint64_t *ms)
{
    struct wish wish = {.max_ms = max_ms};
    bool is_valid = any_element(head, is_wait, &wish) && wish.is_valid;
    *ms = is_valid ? wish.ms : 0;
    return is_valid;
}

struct others {
    struct hl_writer *w;
    bool has_begun;
};

static bool write_other(struct hl_str element, void *arg)
{
    struct others *others = arg;
    if (element.n == 0 || is_ours(element, NULL))
        return false;
    if (others->has_begun)
        HL_WRITE(others->w, ",");
    else
        HL_WRITE(others->w, "Prefer: ");
    hl_write_str(others->w, element);
    others->has_begun = true;
    return false;
}

void hl_prefer_write_others(struct hl_writer *w, const struct hl_head *head)
{
    const struct hl_field *first = hl_head_field(head, HL_FIELD_PREFER);
    struct others others = {.w = w};
    if (!first || first->is_hop)
        return;
    any_element(head, write_other, &others);
    if (others.has_begun)
        HL_WRITE(w, "\r\n");
}
