/* head.c - a message's head, which llhttp has cut, is judged.
 * Thread: any; no state, no allocation.
 * Promise: a head that passed can be framed in one way only, and each of its lines may be sent on
 * as it stands: llhttp and our strict pass over what it has cut agree on all of it. The parts stand
 * in files of their own: parser.c (llhttp), start_line.c, field.c, framing.c (with Connection and the like).
 * Not here: heads that come in pieces (message.c). */
#include "http/head.h"

#include "base/compiler.h"
#include "http/byte.h"
#include "http/framing.h"
#include "http/parser.h"
#include "http/refusal.h"
#include "http/start_line.h"
#include "http/url.h"

#define MAX_EMPTY_LINES 4 /* before a request line (RFC 9112 2.2) */

/* The length of the whole empty lines that p[0..n) begins with. */
static size_t leading_empty_lines(const char *p, size_t n)
{
    size_t at = 0;
    while (n - at >= 2 && p[at] == '\r' && p[at + 1] == '\n')
        at += 2;
    return at;
}

/* What the LF at `lf` says: it ends a line, the head, or nothing that may be. A line stands before
 * it. */
static enum hl_head_end judge_line_feed(const char *lf)
{
    if (lf[-1] != '\r')
        return HL_HEAD_END_BAD;
    return lf[-2] == '\n' ? HL_HEAD_END_FOUND : HL_HEAD_END_MISSING;
}

/* The first LF from `*at` on that ends the head or spoils it; `*at` is then after it. */
static enum hl_head_end find_line_feed(const char *p, size_t n, size_t *at)
{
    for (; n - *at >= HL_BLOCK; *at += HL_BLOCK) {
        unsigned mask = hl_block_mask((hl_block)(hl_block_load(p + *at) == '\n'));
        for (; mask; mask &= mask - 1) {
            size_t i = *at + (unsigned)__builtin_ctz(mask);
            enum hl_head_end end = judge_line_feed(p + i);
            if (end != HL_HEAD_END_MISSING) {
                *at = i + 1;
                return end;
            }
        }
    }
    while (*at < n) {
        if (p[(*at)++] != '\n')
            continue;
        enum hl_head_end end = judge_line_feed(p + *at - 1);
        if (end != HL_HEAD_END_MISSING)
            return end;
    }
    return HL_HEAD_END_MISSING;
}

enum hl_head_end hl_head_find_end(const char *p, size_t n, size_t *scanned, size_t *head_len)
{
    size_t start = leading_empty_lines(p, n);
    if (start > 2 * MAX_EMPTY_LINES)
        return HL_HEAD_END_BAD;
    if (start == n || (n - start == 1 && p[start] == '\r'))
        return HL_HEAD_END_MISSING;
    if (!hl_byte_is(p[start], HL_BYTE_TOKEN))
        return HL_HEAD_END_BAD;

    if (*scanned < start)
        *scanned = start;
    enum hl_head_end end = find_line_feed(p, n, scanned);
    if (end == HL_HEAD_END_FOUND)
        *head_len = *scanned;
    return end;
}

enum hl_method hl_head_peek_method(struct hl_str bytes)
{
    size_t start = leading_empty_lines(bytes.p, bytes.n), end = start;
    while (end < bytes.n && hl_byte_is(bytes.p[end], HL_BYTE_TOKEN))
        end++;
    if (end == bytes.n || bytes.p[end] != ' ')
        return HL_METHOD_OTHER;
    return hl_method_lookup((struct hl_str){bytes.p + start, end - start});
}

static void clear(struct hl_head *head)
{
    memset(head, 0, offsetof(struct hl_head, fields));
    memset(head->first, 0xff, sizeof head->first);
}

static void index_field(struct hl_head *head, size_t i)
{
    unsigned id = head->fields[i].id;
    if (head->first[id] < 0)
        head->first[id] = (int16_t)i;
    else
        head->repeated |= UINT64_C(1) << id;
}

/* The fields that llhttp has named are the lines at p, without a gap, and an empty line that ends at
 * `end`; each is as it should be. */
static bool read_fields(struct hl_head *head, const char *p, const char *end)
{
    if (end[-1] != '\n')
        return false;
    p = hl_field_read_lines(head->fields, head->field_count, p, end);
    if (!p || end - p != 2 || p[0] != '\r')
        return false;
    for (size_t i = 0; i < head->field_count; i++)
        index_field(head, i);
    return true;
}

