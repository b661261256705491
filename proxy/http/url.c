/* url.c - takes authorities, URLs, request targets and queries apart.
 * Thread: any; no state, no allocation. Stricter than the libraries that will use a URL, so that what was
 * checked here is what they connect to.
 * Promise: nothing is normalized: what is not ours goes to the app as it came.
 * Not here: which addresses are allowed (net/guard.c). */
#include "http/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "http/byte.h"

/* ---- host and port ---- */

/* "[" address [ "%25" zone ] "]": returns the byte after it, or NULL. */
static const char *read_bracketed(const char *p, const char *end, struct hl_authority *out)
{
    const char *close = memchr(p, ']', (size_t)(end - p));
    if (!close)
        return NULL;
    out->is_bracketed = true;
    out->host = (struct hl_str){p + 1, (size_t)(close - p - 1)};

    char z[INET6_ADDRSTRLEN];
    struct in6_addr ignored;
    const char *zone = memchr(out->host.p, '%', out->host.n);
    size_t n = zone ? (size_t)(zone - out->host.p) : out->host.n;
    if (n >= sizeof z || memchr(out->host.p, '\0', n))
        return NULL;
    memcpy(z, out->host.p, n);
    z[n] = '\0';
    if (inet_pton(AF_INET6, z, &ignored) != 1)
        return NULL;

    if (zone) { /* RFC 6874 */
        if (close - zone < 4 || memcmp(zone, "%25", 3) != 0)
            return NULL;
        for (const char *q = zone + 3; q < close; q++)
            if (!hl_byte_is(*q, HL_BYTE_HOST))
                return NULL;
    }
    return close + 1;
}

static const char *read_name(const char *p, const char *end, struct hl_authority *out)
{
    const char *start = p;
    while (p < end && hl_byte_is(*p, HL_BYTE_HOST))
        p++;
    out->is_bracketed = false;
    out->host = (struct hl_str){start, (size_t)(p - start)};
    return p == start ? NULL : p;
}

static bool read_port(const char *p, const char *end, struct hl_authority *out)
{
    uint32_t port = 0;
    for (; p < end; p++) {
        if (!hl_byte_is(*p, HL_BYTE_DIGIT))
            return false;
        port = port * 10 + (uint32_t)(*p - '0');
        if (port > UINT16_MAX)
            return false;
        out->has_port = true;
    }
    out->port = (uint16_t)port;
    return true;
}

bool hl_authority_parse(struct hl_str text, struct hl_authority *out)
{
    const char *p = text.p, *end = text.p + text.n;
    *out = (struct hl_authority){0};
    if (text.n == 0)
        return false;
    p = *p == '[' ? read_bracketed(p, end, out) : read_name(p, end, out);
    if (!p)
        return false;
    if (p == end)
        return true;
    return *p == ':' && read_port(p + 1, end, out);
}

/* ---- absolute http(s) URLs ---- */

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

/* ---- request targets and queries ---- */

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

bool hl_path_is_name(struct hl_str s)
{
    if (s.n == 0 || s.n > HL_NAME_MAX || hl_str_eq(s, HL_STR(".")) || hl_str_eq(s, HL_STR("..")))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], lower = c | 0x20;
        bool is_letter = lower >= 'a' && lower <= 'z';
        if (!is_letter && !hl_byte_is(c, HL_BYTE_DIGIT) && c != '.' && c != '_' && c != '-')
            return false;
    }
    return true;
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
