/* authority.c - host and port, read strictly.
 * Thread: any; no state, no allocation. */
#include "http/authority.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "http/byte.h"

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
