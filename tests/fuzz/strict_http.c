/* strict_http.c - the independent reader. Each function reads one rule of the grammar and stops at
 * the first byte that is not of it. */
#include "strict_http.h"

#include <stdlib.h>

#include "strict_grammar.h"

#define MAX_EMPTY_LINES 4

struct cursor {
    const char *p, *end;
};

static enum strict_result bad(struct strict_message *m, const char *why)
{
    m->why = why;
    return STRICT_BAD;
}

/* ---- lines ---- */

/* Up to CRLF, without it. No CR, LF or NUL stands in a line. */
static enum strict_result take_line(struct strict_message *m, struct cursor *c, struct hl_str *line)
{
    const char *start = c->p;
    for (const char *p = start; p < c->end; p++) {
        if (*p == '\0')
            return bad(m, "a NUL");
        if (*p == '\n')
            return bad(m, "a bare LF");
        if (*p != '\r')
            continue;
        if (p + 1 == c->end)
            return STRICT_PARTIAL;
        if (p[1] != '\n')
            return bad(m, "a bare CR");
        *line = (struct hl_str){start, (size_t)(p - start)};
        c->p = p + 2;
        return STRICT_WHOLE;
    }
    return STRICT_PARTIAL;
}

static enum strict_result read_field(
    struct strict_message *m, struct strict_fields *fields, struct hl_str line)
{
    size_t name_n = 0;
    while (name_n < line.n && line.p[name_n] != ':')
        name_n++;
    struct hl_str name = {line.p, name_n};
    if (name_n == line.n || name_n == 0 || !strict_all(name, strict_is_token))
        return bad(m, "a field line that is no token and a colon");
    struct hl_str value = {line.p + name_n + 1, line.n - name_n - 1};
    if (!strict_all(value, strict_is_value))
        return bad(m, "a field value with a control");
    if (fields->n == STRICT_MAX_FIELDS)
        return bad(m, "too many fields for this reader");
    fields->items[fields->n++] = (struct strict_field){name, strict_trimmed(value)};
    return STRICT_WHOLE;
}

/* Up to the empty line. */
static enum strict_result read_fields(
    struct strict_message *m, struct strict_fields *fields, struct cursor *c)
{
    struct hl_str line;
    for (;;) {
        enum strict_result result = take_line(m, c, &line);
        if (result != STRICT_WHOLE || line.n == 0)
            return result;
        result = read_field(m, fields, line);
        if (result != STRICT_WHOLE)
            return result;
    }
}

/* ---- start lines ---- */

/* "HTTP/1.x" at the end of a request line, at the beginning of a status line. */
static bool read_version(struct strict_message *m, struct hl_str text, enum strict_origin origin)
{
    struct hl_str name = {text.p, 7};
    if (text.n != 8 || !strict_same(name, HL_STR("HTTP/1.")) || !strict_is_digit(text.p[7]))
        return false;
    m->minor = (unsigned)(text.p[7] - '0');
    return origin == STRICT_PEER || m->minor == 1;
}

static enum strict_result read_request_line(
    struct strict_message *m, struct hl_str line, enum strict_origin origin)
{
    const char *first = memchr(line.p, ' ', line.n);
    const char *last = memrchr(line.p, ' ', line.n);
    if (!first || first == last)
        return bad(m, "a request line without two SP");
    m->method = (struct hl_str){line.p, (size_t)(first - line.p)};
    m->target = (struct hl_str){first + 1, (size_t)(last - first - 1)};
    struct hl_str version = {last + 1, (size_t)(line.p + line.n - last - 1)};
    if (m->method.n == 0 || !strict_all(m->method, strict_is_token))
        return bad(m, "a method that is no token");
    if (m->target.n == 0 || !strict_all(m->target, strict_is_target_byte))
        return bad(m, "a target with a byte that may not stand there");
    if (!strict_is_target_of(m->target, m->method))
        return bad(m, "a target of a form that does not fit the method");
    return read_version(m, version, origin) ? STRICT_WHOLE : bad(m, "a version other than 1.1");
}

static enum strict_result read_status_line(
    struct strict_message *m, struct hl_str line, enum strict_origin origin)
{
    if (line.n < 12 || !read_version(m, (struct hl_str){line.p, 8}, origin) || line.p[8] != ' ' ||
        !strict_all((struct hl_str){line.p + 9, 3}, strict_is_digit))
        return bad(m, "a status line that does not begin with version and code");
    m->status = (unsigned)((line.p[9] - '0') * 100 + (line.p[10] - '0') * 10 + line.p[11] - '0');
    if (m->status < 100 || m->status > 599)
        return bad(m, "a status code that is none");
    if (line.n == 12)
        return origin == STRICT_PEER ? STRICT_WHOLE : bad(m, "no SP after the status code");
    m->reason = (struct hl_str){line.p + 13, line.n - 13};
    if (line.p[12] != ' ' || !strict_all(m->reason, strict_is_value))
        return bad(m, "a reason phrase with a control");
    return STRICT_WHOLE;
}

