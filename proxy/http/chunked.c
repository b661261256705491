/* chunked.c - a chunked body: llhttp tells sizes, data and the last chunk; our pass over what stands
 * between the data refuses what llhttp lets through, and both must see the same sizes.
 * Thread: any.
 * Owns: the trailer section, in memory, within its cap.
 * Promise: a body has one end, which no lenient reader would see elsewhere: no bare CR or LF, no
 * white space around a size, no size that overflows.
 * Extensions are ours alone: llhttp 8.1 refuses some that RFC 9112 7.1.1 allows (white space before
 * the semicolon, an escaped quote), and none goes on. */
#include "http/chunked.h"

#include "http/byte.h"
#include "http/field.h"

#define MAX_DIGITS 15
/* Bytes of extensions in one body: nobody uses them, an attacker could (RFC 9112 7.1.1). */
#define MAX_EXTENSION 4096

enum {
    STATE_SIZE,      /* before or inside the hex digits */
    STATE_BLANK,     /* white space after the digits: only an extension may follow */
    STATE_EXTENSION, /* after ';' */
    STATE_QUOTED,    /* inside a quoted string of it */
    STATE_ESCAPED,   /* after '\\' in one */
    STATE_SIZE_LF,   /* CR that ends the size line was read */
    STATE_DATA_CR,   /* the chunk is complete: CRLF must follow */
    STATE_DATA_LF,
    STATE_DATA,    /* `left` bytes of the chunk are still to come */
    STATE_TRAILER, /* after the last chunk: lines up to an empty one */
    STATE_END,
    STATE_BAD,
};

void hl_chunk_reader_init(
    struct hl_chunk_reader *r, const struct hl_parser *after_head, size_t max_trailer)
{
    r->parser = *after_head;
    hl_parser_begin_chunks(&r->parser);
    r->state = STATE_SIZE;
    r->digits = 0;
    r->extension = 0;
    r->left = 0;
    r->trailer_left = max_trailer;
    r->drops_trailer = false;
    r->fault = HL_REFUSAL_NONE;
    hl_buf_init(&r->trailer, max_trailer);
    hl_buf_init(&r->line, max_trailer);
}

void hl_chunk_reader_fini(struct hl_chunk_reader *r)
{
    hl_buf_fini(&r->trailer);
    hl_buf_fini(&r->line);
}

static void refuse(struct hl_chunk_reader *r, enum hl_refusal_cause fault)
{
    r->state = STATE_BAD;
    r->fault = fault;
}

static void take_framing(struct hl_chunk_reader *r, const char **p, size_t *n);
static void take_data(struct hl_chunk_reader *r, const char **p, size_t *n, struct hl_str *data);
static void take_trailer(struct hl_chunk_reader *r, const char **p, size_t *n);

enum hl_chunk_event hl_chunk_read(
    struct hl_chunk_reader *r, const char **p, size_t *n, struct hl_str *data)
{
    while (r->state != STATE_END && r->state != STATE_BAD) {
        if (*n == 0)
            return HL_CHUNK_MORE;
        if (r->state == STATE_DATA) {
            take_data(r, p, n, data);
            if (r->state != STATE_BAD)
                return HL_CHUNK_DATA;
        } else if (r->state == STATE_TRAILER) {
            take_trailer(r, p, n);
        } else {
            take_framing(r, p, n);
        }
    }
    return r->state == STATE_END ? HL_CHUNK_END : HL_CHUNK_BAD;
}

static void read_size(struct hl_chunk_reader *r, char c)
{
    int digit = hl_byte_hex(c);
    if (digit >= 0) {
        r->left = r->left << 4 | (uint64_t)digit;
        if (++r->digits > MAX_DIGITS)
            refuse(r, HL_REFUSAL_CHUNK_DIGITS);
        return;
    }
    if (r->digits == 0)
        refuse(r, HL_REFUSAL_CHUNK_SIZE_MISSING);
    else if (c == '\r')
        r->state = STATE_SIZE_LF;
    else if (c == ';')
        r->state = STATE_EXTENSION;
    else if (c == ' ' || c == '\t')
        r->state = STATE_BLANK;
    else
        refuse(r, HL_REFUSAL_CHUNK_SIZE_FORM);
}

static void read_extension(struct hl_chunk_reader *r, char c)
{
    if (++r->extension > MAX_EXTENSION)
        refuse(r, HL_REFUSAL_CHUNK_EXTENSIONS);
    else if (c == '\r' && r->state == STATE_EXTENSION)
        r->state = STATE_SIZE_LF;
    else if (!hl_byte_is(c, HL_BYTE_FIELD))
        refuse(r, HL_REFUSAL_CHUNK_EXTENSION_FORM);
    else if (r->state == STATE_BLANK && c == ';')
        r->state = STATE_EXTENSION;
    else if (r->state == STATE_BLANK && c != ' ' && c != '\t')
        refuse(r, HL_REFUSAL_CHUNK_SIZE_BLANK);
    else if (r->state == STATE_ESCAPED)
        r->state = STATE_QUOTED;
    else if (r->state == STATE_QUOTED && c == '\\')
        r->state = STATE_ESCAPED;
    else if (r->state != STATE_BLANK && c == '"')
        r->state = r->state == STATE_QUOTED ? STATE_EXTENSION : STATE_QUOTED;
}

