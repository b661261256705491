/* start_line.c - request lines and status lines, read strictly: single spaces, exact CRLF, HTTP/1.x
 * only.
 * Thread: any; no state, no allocation.
 * Not here: what a target means to us (route/plan.c). */
#include "http/start_line.h"

#include "http/authority.h"
#include "http/byte.h"

static const char *refuse(struct hl_head_fault *fault, uint16_t status, const char *detail)
{
    hl_head_refuse(fault, status, detail);
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
    const char *p, const char *end, struct hl_head *head, struct hl_head_fault *fault)
{
    if (end - p < 8 || memcmp(p, "HTTP/", 5) != 0 || !hl_byte_is(p[5], HL_BYTE_DIGIT) ||
        p[6] != '.' || !hl_byte_is(p[7], HL_BYTE_DIGIT))
        return refuse(fault, 400, "The start line has no HTTP version. Speak HTTP/1.1.");
    if (p[5] != '1')
        return refuse(fault, 505, "The only versions spoken here are HTTP/1.1 and HTTP/1.0.");
    head->minor = p[7] != '0';
    return p + 8;
}

const char *hl_start_line_read_request(
    const char *p, const char *end, struct hl_head *head, struct hl_head_fault *fault)
{
    const char *start = p;
    while (p < end && hl_byte_is(*p, HL_BYTE_TOKEN))
        p++;
    head->method = (struct hl_str){start, (size_t)(p - start)};
    head->method_id = hl_method_lookup(head->method);
    if (p == start || p == end || *p != ' ')
        return refuse(fault, 400,
            "The request line is not `method target HTTP/1.1` with single spaces between.");

    start = ++p;
    while (p < end && hl_byte_is(*p, HL_BYTE_TARGET))
        p++;
    head->target = (struct hl_str){start, (size_t)(p - start)};
    if (p == end || *p != ' ')
        return refuse(fault, 400,
            "The request target has a byte that may not stand there (a control, '#', above 0x7e), "
            "or no version follows it. Percent-encode such bytes.");

    p = read_version(p + 1, end, head, fault);
    if (!p)
        return NULL;
    if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
        return refuse(fault, 400, "The request line does not end with CRLF after its version.");
    if (!is_target_fit(head))
        return refuse(fault, 400,
            "The request target has none of the forms of RFC 9112 section 3.2 for this method, or "
            "its authority is not a plain host and port.");
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

/* RFC 9112 3.2.1 to 3.2.4. Userinfo is no authority of ours: it would be a password in a log. */
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
    const char *p, const char *end, struct hl_head *head, struct hl_head_fault *fault)
{
    p = read_version(p, end, head, fault);
    if (!p)
        return NULL;
    if (end - p < 4 || p[0] != ' ' || p[1] < '1' || p[1] > '5' ||
        !hl_byte_is(p[2], HL_BYTE_DIGIT) || !hl_byte_is(p[3], HL_BYTE_DIGIT))
        return refuse(fault, 502, "The app's status code is not a number from 100 to 599.");
    head->status = (uint16_t)((p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0'));

    /* The space before an absent reason phrase is missing often enough to be let through: nothing
     * hangs on it. */
    p += 4;
    if (p < end && *p == ' ')
        p++;
    else if (p < end && *p != '\r')
        return refuse(fault, 502, "The app's status line has no space after the status code.");
    const char *start = p;
    while (p < end && hl_byte_is(*p, HL_BYTE_FIELD))
        p++;
    head->reason = (struct hl_str){start, (size_t)(p - start)};
    if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
        return refuse(fault, 502, "The app's status line does not end with CRLF.");
    return p + 2;
}
