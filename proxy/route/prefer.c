/* prefer.c - reads Prefer: a list whose elements may hold quoted strings.
 * Thread: any; pure. */
#include "route/prefer.h"

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

static bool is_respond_async(struct hl_str preference)
{
    const char *semicolon = preference.n ? memchr(preference.p, ';', preference.n) : NULL;
    if (semicolon)
        preference.n = (size_t)(semicolon - preference.p);
    return hl_str_eq_nocase(hl_str_trim(preference), HL_STR("respond-async"));
}

bool hl_prefers_async(const struct hl_head *head)
{
    if (head->first[HL_FIELD_PREFER] < 0)
        return false;
    for (size_t i = (size_t)head->first[HL_FIELD_PREFER]; i < head->field_count; i++) {
        if (head->fields[i].id != HL_FIELD_PREFER)
            continue;
        struct hl_str list = head->fields[i].value, preference;
        while (next_preference(&list, &preference))
            if (is_respond_async(preference))
                return true;
    }
    return false;
}
