/* strict_grammar.c - bytes, authorities and targets, as the independent reader has them. */
#include "strict_grammar.h"

bool strict_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

bool strict_is_token(char c)
{
    return strict_is_digit(c) || is_letter(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
}

bool strict_is_value(char c)
{
    unsigned char b = (unsigned char)c;
    return c == '\t' || (b >= 0x20 && b != 0x7f);
}

bool strict_is_hex(char c)
{
    return strict_is_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

bool strict_all(struct hl_str s, bool (*is)(char c))
{
    for (size_t i = 0; i < s.n; i++)
        if (!is(s.p[i]))
            return false;
    return true;
}

char strict_folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool strict_same(struct hl_str a, struct hl_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (a.p[i] != b.p[i])
            return false;
    return true;
}

bool strict_same_nocase(struct hl_str a, struct hl_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (strict_folded(a.p[i]) != strict_folded(b.p[i]))
            return false;
    return true;
}

struct hl_str strict_trimmed(struct hl_str s)
{
    while (s.n > 0 && is_one_of(s.p[0], " \t"))
        s = (struct hl_str){s.p + 1, s.n - 1};
    while (s.n > 0 && is_one_of(s.p[s.n - 1], " \t"))
        s.n--;
    return s;
}

static bool is_port(struct hl_str s)
{
    unsigned long port = 0;
    if (!strict_all(s, strict_is_digit))
        return false;
    for (size_t i = 0; i < s.n && port <= 65535; i++)
        port = port * 10 + (unsigned long)(s.p[i] - '0');
    return port <= 65535;
}

static bool is_name_byte(char c) /* RFC 3986 reg-name without escapes and ',' */
{
    return strict_is_digit(c) || is_letter(c) || is_one_of(c, "-._~!$&'()*+;=");
}

static bool is_v6_byte(char c)
{
    return strict_is_hex(c) || c == ':' || c == '.';
}

/* Inside the brackets: an address, perhaps with a zone (RFC 6874). Whether the address is one is
 * for whoever connects to it; here it must not be able to be anything else. */
static bool is_ip_literal(struct hl_str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] != '%')
        n++;
    struct hl_str address = {s.p, n};
    if (n < 2 || !strict_all(address, is_v6_byte))
        return false;
    if (n == s.n)
        return true;
    struct hl_str zone = {s.p + n, s.n - n};
    return zone.n > 3 && zone.p[1] == '2' && zone.p[2] == '5' &&
           strict_all((struct hl_str){zone.p + 3, zone.n - 3}, is_name_byte);
}

bool strict_is_authority(struct hl_str text)
{
    size_t host_n = 0;
    if (text.n > 0 && text.p[0] == '[') {
        while (host_n < text.n && text.p[host_n] != ']')
            host_n++;
        if (host_n == text.n || !is_ip_literal((struct hl_str){text.p + 1, host_n - 1}))
            return false;
        host_n++;
    } else {
        while (host_n < text.n && is_name_byte(text.p[host_n]))
            host_n++;
    }
    struct hl_str rest = {text.p + host_n, text.n - host_n};
    if (host_n == 0)
        return false;
    return rest.n == 0 || (rest.p[0] == ':' && is_port((struct hl_str){rest.p + 1, rest.n - 1}));
}

bool strict_is_target_byte(char c)
{
    return c > ' ' && c < 0x7f && c != '#';
}

bool strict_is_target_of(struct hl_str target, struct hl_str method)
{
    if (strict_same(method, HL_STR("CONNECT")))
        return strict_is_authority(target);
    if (target.p[0] == '/')
        return true;
    if (strict_same(target, HL_STR("*")))
        return strict_same(method, HL_STR("OPTIONS"));

    size_t n = target.n > 5 && strict_folded(target.p[4]) == 's' ? 8 : 7;
    struct hl_str scheme = {target.p, n};
    if (target.n <= n || !(strict_same_nocase(scheme, HL_STR("http://")) ||
                             strict_same_nocase(scheme, HL_STR("https://"))))
        return false;
    size_t end = n;
    while (end < target.n && target.p[end] != '/' && target.p[end] != '?')
        end++;
    return strict_is_authority((struct hl_str){target.p + n, end - n});
}
