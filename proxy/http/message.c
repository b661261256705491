/* message.c - messages from bytes that come in any pieces.
 * Thread: the owner's.
 * Owns: the place in the present message; its trailer section.
 * Promise: each byte is looked at a bounded number of times, however it comes; a whole head in one
 * piece is run through llhttp once.
 * Not here: what makes a head good (head.c), the chunked coding (chunked.c). */
#include "http/message.h"

#include <stdlib.h>

#include "base/assert.h"

void hl_message_reader_init(struct hl_message_reader *r, const struct hl_message_rules *rules)
{
    HL_ASSERT(rules->no_head && rules->head_too_large);
    r->rules = rules;
    r->scanned = r->head_n = 0;
    r->framing = HL_FRAMING_NONE;
    r->left = 0;
    r->chunks = NULL;
}

void hl_message_reader_fini(struct hl_message_reader *r)
{
    hl_message_next(r);
}

void hl_message_next(struct hl_message_reader *r)
{
    if (r->chunks) {
        hl_chunk_reader_fini(r->chunks);
        free(r->chunks);
        r->chunks = NULL;
    }
    r->framing = HL_FRAMING_NONE;
    r->left = 0;
    r->scanned = 0;
}

static enum hl_message_event refuse(struct hl_refusal *fault, const struct hl_refusal *why)
{
    *fault = *why;
    return HL_MESSAGE_FAULT;
}

/* A head whose good end llhttp has not found: looks for any end. MORE: there is none yet; HEAD: the
 * first r->head_n bytes are one, good or not. */
static enum hl_message_event find_end(
    struct hl_message_reader *r, struct hl_str bytes, struct hl_refusal *fault)
{
    size_t n = bytes.n;
    enum hl_head_end end = hl_head_find_end(bytes.p, bytes.n, &r->scanned, &n);
    r->head_n = 0;
    if (end == HL_HEAD_END_BAD)
        return refuse(fault, r->rules->no_head);
    if (n > r->rules->max_head)
        return refuse(fault, r->rules->head_too_large);
    if (end == HL_HEAD_END_MISSING)
        return HL_MESSAGE_MORE;
    r->head_n = n;
    return HL_MESSAGE_HEAD;
}

static bool begin_chunks(
    struct hl_message_reader *r, const struct hl_head *head, const struct hl_parser *parser)
{
    if (r->chunks)
        hl_chunk_reader_fini(r->chunks); /* of the same head: its call waited, and begins again */
    else
        r->chunks = malloc(sizeof(*r->chunks));
    if (!r->chunks)
        return false;
    hl_chunk_reader_init(r->chunks, parser, r->rules->max_trailer);
    r->chunks->drops_trailer = head->nominates_fields;
    return true;
}

/* The body that `head`, which `parser` has read, announces comes next. */
static enum hl_message_event begin_body(struct hl_message_reader *r, struct hl_str *bytes,
    const struct hl_head *head, const struct hl_parser *parser, struct hl_refusal *fault)
{
    if (head->framing == HL_FRAMING_CHUNKED && !begin_chunks(r, head, parser))
        return refuse(fault, hl_refusal_make(HL_REFUSAL_NO_MEMORY));
    bytes->p += r->head_n;
    bytes->n -= r->head_n;
    r->scanned = 0;
    r->framing = head->framing;
    r->left = head->framing == HL_FRAMING_LENGTH ? head->content_length : 0;
    return HL_MESSAGE_HEAD;
}

/* What the head is of. */
struct kind {
    bool is_response;
    enum hl_method method; /* of the request that it answers */
    bool is_websocket;
};

static inline bool take_head(const struct kind *kind, struct hl_head *head,
    struct hl_parser *parser, const char *p, size_t n, size_t *len)
{
    return kind->is_response
               ? hl_head_take_response(head, parser, p, n, kind->method, kind->is_websocket, len)
               : hl_head_take_request(head, parser, p, n, len);
}

static void explain(const struct kind *kind, struct hl_head *head, const char *p, size_t n,
    struct hl_refusal *fault)
{
    if (kind->is_response)
        hl_head_explain_response(head, p, n, kind->method, kind->is_websocket, fault);
    else
        hl_head_explain_request(head, p, n, fault);
}

static inline enum hl_message_event read_head(struct hl_message_reader *r, struct hl_str *bytes,
    const struct kind *kind, struct hl_head *head, struct hl_refusal *fault)
{
    struct hl_parser parser;
    bool is_new = r->scanned == 0;
    if (is_new && take_head(kind, head, &parser, bytes->p, bytes->n, &r->head_n) &&
        r->head_n <= r->rules->max_head)
        return begin_body(r, bytes, head, &parser, fault);
    enum hl_message_event event = find_end(r, *bytes, fault);
    if (event != HL_MESSAGE_HEAD)
        return event;
    size_t n;
    if (!is_new && take_head(kind, head, &parser, bytes->p, r->head_n, &n) && n == r->head_n)
        return begin_body(r, bytes, head, &parser, fault);
    explain(kind, head, bytes->p, r->head_n, fault);
    return HL_MESSAGE_FAULT;
}

enum hl_message_event hl_message_read_request(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_head *head, struct hl_refusal *fault)
{
    static const struct kind request = {.is_response = false};
    return read_head(r, bytes, &request, head, fault);
}

enum hl_message_event hl_message_read_response(struct hl_message_reader *r, struct hl_str *bytes,
    enum hl_method method, bool is_websocket, struct hl_head *head, struct hl_refusal *fault)
{
    const struct kind response = {
        .is_response = true, .method = method, .is_websocket = is_websocket};
    return read_head(r, bytes, &response, head, fault);
}

static enum hl_message_event read_chunks(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_str *data, struct hl_refusal *fault)
{
    switch (hl_chunk_read(r->chunks, &bytes->p, &bytes->n, data)) {
    case HL_CHUNK_MORE:
        return HL_MESSAGE_MORE;
    case HL_CHUNK_DATA:
        return HL_MESSAGE_DATA;
    case HL_CHUNK_END:
        return HL_MESSAGE_END;
    case HL_CHUNK_BAD:
        break;
    }
    *fault = *hl_refusal_make(r->chunks->fault);
    if (r->chunks->fault != HL_REFUSAL_NO_MEMORY)
        fault->status = r->rules->no_head->status;
    return HL_MESSAGE_FAULT;
}

enum hl_message_event hl_message_read_body(struct hl_message_reader *r, struct hl_str *bytes,
    struct hl_str *data, struct hl_refusal *fault)
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