/* ---- framing, RFC 9112 6 ---- */

static enum strict_result read_framing_fields(struct strict_message *m, bool *is_chunked)
{
    size_t lengths = strict_count(&m->fields, "content-length");
    size_t codings = strict_count(&m->fields, "transfer-encoding");
    *is_chunked = codings == 1;
    m->has_length = lengths == 1;
    if (lengths + codings > 1)
        return bad(m, "more than one field that frames the body");
    if (*is_chunked &&
        (m->minor == 0 ||
            !strict_same_nocase(strict_value(&m->fields, "transfer-encoding"), HL_STR("chunked"))))
        return bad(m, "a transfer coding other than chunked, or in HTTP/1.0");
    struct hl_str digits = strict_value(&m->fields, "content-length");
    if (m->has_length && (digits.n == 0 || !strict_all(digits, strict_is_digit)))
        return bad(m, "a Content-Length that is no number");
    for (size_t i = 0; i < digits.n; i++) {
        uint64_t digit = (uint64_t)(digits.p[i] - '0');
        if (m->length > (INT64_MAX - digit) / 10)
            return bad(m, "a Content-Length that overflows");
        m->length = m->length * 10 + digit;
    }
    return STRICT_WHOLE;
}

/* A size line: hex digits, and from peers an extension without controls, its quotes closed. */
static bool read_chunk_size(struct hl_str line, enum strict_origin origin, uint64_t *size)
{
    size_t n = 0;
    *size = 0;
    while (n < line.n && strict_is_hex(line.p[n])) {
        char c = strict_folded(line.p[n++]);
        *size = *size << 4 | (uint64_t)(strict_is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    if (n == 0 || n > 15)
        return false;
    struct hl_str rest = {line.p + n, line.n - n}, after_blanks = strict_trimmed(rest);
    if (rest.n == 0)
        return true;
    if (origin == STRICT_OURS || after_blanks.n == 0 || after_blanks.p[0] != ';')
        return false;
    bool is_quoted = false;
    for (size_t i = 0; i < rest.n; i++) {
        if (!strict_is_value(rest.p[i]))
            return false;
        if (is_quoted && rest.p[i] == '\\' && i + 1 < rest.n)
            i++;
        else if (rest.p[i] == '"')
            is_quoted = !is_quoted;
    }
    return !is_quoted;
}

static enum strict_result read_chunks(
    struct strict_message *m, struct cursor *c, enum strict_origin origin)
{
    struct hl_str line;
    m->decoded = malloc((size_t)(c->end - c->p) + 1);
    if (!m->decoded)
        abort();
    m->body.p = m->decoded;
    for (;;) {
        uint64_t size;
        enum strict_result result = take_line(m, c, &line);
        if (result != STRICT_WHOLE)
            return result;
        if (!read_chunk_size(line, origin, &size))
            return bad(m, "a chunk size that is none");
        if (size == 0)
            return read_fields(m, &m->trailers, c);
        size_t here = (uint64_t)(c->end - c->p) < size ? (size_t)(c->end - c->p) : (size_t)size;
        memcpy(m->decoded + m->body.n, c->p, here);
        m->body.n += here;
        c->p += here;
        if (here < size || c->p == c->end)
            return STRICT_PARTIAL;
        if (*c->p != '\r' || (c->end - c->p > 1 && c->p[1] != '\n'))
            return bad(m, "no CRLF after a chunk");
        if (c->end - c->p == 1)
            return STRICT_PARTIAL;
        c->p += 2;
    }
}

static enum strict_result read_body(
    struct strict_message *m, struct cursor *c, bool is_end, enum strict_origin origin)
{
    size_t left = (size_t)(c->end - c->p);
    m->body = (struct hl_str){c->p, 0};
    switch (m->framing) {
    case STRICT_NONE:
        return STRICT_WHOLE;
    case STRICT_LENGTH:
        m->body.n = m->length < left ? (size_t)m->length : left;
        c->p += m->body.n;
        return m->body.n == m->length ? STRICT_WHOLE : STRICT_PARTIAL;
    case STRICT_UNTIL_CLOSE:
        m->body.n = left;
        c->p = c->end;
        return is_end ? STRICT_WHOLE : STRICT_PARTIAL;
    case STRICT_CHUNKED:
        return read_chunks(m, c, origin);
    }
    abort();
}

/* ---- messages ---- */

static void begin(struct strict_message *m)
{
    m->method = m->target = m->reason = m->body = (struct hl_str){"", 0};
    m->status = m->minor = 0;
    m->fields.n = m->trailers.n = 0;
    m->has_head = m->has_length = false;
    m->framing = STRICT_NONE;
    m->length = 0;
    m->head_size = m->size = 0;
    m->why = "";
    m->decoded = NULL;
}

static enum strict_result end(struct strict_message *m, struct cursor *c, const char *start,
    bool is_end, enum strict_origin origin)
{
    m->has_head = true;
    m->head_size = (size_t)(c->p - start);
    enum strict_result result = read_body(m, c, is_end, origin);
    if (result == STRICT_PARTIAL)
        c->p = c->end; /* half a line belongs to it as well */
    m->size = (size_t)(c->p - start);
    return result;
}

static void skip_empty_lines(struct cursor *c)
{
    for (int i = 0; i < MAX_EMPTY_LINES && c->end - c->p >= 2; i++)
        if (c->p[0] == '\r' && c->p[1] == '\n')
            c->p += 2;
}

static bool has_right_host(const struct strict_message *m)
{
    size_t hosts = strict_count(&m->fields, "host");
    struct hl_str host = strict_value(&m->fields, "host");
    if (hosts == 0)
        return m->minor == 0;
    return hosts == 1 && (host.n == 0 || strict_is_authority(host));
}

enum strict_result strict_read_request(
    struct strict_message *m, struct hl_str bytes, enum strict_origin origin)
{
    struct cursor c = {bytes.p, bytes.p + bytes.n};
    struct hl_str line;
    bool is_chunked;
    begin(m);
    if (origin == STRICT_PEER)
        skip_empty_lines(&c);
    enum strict_result result = take_line(m, &c, &line);
    if (result == STRICT_WHOLE)
        result = read_request_line(m, line, origin);
    if (result == STRICT_WHOLE)
        result = read_fields(m, &m->fields, &c);
    if (result == STRICT_WHOLE && !has_right_host(m))
        result = bad(m, "not one valid Host");
    if (result == STRICT_WHOLE)
        result = read_framing_fields(m, &is_chunked);
    if (result != STRICT_WHOLE)
        return result;
    m->framing = is_chunked ? STRICT_CHUNKED : m->has_length ? STRICT_LENGTH : STRICT_NONE;
    return end(m, &c, bytes.p, false, origin);
}

enum strict_result strict_read_response(struct strict_message *m, struct hl_str bytes, bool is_end,
    struct hl_str request_method, enum strict_origin origin)
{
    struct cursor c = {bytes.p, bytes.p + bytes.n};
    struct hl_str line;
    bool is_chunked;
    begin(m);
    enum strict_result result = take_line(m, &c, &line);
    if (result == STRICT_WHOLE)
        result = read_status_line(m, line, origin);
    if (result == STRICT_WHOLE)
        result = read_fields(m, &m->fields, &c);
    if (result == STRICT_WHOLE)
        result = read_framing_fields(m, &is_chunked);
    if (result != STRICT_WHOLE)
        return result;
    if (origin == STRICT_OURS && (m->status < 200 || m->status == 204) &&
        (m->has_length || is_chunked))
        return bad(m, "a body is announced where none can be");
    if (m->status < 200 || m->status == 204 || m->status == 304 ||
        strict_same(request_method, HL_STR("HEAD")))
        m->framing = STRICT_NONE;
    else
        m->framing = is_chunked      ? STRICT_CHUNKED
                     : m->has_length ? STRICT_LENGTH
                                     : STRICT_UNTIL_CLOSE;
    return end(m, &c, bytes.p, is_end, origin);
}

void strict_fini(struct strict_message *m)
{
    free(m->decoded);
    m->decoded = NULL;
}

/* ---- fields ---- */

const struct strict_field *strict_next(
    const struct strict_fields *fields, const char *name, size_t *i)
{
    while (*i < fields->n)
        if (strict_same_nocase(fields->items[(*i)++].name, hl_str_from(name)))
            return &fields->items[*i - 1];
    return NULL;
}

size_t strict_count(const struct strict_fields *fields, const char *name)
{
    size_t count = 0, i = 0;
    while (strict_next(fields, name, &i))
        count++;
    return count;
}

struct hl_str strict_value(const struct strict_fields *fields, const char *name)
{
    size_t i = 0;
    const struct strict_field *field = strict_next(fields, name, &i);
    return field ? field->value : (struct hl_str){"", 0};
}

bool strict_lists(const struct strict_fields *fields, const char *name, struct hl_str element)
{
    const struct strict_field *field;
    for (size_t i = 0; (field = strict_next(fields, name, &i));) {
        const char *p = field->value.p, *end = p + field->value.n;
        while (p < end) {
            const char *start = p;
            while (p < end && *p != ',')
                p++;
            if (strict_same_nocase(
                    strict_trimmed((struct hl_str){start, (size_t)(p - start)}), element))
                return true;
            p++;
        }
    }
    return false;
}
