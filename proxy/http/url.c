/* url.c - absolute http(s) URLs.
 * Thread: any; no state, no allocation. Stricter than the libraries that will use the URL, so that
 * what was checked here is what they connect to.
 * Not here: which addresses are allowed (net/guard.c). */
#include "http/url.h"

#include "http/authority.h"
#include "http/byte.h"

static size_t scheme_length(struct hl_str text, bool *is_https)
{
    const struct hl_str schemes[] = {HL_STR("http://"), HL_STR("https://")};
    for (size_t i = 0; i < HL_ARRAY_LEN(schemes); i++) {
        struct hl_str start = {text.p, schemes[i].n};
        if (text.n > start.n && hl_str_eq_nocase(start, schemes[i])) {
            *is_https = i == 1;
            return start.n;
        }
    }
    return 0;
}

/* Every byte may stand in a URL, and every escape is whole. */
static bool is_clean(struct hl_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c <= ' ' || c > '~' || c == '\\')
            return false;
        if (c == '%' &&
            (text.n - i < 3 || hl_byte_hex(text.p[i + 1]) < 0 || hl_byte_hex(text.p[i + 2]) < 0))
            return false;
    }
    return true;
}

bool hl_url_parse(struct hl_str text, struct hl_url *out)
{
    *out = (struct hl_url){0};
    size_t n = scheme_length(text, &out->is_https);
    if (n == 0 || !is_clean(text))
        return false;

    const char *p = text.p + n, *end = text.p + text.n;
    const char *fragment = memchr(p, '#', (size_t)(end - p));
    if (fragment)
        end = fragment;
    const char *path = p;
    while (path < end && *path != '/' && *path != '?')
        path++;
    const char *at = memrchr(p, '@', (size_t)(path - p));
    out->has_userinfo = at != NULL;
    if (at)
        p = at + 1;

    struct hl_authority authority;
    if (!hl_authority_parse((struct hl_str){p, (size_t)(path - p)}, &authority))
        return false;
    out->host = authority.host;
    out->is_bracketed = authority.is_bracketed;
    out->port = authority.has_port ? authority.port : out->is_https ? 443 : 80;
    out->path_and_query = (struct hl_str){path, (size_t)(end - path)};
    return true;
}
