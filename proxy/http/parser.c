/* parser.c - llhttp's settings, and how it is run.
 * Thread: any; no state, no allocation. Callbacks only record. Two of them are set, for each that is
 * called costs: the names tell where the lines begin, and so where the values end.
 * Not here: what is refused though llhttp takes it (tests/unit/http/test_parser.c names such
 * heads), why a head is refused (head.c). */
#include "http/parser.h"

#include "base/str.h"
#include "http/field.h"
#include "http/head.h"

static int on_name(llhttp_t *llhttp, const char *p, size_t n)
{
    struct hl_head *head = llhttp->data;
    if (head->field_count == HL_HEAD_MAX_FIELDS)
        return HPE_USER;
    head->fields[head->field_count++].name = (struct hl_str){p, n};
    return 0;
}

/* Nothing is a tunnel to llhttp: whether bytes after the head are one is decided elsewhere. */
static int on_headers_complete(llhttp_t *llhttp)
{
    llhttp->upgrade = 0;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_name, .on_headers_complete = on_headers_complete};

/* Both builds of llhttp keep the same in between: either goes on where the other has stopped. */
static llhttp_errno_t run(llhttp_t *llhttp, const char *p, size_t n)
{
#ifdef HL_LLHTTP_WIDE
    if (__builtin_cpu_supports("sse4.2"))
        return llhttp__internal_execute_wide(llhttp, p, p + n);
#endif
    return llhttp_execute(llhttp, p, n);
}

static void begin(
    struct hl_parser *parser, llhttp_type_t type, struct hl_str method, struct hl_head *head)
{
    llhttp_init(&parser->llhttp, type, &settings);
    /* 1.2 and above read as 1.1 (RFC 9110 2.5); other versions are refused by us. */
    parser->llhttp.lenient_flags = LENIENT_VERSION;
    parser->llhttp.data = head;
    head->field_count = 0;
    if (method.n > 0)
        run(&parser->llhttp, method.p, method.n);
}

static llhttp_errno_t execute(struct hl_parser *parser, const char *p, const char *end)
{
    return run(&parser->llhttp, p, (size_t)(end - p));
}

/* Where llhttp stopped at a tab behind the number of Content-Length; or NULL. RFC 9110 5.5 takes such a
 * tab off, llhttp 8.1 takes it for part of the number. */
static const char *find_tab(const struct hl_parser *parser, const char *end)
{
    const char *at = llhttp_get_error_pos(&parser->llhttp);
    bool is_number = llhttp_get_errno(&parser->llhttp) == HPE_INVALID_CONTENT_LENGTH;
    return is_number && at < end && *at == '\t' ? at : NULL;
}

/* A space in the place of all white space at `tab`. */
static llhttp_errno_t execute_past(
    struct hl_parser *parser, const char *p, const char *tab, const char *end)
{
    static const char space[] = " ";
    llhttp_errno_t err = execute(parser, p, tab);
    while (tab < end && (*tab == ' ' || *tab == '\t'))
        tab++;
    if (err == HPE_OK)
        err = execute(parser, space, space + 1);
    return err == HPE_OK ? execute(parser, tab, end) : err;
}

/* The head that `bytes` begin with; `method` stands for those up to `from`. */
static enum hl_parser_result read_head(struct hl_parser *parser, llhttp_type_t type,
    struct hl_str method, const char *from, struct hl_str bytes, struct hl_head *head, size_t *len)
{
    const char *end = bytes.p + bytes.n;
    begin(parser, type, method, head);
    llhttp_errno_t err = execute(parser, from, end);
    const char *tab = err == HPE_INVALID_CONTENT_LENGTH ? find_tab(parser, end) : NULL;
    if (tab) {
        begin(parser, type, method, head);
        err = execute_past(parser, from, tab, end);
    }
    if (err == HPE_OK)
        return HL_PARSER_PART;
    if (err != HPE_PAUSED)
        return HL_PARSER_REFUSED;
    *len = (size_t)(llhttp_get_error_pos(&parser->llhttp) - bytes.p);
    return HL_PARSER_WHOLE;
}

static const struct hl_str as_it_is = {NULL, 0};

enum hl_parser_result hl_parser_read_request(
    struct hl_parser *parser, const char *p, size_t n, struct hl_head *head, size_t *len)
{
    return read_head(parser, HTTP_REQUEST, as_it_is, p, (struct hl_str){p, n}, head, len);
}

enum hl_parser_result hl_parser_read_other_request(struct hl_parser *parser, const char *p,
    size_t method_end, size_t n, struct hl_head *head, size_t *len)
{
    return read_head(
        parser, HTTP_REQUEST, HL_STR("POST"), p + method_end, (struct hl_str){p, n}, head, len);
}

enum hl_parser_result hl_parser_read_response(
    struct hl_parser *parser, const char *p, size_t n, struct hl_head *head, size_t *len)
{
    return read_head(parser, HTTP_RESPONSE, as_it_is, p, (struct hl_str){p, n}, head, len);
}

/* Of a line alone. */
static int on_only_name(llhttp_t *llhttp, const char *p, size_t n)
{
    *(struct hl_str *)llhttp->data = (struct hl_str){p, n};
    return HPE_PAUSED;
}

bool hl_parser_read_name(const char *p, size_t n, struct hl_str *name)
{
    static const llhttp_settings_t one_name = {.on_header_field = on_only_name};
    static const char before[] = "GET / HTTP/1.1\r\n";
    llhttp_t llhttp;
    llhttp_init(&llhttp, HTTP_REQUEST, &one_name);
    llhttp.data = name;
    return run(&llhttp, before, sizeof(before) - 1) == HPE_OK && run(&llhttp, p, n) == HPE_PAUSED;
}

bool hl_parser_agrees(const struct hl_parser *parser, const struct hl_head *head)
{
    const llhttp_t *llhttp = &parser->llhttp;
    bool is_chunked = llhttp->flags & F_CHUNKED;
    if (llhttp->status_code != head->status ||
        is_chunked != (head->first[HL_FIELD_TRANSFER_ENCODING] >= 0))
        return false;
    if (!(llhttp->flags & F_CONTENT_LENGTH))
        return !head->has_content_length;
    return head->has_content_length && llhttp->content_length == head->content_length;
}

void hl_parser_begin_chunks(struct hl_parser *parser)
{
    llhttp_resume(&parser->llhttp);
}

bool hl_parser_take_chunks(struct hl_parser *parser, const char *p, size_t n)
{
    return run(&parser->llhttp, p, n) == HPE_OK;
}
