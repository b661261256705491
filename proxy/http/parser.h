/* parser.h - llhttp, which reads every head and every chunked body. What it accepts is more than may
 * go on: who calls it judges what it found (head.c, chunked.c). */
#ifndef HL_HTTP_PARSER_H
#define HL_HTTP_PARSER_H

#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct hl_head;
struct hl_str;

struct hl_parser {
    llhttp_t llhttp;
};

#ifdef HL_LLHTTP_WIDE
/* llhttp_execute, built for processors with SSE4.2 (CMakeLists.txt). */
int llhttp__internal_execute_wide(llhttp_t *llhttp, const char *p, const char *end);
#endif

enum hl_parser_result {
    HL_PARSER_WHOLE,   /* the head ends at `*len` */
    HL_PARSER_PART,    /* good so far, and not whole */
    HL_PARSER_REFUSED, /* for whatever reason */
};

/* Read the head that p[0..n) begins with. They set head->field_count and the names of head->fields:
 * where llhttp saw the fields, and nothing else of them; more fields than fit are refused. After
 * WHOLE, `parser` may go on with a chunked body. */

enum hl_parser_result hl_parser_read_request(
    struct hl_parser *parser, const char *p, size_t n, struct hl_head *head, size_t *len);
/* A method that llhttp does not know, of `method_end` bytes with what stands before it: is read as
 * POST, which frames as any other does. */
enum hl_parser_result hl_parser_read_other_request(struct hl_parser *parser, const char *p,
    size_t method_end, size_t n, struct hl_head *head, size_t *len);
enum hl_parser_result hl_parser_read_response(
    struct hl_parser *parser, const char *p, size_t n, struct hl_head *head, size_t *len);

/* Where llhttp sees the name of the field line p[0..n), which is not looked at any further; false:
 * it sees none. */
HL_MUST_CHECK bool hl_parser_read_name(const char *p, size_t n, struct hl_str *name);

/* Whether `head`, as we have read it, says the same as what llhttp has read: the status, and how the
 * body is framed. After WHOLE. */
HL_MUST_CHECK bool hl_parser_agrees(const struct hl_parser *parser, const struct hl_head *head);

/* ---- chunked bodies: after WHOLE of a head that announces one ---- */

void hl_parser_begin_chunks(struct hl_parser *parser);
/* The next bytes of the body. False: refused. */
HL_MUST_CHECK bool hl_parser_take_chunks(struct hl_parser *parser, const char *p, size_t n);
/* After the line of a chunk's size: how many bytes of the chunk are still to come. */
static inline uint64_t hl_parser_chunk_left(const struct hl_parser *parser)
{
    return parser->llhttp.content_length;
}

#endif
