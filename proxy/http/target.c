/* target.c - takes request targets and queries apart.
 * Thread: any; no state, no allocation.
 * Promise: nothing is normalized: what is not ours goes to the app as it came. */
#include "http/target.h"

#include <string.h>

#include "http/byte.h"

static bool has_only_target_bytes(struct hl_str s)
{
    return s.n > 0 && hl_byte_target_end(s.p, s.p + s.n) == s.p + s.n;
}

/* Past "scheme://authority", to the path, the query or the end. */
static const char *skip_authority(const char *p, const char *end)
{
    const char *colon = memchr(p, ':', (size_t)(end - p));
    if (!colon || end - colon < 3 || colon[1] != '/' || colon[2] != '/')
        return NULL;
    for (p = colon + 3; p < end && *p != '/' && *p != '?'; p++)
        ;
    return p;
}

bool hl_target_split(struct hl_str target, struct hl_target *out)
{
    if (!has_only_target_bytes(target))
        return false;
    const char *p = target.p, *end = target.p + target.n;
    *out = (struct hl_target){0};
    if (hl_str_eq(target, HL_STR("*"))) {
        out->path = target;
        return true;
    }
    if (*p != '/' && !(p = skip_authority(p, end)))
        return false;

    const char *mark = memchr(p, '?', (size_t)(end - p));
    out->path = (struct hl_str){p, (size_t)((mark ? mark : end) - p)};
    out->is_pathless = out->path.n == 0;
    if (out->is_pathless)
        out->path = HL_STR("/");
    if (mark) {
        out->has_query = true;
        out->query = (struct hl_str){mark + 1, (size_t)(end - mark - 1)};
    }
    return true;
}

struct hl_str hl_path_take_segment(struct hl_str *path)
{
    const char *start = path->p + 1, *end = path->p + path->n;
    const char *slash = memchr(start, '/', (size_t)(end - start));
    if (!slash)
        slash = end;
    *path = (struct hl_str){slash, (size_t)(end - slash)};
    return (struct hl_str){start, (size_t)(slash - start)};
}

bool hl_query_next(struct hl_str *query, struct hl_param *param)
{
    if (!query->p)
        return false;
    const char *amp = query->n ? memchr(query->p, '&', query->n) : NULL;
    struct hl_str raw = {query->p, amp ? (size_t)(amp - query->p) : query->n};
    *query = amp ? (struct hl_str){amp + 1, query->n - raw.n - 1} : (struct hl_str){0};

    const char *equals = raw.n ? memchr(raw.p, '=', raw.n) : NULL;
    size_t name_n = equals ? (size_t)(equals - raw.p) : raw.n;
    *param = (struct hl_param){.raw = raw, .name = {raw.p, name_n}, .has_value = equals != NULL};
    if (equals)
        param->value = (struct hl_str){equals + 1, raw.n - name_n - 1};
    return true;
}

/* Takes one byte off `*s`, decoding an escape; -1 for a bad one. `*s` is not empty. */
static int next_byte(struct hl_str *s)
{
    int c = (unsigned char)*s->p;
    size_t taken = 1;
    if (c == '%') {
        int high = s->n >= 3 ? hl_byte_hex(s->p[1]) : -1;
        int low = s->n >= 3 ? hl_byte_hex(s->p[2]) : -1;
        c = high < 0 || low < 0 ? -1 : high << 4 | low;
        taken = 3;
    }
    if (c >= 0) {
        s->p += taken;
        s->n -= taken;
    }
    return c;
}

bool hl_param_is(const struct hl_param *param, struct hl_str name)
{
    struct hl_str rest = param->name;
    for (size_t i = 0; i < name.n; i++)
        if (rest.n == 0 || next_byte(&rest) != (unsigned char)name.p[i])
            return false;
    return rest.n == 0;
}

ptrdiff_t hl_query_decode(struct hl_str value, char *out, size_t cap)
{
    size_t n = 0;
    while (value.n > 0) {
        int c = *value.p == '+' ? ' ' : 0;
        if (c)
            value = (struct hl_str){value.p + 1, value.n - 1};
        else
            c = next_byte(&value);
        if (c <= 0 || n == cap)
            return -1;
        out[n++] = (char)c;
    }
    return (ptrdiff_t)n;
}
