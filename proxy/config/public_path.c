/* public_path.c - HOOKLINE_PUBLIC_PATHS: which paths need no token.
 * Thread: any; no state.
 * Not here: where hookline's own routes are (route/plan.c), which come before these. */
#include "config/public_path.h"

#include "base/compiler.h"
#include "base/str.h"

static bool has(struct hl_str text, const char *z)
{
    return memmem(text.p, text.n, z, strlen(z)) != NULL;
}

static bool is_dot_segment(const char *p, const char *end)
{
    return (end - p == 1 && p[0] == '.') || (end - p == 2 && p[0] == '.' && p[1] == '.');
}

static bool has_dot_segment(struct hl_str path)
{
    const char *end = path.p + path.n;
    for (const char *p = path.p; p < end; p++) {
        const char *next = memchr(p, '/', (size_t)(end - p));
        if (is_dot_segment(p, next ? next : end))
            return true;
        if (!next)
            break;
        p = next;
    }
    return false;
}

/* Servers decode, merge, resolve and cut (";jsessionid=1") paths each in its own way. */
static bool is_ambiguous(struct hl_str path)
{
    static const char *const signs[] = {
        "//", "\\", ";", "%2f", "%2F", "%5c", "%5C", "%2e", "%2E", "%00"};
    for (size_t i = 0; i < HL_ARRAY_LEN(signs); i++) {
        if (has(path, signs[i]))
            return true;
    }
    return has_dot_segment(path);
}

static bool ends_with_star(struct hl_str pattern)
{
    return pattern.n > 0 && pattern.p[pattern.n - 1] == '*';
}

/* Below hookline's own routes. "/v4x" is not, "/v4*" is. */
static bool is_own(struct hl_str pattern)
{
    static const char *const roots[] = {"/v4", "/v2/projects", "/_hookline"};
    for (size_t i = 0; i < HL_ARRAY_LEN(roots); i++) {
        struct hl_str root = hl_str_from(roots[i]);
        if (hl_str_starts_with(pattern, root) &&
            (pattern.n == root.n || memchr("/*", pattern.p[root.n], 2)))
            return true;
    }
    return false;
}

static bool is_pattern(struct hl_str pattern)
{
    struct hl_str fixed = pattern;
    if (pattern.p[0] != '/' || is_own(pattern))
        return false;
    if (ends_with_star(pattern))
        fixed.n--;
    for (size_t i = 0; i < fixed.n; i++) {
        if (fixed.p[i] <= ' ' || fixed.p[i] > '~' || memchr("*?#", fixed.p[i], 3))
            return false;
    }
    return !is_ambiguous(fixed);
}

bool hl_public_paths_are_valid(struct hl_str list)
{
    struct hl_str pattern;
    while (hl_str_next_element(&list, &pattern)) {
        if (!is_pattern(pattern))
            return false;
    }
    return true;
}

static bool matches(struct hl_str pattern, struct hl_str path)
{
    if (!ends_with_star(pattern))
        return hl_str_eq(pattern, path);
    pattern.n--;
    return hl_str_starts_with(path, pattern);
}

bool hl_public_paths_have(struct hl_str list, struct hl_str path)
{
    struct hl_str pattern;
    while (hl_str_next_element(&list, &pattern)) {
        if (matches(pattern, path))
            return !is_ambiguous(path);
    }
    return false;
}
