/* parser.c - runs llhttp over a head that our own pass has accepted, and compares what both found.
 * Thread: any; no state, no allocation. llhttp is the reader that much of the world runs: a head
 * that it frames otherwise than we do is refused, whoever is right, for somebody behind us may read
 * it its way. Nothing else is taken from it but the list of methods: it accepts too much (see
 * tests/unit/http/test_parser.c). */
#include "http/parser.h"

#include <llhttp.h>

static int on_headers_complete(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {.on_headers_complete = on_headers_complete};

static void begin(llhttp_t *parser, llhttp_type_t type)
{
    llhttp_init(parser, type, &settings);
    /* 1.2 and above read as 1.1 (RFC 9110 2.5); the version has been checked. */
    parser->lenient_flags |= LENIENT_VERSION;
}

/* True when llhttp comes to the end of the head, and exactly there. */
static bool run(llhttp_t *parser, const char *p, const char *end)
{
    return llhttp_execute(parser, p, (size_t)(end - p)) == HPE_PAUSED &&
           llhttp_get_error_pos(parser) == end;
}

static bool is_framing_the_same(const struct hl_head *head, const llhttp_t *parser)
{
    bool has_length = parser->flags & F_CONTENT_LENGTH, is_chunked = parser->flags & F_CHUNKED;
    if (has_length != head->has_content_length)
        return false;
    if (has_length && parser->content_length != head->content_length)
        return false;
    return is_chunked == (hl_head_field(head, HL_FIELD_TRANSFER_ENCODING) != NULL);
}

bool hl_parser_is_needed(const struct hl_head *head)
{
    return head->first[HL_FIELD_TRANSFER_ENCODING] >= 0;
}

enum hl_parser_verdict hl_parser_check_request(const struct hl_head *head, const char *p, size_t n)
{
    llhttp_t parser;
    begin(&parser, HTTP_REQUEST);
    const char *from = p;
    if (head->method_id == HL_METHOD_OTHER) { /* it frames like POST, which llhttp knows */
        from = head->method.p + head->method.n;
        if (llhttp_execute(&parser, "POST", 4) != HPE_OK)
            return HL_PARSER_DISAGREES;
    }
    if (!run(&parser, from, p + n))
        return HL_PARSER_DISAGREES;
    return is_framing_the_same(head, &parser) ? HL_PARSER_AGREES : HL_PARSER_DISAGREES;
}

enum hl_parser_verdict hl_parser_check_response(const struct hl_head *head, const char *p, size_t n)
{
    llhttp_t parser;
    begin(&parser, HTTP_RESPONSE);
    if (!run(&parser, p, p + n) || parser.status_code != head->status)
        return HL_PARSER_DISAGREES;
    return is_framing_the_same(head, &parser) ? HL_PARSER_AGREES : HL_PARSER_DISAGREES;
}
