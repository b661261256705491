/* webhook_setting.c - one rule for each entry of a list of hosts, and for each line of header fields. Any thread. */
#include "config/webhook_setting.h"

#include "base/buf.h"
#include "base/str.h"
#include "config/value.h"
#include "http/byte.h"
#include "http/field.h"
#include "net/address.h"
#include "net/guard.h"

/* ---- hosts that are trusted ---- */

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

/* ---- the operator's own header fields ---- */

#define LONGEST_LINE      8192
#define LONGEST_NAME_TOLD 64

bool hl_webhook_field_next(struct hl_str *text, struct hl_str *line)
{
    while (text->n > 0) {
        const char *end = memchr(text->p, '\n', text->n);
        struct hl_str found = {text->p, end ? (size_t)(end - text->p) : text->n};
        size_t used = found.n + (end ? 1 : 0);
        *text = (struct hl_str){text->p + used, text->n - used};
        if (end && found.n > 0 && found.p[found.n - 1] == '\r')
            found.n--;
        *line = hl_str_trim(found);
        if (line->n > 0)
            return true;
    }
    return false;
}

/* Before the colon. */
static struct hl_str name_of(struct hl_str line)
{
    const char *colon = memchr(line.p, ':', line.n);
    return (struct hl_str){line.p, colon ? (size_t)(colon - line.p) : 0};
}

static bool begins_with(struct hl_str name, struct hl_str prefix)
{
    return name.n >= prefix.n && hl_str_eq_nocase((struct hl_str){name.p, prefix.n}, prefix);
}

/* X-<any service>-Webhook-…: the service's name may change. */
static bool is_signature(struct hl_str name)
{
    static const struct hl_str part = {"-webhook-", sizeof("-webhook-") - 1};
    if (!begins_with(name, HL_STR("x-")))
        return false;
    for (size_t i = 1; i + part.n <= name.n; i++) {
        if (hl_str_eq_nocase((struct hl_str){name.p + i, part.n}, part))
            return true;
    }
    return false;
}

/* What hookline says itself, and what belongs to a connection (RFC 9110 7.6.1). */
static bool is_ours(struct hl_str written)
{
    /* Behind WSGI or CGI both are the same name. A longer one is ours by its beginning, if at all. */
    char dashed[64];
    size_t n = written.n < sizeof(dashed) ? written.n : sizeof(dashed);
    for (size_t i = 0; i < n; i++)
        dashed[i] = written.p[i] == '_' ? '-' : written.p[i];
    struct hl_str name = {dashed, n};
    static const char *const names[] = {"host", "transfer-encoding", "te", "trailer", "connection",
        "keep-alive", "upgrade", "expect", "user-agent", "x-request-id", "traceparent",
        "tracestate"};
    static const char *const prefixes[] = {"content-", "proxy-", "webhook-"};
    for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
        if (hl_str_eq_nocase(name, hl_str_from(names[i])))
            return true;
    }
    for (size_t i = 0; i < HL_ARRAY_LEN(prefixes); i++) {
        if (begins_with(name, hl_str_from(prefixes[i])))
            return true;
    }
    return is_signature(name);
}

static bool is_line(struct hl_str line)
{
    struct hl_str name = name_of(line);
    if (line.n > LONGEST_LINE || name.n == 0 || !hl_str_is_token(name) || is_ours(name))
        return false;
    struct hl_str value = hl_str_trim((struct hl_str){line.p + name.n + 1, line.n - name.n - 1});
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return value.n > 0;
}

/* The first line that may not be; empty: there is none at all. False: all is well. */
static bool find_fault(struct hl_str text, struct hl_str *line)
{
    struct hl_str names[HL_WEBHOOK_FIELDS_MAX];
    size_t count = 0;
    for (; hl_webhook_field_next(&text, line); count++) {
        if (count == HL_WEBHOOK_FIELDS_MAX || !is_line(*line))
            return true;
        names[count] = name_of(*line);
        for (size_t i = 0; i < count; i++) {
            if (hl_str_eq_nocase(names[i], names[count]))
                return true;
        }
    }
    *line = (struct hl_str){0};
    return count == 0;
}

bool hl_webhook_fields_are_valid(struct hl_str text)
{
    struct hl_str line;
    return !find_fault(text, &line);
}

enum hl_err hl_webhook_fields_tell_fault(struct hl_str text, struct hl_buf *out)
{
    struct hl_str line;
    size_t number = 1;
    if (!find_fault(text, &line) || line.n == 0)
        return HL_OK;
    for (const char *p = text.p; p < line.p; p++)
        number += *p == '\n';
    struct hl_str name = name_of(line);
    if (name.n == 0 || name.n > LONGEST_NAME_TOLD || !hl_str_is_token(name))
        return hl_buf_printf(out, " (line %zu)", number);
    return hl_buf_printf(out, " (line %zu, %.*s)", number, HL_STR_ARG(name));
}
