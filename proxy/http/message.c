/* message.c - messages from bytes that come in any pieces.
 * Thread: the owner's.
 * Owns: the place in the present message; its trailer section.
 * Promise: each byte is looked at a bounded number of times, however it comes; a whole head in one
 * piece is run through llhttp once.
 * Not here: what makes a head good (head.c), the chunked coding (chunked.c). */
#include "http/message.h"

void hl_message_reader_init(struct hl_message_reader *r, const struct hl_message_rules *rules)
{
    r->rules = rules;
    r->scanned = r->head_n = 0;
    r->framing = HL_FRAMING_NONE;
    r->left = 0;
    hl_buf_init(&r->chunks.trailer, 0);
    hl_buf_init(&r->chunks.line, 0);
}

void hl_message_reader_fini(struct hl_message_reader *r)
{
    hl_message_next(r);
}

void hl_message_next(struct hl_message_reader *r)
{
    if (r->framing == HL_FRAMING_CHUNKED)
        hl_chunk_reader_fini(&r->chunks);
    r->framing = HL_FRAMING_NONE;
    r->left = 0;
    r->scanned = 0;
}

static enum hl_message_event refuse(struct hl_head_fault *fault, const struct hl_head_fault *why)
{
    *fault = *why;
    return HL_MESSAGE_FAULT;
}

/* The head of which llhttp has not found a good end: looks for any. MORE: there is none yet; HEAD: the
 * first r->head_n bytes are one, good or not. */
static enum hl_message_event find_end(
    struct hl_message_reader *r, struct hl_str bytes, struct hl_head_fault *fault)
{
    size_t n = bytes.n;
    enum hl_head_end end = hl_head_find_end(bytes.p, bytes.n, &r->scanned, &n);
    r->head_n = 0;
    if (end == HL_HEAD_END_BAD)
        return refuse(fault, &r->rules->no_head);
    if (n > r->rules->max_head)
        return refuse(fault, &r->rules->head_too_large);
    if (end == HL_HEAD_END_MISSING)
        return HL_MESSAGE_MORE;
    r->head_n = n;
    return HL_MESSAGE_HEAD;
}

/* The body that `head`, which `parser` has read, announces comes next. */
static enum hl_message_event begin_body(struct hl_message_reader *r, struct hl_str *bytes,
    const struct hl_head *head, const struct hl_parser *parser)
{
    bytes->p += r->head_n;
    bytes->n -= r->head_n;
    r->scanned = 0;
    r->framing = head->framing;
    r->left = head->framing == HL_FRAMING_LENGTH ? head->content_length : 0;
    if (head->framing == HL_FRAMING_CHUNKED) {
        hl_chunk_reader_init(&r->chunks, parser, r->rules->max_trailer);
        r->chunks.drops_trailer = head->nominates_fields;
    }
    return HL_MESSAGE_HEAD;
}

enum hl_message_event hl_message_read_request(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_head *head, struct hl_head_fault *fault)
{
    struct hl_parser parser;
    bool is_new = r->scanned == 0;
    if (is_new && hl_head_take_request(head, &parser, bytes->p, bytes->n, &r->head_n)) {
        if (r->head_n <= r->rules->max_head)
            return begin_body(r, bytes, head, &parser);
    }
    enum hl_message_event event = find_end(r, *bytes, fault);
    if (event != HL_MESSAGE_HEAD)
        return event;
    size_t n;
    if (!is_new && hl_head_take_request(head, &parser, bytes->p, r->head_n, &n) && n == r->head_n)
        return begin_body(r, bytes, head, &parser);
    hl_head_explain_request(head, bytes->p, r->head_n, fault);
    return HL_MESSAGE_FAULT;
}

enum hl_message_event hl_message_read_response(struct hl_message_reader *r, struct hl_str *bytes,
    enum hl_method method, bool is_websocket, struct hl_head *head, struct hl_head_fault *fault)
{
    struct hl_parser parser;
    bool is_new = r->scanned == 0;
    if (is_new && hl_head_take_response(
                      head, &parser, bytes->p, bytes->n, method, is_websocket, &r->head_n)) {
        if (r->head_n <= r->rules->max_head)
            return begin_body(r, bytes, head, &parser);
    }
    enum hl_message_event event = find_end(r, *bytes, fault);
    if (event != HL_MESSAGE_HEAD)
        return event;
    size_t n;
    if (!is_new &&
        hl_head_take_response(head, &parser, bytes->p, r->head_n, method, is_websocket, &n) &&
        n == r->head_n)
        return begin_body(r, bytes, head, &parser);
    hl_head_explain_response(head, bytes->p, r->head_n, method, is_websocket, fault);
    return HL_MESSAGE_FAULT;
}

static enum hl_message_event read_chunks(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_str *data, struct hl_head_fault *fault)
{
    switch (hl_chunk_read(&r->chunks, &bytes->p, &bytes->n, data)) {
    case HL_CHUNK_MORE:
        return HL_MESSAGE_MORE;
    case HL_CHUNK_DATA:
        return HL_MESSAGE_DATA;
    case HL_CHUNK_END:
        return HL_MESSAGE_END;
    case HL_CHUNK_BAD:
        break;
    }
    *fault = (struct hl_head_fault){r->rules->no_head.status, r->chunks.fault};
    return HL_MESSAGE_FAULT;
}

enum hl_message_event hl_message_read_body(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_str *data, struct hl_head_fault *fault)
{
    if (r->framing == HL_FRAMING_CHUNKED)
        return read_chunks(r, bytes, data, fault);
    bool has_length = r->framing == HL_FRAMING_LENGTH;
    if (r->framing == HL_FRAMING_NONE || (has_length && r->left == 0))
        return HL_MESSAGE_END;
    if (bytes->n == 0)
        return HL_MESSAGE_MORE;
    *data = *bytes;
    if (has_length && data->n > r->left)
        data->n = (size_t)r->left;
    if (has_length)
        r->left -= data->n;
    bytes->p += data->n;
    bytes->n -= data->n;
    return HL_MESSAGE_DATA;
}