static void read_syntax(struct hl_chunk_reader *r, char c)
{
    switch (r->state) {
    case STATE_SIZE:
        read_size(r, c);
        break;
    case STATE_BLANK:
    case STATE_EXTENSION:
    case STATE_QUOTED:
    case STATE_ESCAPED:
        read_extension(r, c);
        break;
    case STATE_SIZE_LF:
        if (c != '\n')
            refuse(r, HL_REFUSAL_CHUNK_SIZE_END);
        else
            r->state = r->left > 0 ? STATE_DATA : STATE_TRAILER;
        break;
    case STATE_DATA_CR:
        if (c != '\r')
            refuse(r, HL_REFUSAL_CHUNK_END);
        else
            r->state = STATE_DATA_LF;
        break;
    case STATE_DATA_LF:
        r->state = STATE_SIZE;
        if (c != '\n')
            refuse(r, HL_REFUSAL_CHUNK_END);
        r->digits = 0;
        break;
    }
}

static bool is_in_extension(const struct hl_chunk_reader *r)
{
    return r->state == STATE_BLANK || r->state == STATE_EXTENSION || r->state == STATE_QUOTED ||
           r->state == STATE_ESCAPED;
}

/* llhttp reads what our pass has let through. */
static void give_parser(struct hl_chunk_reader *r, const char *from, const char *to)
{
    if (from < to && !hl_parser_take_chunks(&r->parser, from, (size_t)(to - from)))
        refuse(r, HL_REFUSAL_CHUNKS_UNCLEAR);
}

/* Once a size line has ended, both must wait for as many bytes. */
static void compare_sizes(struct hl_chunk_reader *r)
{
    bool is_known =
        r->state == STATE_DATA || r->state == STATE_DATA_CR || r->state == STATE_TRAILER;
    if (is_known && hl_parser_chunk_left(&r->parser) != r->left)
        refuse(r, HL_REFUSAL_CHUNKS_UNCLEAR);
}

/* Up to the end of a size line at the latest. */
static void take_framing(struct hl_chunk_reader *r, const char **p, size_t *n)
{
    const char *at = *p, *end = at + *n, *from = at;
    do {
        bool was_in_extension = is_in_extension(r);
        read_syntax(r, *at);
        if (is_in_extension(r) && !was_in_extension)
            give_parser(r, from, at);
        at++;
        if (is_in_extension(r))
            from = at;
    } while (at < end && r->state < STATE_DATA);
    *n -= (size_t)(at - *p);
    *p = at;
    if (r->state == STATE_BAD)
        return;
    give_parser(r, from, at);
    compare_sizes(r);
}

static void take_data(struct hl_chunk_reader *r, const char **p, size_t *n, struct hl_str *data)
{
    size_t taken = *n < r->left ? *n : (size_t)r->left;
    *data = (struct hl_str){*p, taken};
    *p += taken;
    *n -= taken;
    r->left -= taken;
    if (r->left == 0)
        r->state = STATE_DATA_CR;
    give_parser(r, data->p, data->p + taken);
    compare_sizes(r);
}

/* One whole line, with its CRLF. */
static void read_trailer_line(struct hl_chunk_reader *r, struct hl_str line)
{
    struct hl_field field;
    if (hl_str_eq(line, HL_STR("\r\n"))) {
        r->state = STATE_END;
        return;
    }
    if (!hl_field_parse_line(line.p, line.n, &field)) {
        refuse(r, HL_REFUSAL_TRAILER_LINE);
        return;
    }
    if (!r->drops_trailer && hl_field_is_trailer_safe(&field) &&
        hl_buf_append_str(&r->trailer, line) != HL_OK)
        refuse(r, HL_REFUSAL_NO_MEMORY);
}

static void take_trailer(struct hl_chunk_reader *r, const char **p, size_t *n)
{
    const char *lf = memchr(*p, '\n', *n);
    struct hl_str part = {*p, lf ? (size_t)(lf + 1 - *p) : *n};
    *p += part.n;
    *n -= part.n;
    if (part.n > r->trailer_left) {
        refuse(r, HL_REFUSAL_TRAILER_TOO_LARGE);
        return;
    }
    r->trailer_left -= part.n;

    if (lf && r->line.n == 0) {
        read_trailer_line(r, part);
        return;
    }
    if (hl_buf_append_str(&r->line, part) != HL_OK) {
        refuse(r, HL_REFUSAL_NO_MEMORY);
        return;
    }
    if (lf) {
        read_trailer_line(r, hl_buf_str(&r->line));
        hl_buf_drop(&r->line, r->line.n);
    }
}

size_t hl_chunk_head_write(char out[HL_CHUNK_HEAD_MAX], uint64_t size)
{
    char digits[16], *p = digits + sizeof digits;
    do
        *--p = "0123456789abcdef"[size & 15];
    while ((size >>= 4) > 0);
    size_t n = (size_t)(digits + sizeof digits - p);
    memcpy(out, p, n);
    out[n] = '\r';
    out[n + 1] = '\n';
    return n + 2;
}