/* The same, one by one, past what llhttp refuses for its meaning: to say what is wrong first. */
static bool read_each_field(
    struct hl_head *head, const char *p, const char *end, struct hl_refusal *fault)
{
    head->field_count = 0;
    for (const char *lf; p < end && *p != '\r'; p = lf + 1) {
        if (head->field_count == HL_HEAD_MAX_FIELDS)
            return hl_refuse(fault, HL_REFUSAL_FIELD_COUNT);
        size_t i = head->field_count++;
        lf = memchr(p, '\n', (size_t)(end - p));
        if (!lf || !hl_field_parse_line(p, (size_t)(lf + 1 - p), &head->fields[i]))
            return hl_refuse(fault, HL_REFUSAL_FIELD_LINE);
        index_field(head, i);
    }
    if (end - p != 2 || p[0] != '\r' || p[1] != '\n')
        return hl_refuse(fault, HL_REFUSAL_HEAD_END);
    return true;
}

static bool read_host(struct hl_head *head, struct hl_refusal *fault);
static bool fits_upgrade(struct hl_head *head, struct hl_refusal *fault);
/* What the start line and the fields say together. */
static bool judge_request(struct hl_head *head, struct hl_refusal *fault)
{
    return read_host(head, fault) && hl_hop_read(head, fault) &&
           hl_hop_read_max_forwards(head, fault) && hl_framing_read_request(head, fault) &&
           hl_hop_read_expect(head, fault) && fits_upgrade(head, fault);
}

/* llhttp knows some methods, a few of them with versions of their own; any token is one (RFC 9110
 * 9.1). */
static enum hl_parser_result run_parser(
    struct hl_head *head, struct hl_parser *parser, const char *p, size_t n, size_t *len)
{
    enum hl_parser_result result = hl_parser_read_request(parser, p, n, head, len);
    if (result == HL_PARSER_WHOLE)
        return result;
    size_t start = leading_empty_lines(p, n), end = start;
    while (end < n && hl_byte_is(p[end], HL_BYTE_TOKEN))
        end++;
    if (hl_method_lookup((struct hl_str){p + start, end - start}) != HL_METHOD_OTHER)
        return result;
    return hl_parser_read_other_request(parser, p, end, n, head, len);
}

bool hl_head_take_request(
    struct hl_head *head, struct hl_parser *parser, const char *p, size_t n, size_t *len)
{
    struct hl_refusal fault;
    clear(head);
    if (run_parser(head, parser, p, n, len) != HL_PARSER_WHOLE)
        return false;
    const char *end = p + *len, *line = p + leading_empty_lines(p, n);
    if (line - p > 2 * MAX_EMPTY_LINES)
        return false;
    line = hl_start_line_read_request(line, end, head, &fault);
    return line && read_fields(head, line, end) && judge_request(head, &fault) &&
           hl_parser_agrees(parser, head);
}

void hl_head_explain_request(
    struct hl_head *head, const char *p, size_t n, struct hl_refusal *fault)
{
    clear(head);
    const char *line =
        hl_start_line_read_request(p + leading_empty_lines(p, n), p + n, head, fault);
    if (line && read_each_field(head, line, p + n, fault) && judge_request(head, fault))
        hl_refuse(fault, HL_REFUSAL_HEAD_UNCLEAR);
}

bool hl_head_parse_request(struct hl_head *head, const char *p, size_t n, struct hl_refusal *fault)
{
    struct hl_parser parser;
    size_t len;
    if (hl_head_take_request(head, &parser, p, n, &len) && len == n)
        return true;
    hl_head_explain_request(head, p, n, fault);
    return false;
}

/* RFC 9112 3.2. The field must be right even where the target's authority wins over it. */
static bool read_host(struct hl_head *head, struct hl_refusal *fault)
{
    const struct hl_field *field = hl_head_field(head, HL_FIELD_HOST);
    struct hl_authority authority;
    if (!field)
        return head->minor == 0 || hl_refuse(fault, HL_REFUSAL_HOST_MISSING);
    if (hl_head_field_count(head, HL_FIELD_HOST) > 1)
        return hl_refuse(fault, HL_REFUSAL_HOST_TWICE);
    if (!hl_authority_parse(field->value, &authority))
        return hl_refuse(fault, HL_REFUSAL_HOST_FORM);
    if (head->host.n == 0)
        head->host = field->value;
    return true;
}

/* An upgrade is a GET without a body: bytes after the head belong to the new protocol (RFC
 * 6455 4.1). */
static bool fits_upgrade(struct hl_head *head, struct hl_refusal *fault)
{
    head->is_websocket_upgrade &= head->method_id == HL_METHOD_GET;
    if (!head->is_websocket_upgrade)
        return true;
    if (head->framing == HL_FRAMING_CHUNKED || head->content_length > 0)
        return hl_refuse(fault, HL_REFUSAL_UPGRADE_BODY);
    head->framing = HL_FRAMING_NONE;
    return true;
}

