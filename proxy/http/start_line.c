/* start_line.c - request lines and status lines, read strictly: single spaces, exact CRLF, HTTP/1.x
 * only.
 * Thread: any; no state, no allocation.
 * Not here: what a target means to us (route/plan.c). */
#include "http/start_line.h"

#include "http/byte.h"
#include "http/head.h"
#include "http/refusal.h"
#include "http/url.h"

static const char *refuse(struct hl_refusal *fault, enum hl_refusal_cause cause)
{
    hl_refuse(fault, cause);
    return NULL;
}

static const struct {
    char text[8];
    uint8_t n;
    uint8_t id;
} methods[] = {
    {"POST", 4, HL_METHOD_POST},
    {"GET", 3, HL_METHOD_GET},
    {"HEAD", 4, HL_METHOD_HEAD},
    {"PUT", 3, HL_METHOD_PUT},
    {"DELETE", 6, HL_METHOD_DELETE},
    {"OPTIONS", 7, HL_METHOD_OPTIONS},
    {"PATCH", 5, HL_METHOD_PATCH},
    {"CONNECT", 7, HL_METHOD_CONNECT},
    {"TRACE", 5, HL_METHOD_TRACE},
};

enum hl_method hl_method_lookup(struct hl_str name)
{
    for (size_t i = 0; i < HL_ARRAY_LEN(methods); i++)
        if (methods[i].n == name.n && memcmp(methods[i].text, name.p, name.n) == 0)
            return methods[i].id;
    return HL_METHOD_OTHER;
}

static bool is_target_fit(struct hl_head *head);

/* "HTTP/1.x" at p; returns the byte after it. Any 1.x above 1.1 is read as 1.1 (RFC 9110 2.5). */
static const char *read_version(
    const char *p, const char *end, struct hl_head *head, struct hl_refusal *fault)
{
    if (end - p < 8 || memcmp(p, "HTTP/", 5) != 0 || !hl_byte_is(p[5], HL_BYTE_DIGIT) ||
        p[6] != '.' || !hl_byte_is(p[7], HL_BYTE_DIGIT))
        return refuse(fault, HL_REFUSAL_VERSION_MISSING);
    if (p[5] != '1')
        return refuse(fault, HL_REFUSAL_VERSION_OTHER);
    head->minor = p[7] != '0';
    return p + 8;
}

const char *hl_start_line_read_request(
    const char *p, const char *end, struct hl_head *head, struct hl_refusal *fault)
{
    const char *start = p;
    while (p < end && hl_byte_is(*p, HL_BYTE_TOKEN))
        p++;
    head->method = (struct hl_str){start, (size_t)(p - start)};
    head->method_id = hl_method_lookup(head->method);
    if (p == start || p == end || *p != ' ')
        return refuse(fault, HL_REFUSAL_REQUEST_LINE);

    start = ++p;
    p = hl_byte_target_end(p, end);
    head->target = (struct hl_str){start, (size_t)(p - start)};
    if (p == end || *p != ' ')
        return refuse(fault, HL_REFUSAL_TARGET_BYTES);

    p = read_version(p + 1, end, head, fault);
    if (!p)
        return NULL;
    if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
        return refuse(fault, HL_REFUSAL_REQUEST_LINE_END);
    if (!is_target_fit(head))
        return refuse(fault, HL_REFUSAL_TARGET_FORM);
    return p + 2;
}

static size_t scheme_length(struct hl_str target)
{
    const struct hl_str schemes[] = {HL_STR("http://"), HL_STR("https://")};
    for (size_t i = 0; i < HL_ARRAY_LEN(schemes); i++)
        if (target.n > schemes[i].n &&
            hl_str_eq_nocase((struct hl_str){target.p, schemes[i].n}, schemes[i]))
            return schemes[i].n;
    return 0;
}

/* RFC 9112 3.2.1 to 3.2.4. Userinfo is not accepted: it would be a password in a log. */
static bool is_target_fit(struct hl_head *head)
{
    struct hl_str target = head->target;
    struct hl_authority authority;
    if (head->method_id == HL_METHOD_CONNECT)
        return hl_authority_parse(target, &authority) && authority.has_port;
    if (target.n > 0 && target.p[0] == '/')
        return true;
    if (hl_str_eq(target, HL_STR("*")))
        return head->method_id == HL_METHOD_OPTIONS;

    size_t n = scheme_length(target);
    if (n == 0)
        return false;
    const char *p = target.p + n, *end = target.p + target.n;
    while (p < end && *p != '/' && *p != '?')
        p++;
    head->host = (struct hl_str){target.p + n, (size_t)(p - target.p) - n};
    return hl_authority_parse(head->host, &authority);
}

const char *hl_start_line_read_status(
    const char *p, const char *end, struct hl_head *head, struct hl_refusal *fault)
{
    p = read_version(p, end, head, fault);
    if (!p)
        return NULL;
    if (end - p < 4 || p[0] != ' ' || p[1] < '1' || p[1] > '5' ||
        !hl_byte_is(p[2], HL_BYTE_DIGIT) || !hl_byte_is(p[3], HL_BYTE_DIGIT))
        return refuse(fault, HL_REFUSAL_APP_STATUS);
    head->status = (uint16_t)((p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0'));

    /* The space before an absent reason phrase is missing often enough to be let through: nothing
     * hangs on it. */
    p += 4;
    if (p < end && *p == ' ')
        p++;
    else if (p < end && *p != '\r')
        return refuse(fault, HL_REFUSAL_APP_STATUS_SPACE);
    const char *start = p;
    while (p < end && hl_byte_is(*p, HL_BYTE_FIELD))
        p++;
    head->reason = (struct hl_str){start, (size_t)(p - start)};
    if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
        return refuse(fault, HL_REFUSAL_APP_STATUS_END);
    return p + 2;
}
