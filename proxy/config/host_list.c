/* host_list.c - the entries of a list of hosts. Any thread. */
#include "config/host_list.h"

#include "base/str.h"
#include "config/value.h"
#include "http/byte.h"
#include "net/address.h"
#include "net/guard.h"

#define LONGEST_NAME  253
#define LONGEST_LABEL 63

static bool is_label(struct hl_str label)
{
    for (size_t i = 0; i < label.n; i++) {
        char c = label.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !hl_byte_is(c, HL_BYTE_DIGIT) && c != '-' && c != '_')
            return false;
    }
    return label.n >= 1 && label.n <= LONGEST_LABEL;
}

static struct hl_str without_dot(struct hl_str name)
{
    if (name.n > 1 && name.p[name.n - 1] == '.')
        name.n--;
    return name;
}

/* A last label that begins with a digit belongs to an address, however odd (WHATWG URL, "ends in a
 * number"). */
static bool is_name(struct hl_str name)
{
    if (name.n > LONGEST_NAME)
        return false;
    for (;;) {
        const char *dot = name.n > 0 ? memchr(name.p, '.', name.n) : NULL;
        struct hl_str label = {name.p, dot ? (size_t)(dot - name.p) : name.n};
        if (!is_label(label))
            return false;
        if (!dot)
            return !hl_byte_is(label.p[0], HL_BYTE_DIGIT);
        name = (struct hl_str){dot + 1, name.n - label.n - 1};
    }
}

static bool is_wildcard(struct hl_str entry)
{
    return hl_str_starts_with(entry, HL_STR("*."));
}

static bool parse_address(struct hl_str entry, struct hl_ip *ip)
{
    if (entry.n > 2 && entry.p[0] == '[' && entry.p[entry.n - 1] == ']')
        return hl_ip_parse((struct hl_str){entry.p + 1, entry.n - 2}, ip) && !hl_ip_is_v4(ip);
    return hl_ip_parse(entry, ip);
}

bool hl_host_list_is_valid(struct hl_str text)
{
    struct hl_str entry;
    struct hl_ip ip;
    bool has_more = true;
    while (has_more) {
        if (!hl_value_next_word(&text, &has_more, &entry))
            return false;
        struct hl_str name = without_dot(entry);
        if (is_wildcard(name))
            name = (struct hl_str){name.p + 2, name.n - 2};
        else if (hl_str_eq(entry, HL_STR("*")) || parse_address(entry, &ip))
            continue;
        if (!is_name(name))
            return false;
    }
    return true;
}

static bool has_name(struct hl_str entry, struct hl_str host)
{
    entry = without_dot(entry);
    if (!is_wildcard(entry))
        return hl_str_eq_nocase(entry, host);
    struct hl_str end = {entry.p + 1, entry.n - 1}; /* ".corp.example" */
    if (host.n <= end.n)
        return false;
    return hl_str_eq_nocase((struct hl_str){host.p + host.n - end.n, end.n}, end);
}

bool hl_host_list_has(struct hl_str text, struct hl_str host, bool is_bracketed)
{
    struct hl_str entry;
    struct hl_ip ip, other;
    bool is_address = hl_guard_parse_host(host, is_bracketed, &ip);
    host = without_dot(host);
    while (hl_str_next_element(&text, &entry)) {
        bool is_same = is_address ? parse_address(entry, &other) && !memcmp(&ip, &other, sizeof ip)
                                  : has_name(entry, host);
        if (is_same || hl_str_eq(entry, HL_STR("*")))
            return true;
    }
    return false;
}