static bool judge_response(struct hl_head *head, enum hl_method request_method,
    bool is_websocket_request, struct hl_refusal *fault)
{
    if (!hl_hop_read(head, fault) || !hl_framing_read_response(head, request_method, fault))
        return false;
    head->is_websocket_upgrade &= head->status == 101 && is_websocket_request;
    return head->status != 101 || head->is_websocket_upgrade ||
           hl_refuse(fault, HL_REFUSAL_APP_SWITCHED);
}

bool hl_head_take_response(struct hl_head *head, struct hl_parser *parser, const char *p, size_t n,
    enum hl_method request_method, bool is_websocket_request, size_t *len)
{
    struct hl_refusal fault;
    clear(head);
    if (hl_parser_read_response(parser, p, n, head, len) != HL_PARSER_WHOLE)
        return false;
    const char *line = hl_start_line_read_status(p, p + *len, head, &fault);
    return line && read_fields(head, line, p + *len) &&
           judge_response(head, request_method, is_websocket_request, &fault) &&
           hl_parser_agrees(parser, head);
}

/* What is wrong in both kinds of heads was put into words for the caller, of his own. */
static void say_of_app(struct hl_refusal *fault)
{
    static const enum hl_refusal_cause pairs[][2] = {
        {HL_REFUSAL_VERSION_MISSING, HL_REFUSAL_APP_VERSION},
        {HL_REFUSAL_VERSION_OTHER, HL_REFUSAL_APP_VERSION},
        {HL_REFUSAL_FIELD_COUNT, HL_REFUSAL_APP_FIELD_COUNT},
        {HL_REFUSAL_FIELD_LINE, HL_REFUSAL_APP_FIELD_LINE},
        {HL_REFUSAL_HEAD_END, HL_REFUSAL_APP_HEAD_END},
        {HL_REFUSAL_HEAD_UNCLEAR, HL_REFUSAL_APP_HEAD_UNCLEAR},
        {HL_REFUSAL_CONNECTION_FORM, HL_REFUSAL_APP_CONNECTION_FORM},
        {HL_REFUSAL_LENGTH_TWICE, HL_REFUSAL_APP_LENGTH_TWICE},
        {HL_REFUSAL_LENGTH_FORM, HL_REFUSAL_APP_LENGTH_FORM},
        {HL_REFUSAL_CODING_VERSION, HL_REFUSAL_APP_CODING_VERSION},
        {HL_REFUSAL_CODING_AND_LENGTH, HL_REFUSAL_APP_CODING_AND_LENGTH},
        {HL_REFUSAL_CODING_TWICE, HL_REFUSAL_APP_CODING_TWICE},
        {HL_REFUSAL_CODING_FORM, HL_REFUSAL_APP_CODING_FORM},
        {HL_REFUSAL_CODING_EMPTY, HL_REFUSAL_APP_CODING_EMPTY},
        {HL_REFUSAL_CODING_OTHER, HL_REFUSAL_APP_CODING_OTHER}};
    for (size_t i = 0; i < HL_ARRAY_LEN(pairs); i++)
        if (fault->cause == hl_refusals[pairs[i][0]].cause)
            hl_refuse(fault, pairs[i][1]);
    fault->status = 502; /* an app's bad head is a bad gateway */
}

void hl_head_explain_response(struct hl_head *head, const char *p, size_t n,
    enum hl_method request_method, bool is_websocket_request, struct hl_refusal *fault)
{
    clear(head);
    const char *line = hl_start_line_read_status(p, p + n, head, fault);
    if (line && read_each_field(head, line, p + n, fault) &&
        judge_response(head, request_method, is_websocket_request, fault))
        hl_refuse(fault, HL_REFUSAL_HEAD_UNCLEAR);
    say_of_app(fault);
}

bool hl_head_parse_response(struct hl_head *head, const char *p, size_t n,
    enum hl_method request_method, bool is_websocket_request, struct hl_refusal *fault)
{
    struct hl_parser parser;
    size_t len;
    if (hl_head_take_response(head, &parser, p, n, request_method, is_websocket_request, &len) &&
        len == n)
        return true;
    hl_head_explain_response(head, p, n, request_method, is_websocket_request, fault);
    return false;
}

const struct hl_field *hl_head_find(const struct hl_head *head, struct hl_str name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (hl_str_eq_nocase(head->fields[i].name, name))
            return &head->fields[i];
    return NULL;
}

bool hl_method_is_idempotent(enum hl_method method)
{
    switch (method) {
    case HL_METHOD_GET:
    case HL_METHOD_HEAD:
    case HL_METHOD_PUT:
    case HL_METHOD_DELETE:
    case HL_METHOD_OPTIONS:
    case HL_METHOD_TRACE:
        return true;
    default:
        return false;
    }
}
