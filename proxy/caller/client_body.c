/* client_body.c - the present request's body: taken off the connection's bytes, given to whoever
 * takes it.
 * Owns: the body fields of struct hl_client. Thread: the worker's.
 * Promise: no more is taken than its taker has room for; nothing behind a fault.
 * Not here: reading the connection and what follows a fault (client.c). */
#include "caller/client_body.h"

#define LONG_BODY (256 * 1024) /* bodies beyond this are passed on in larger pieces */

static void give_body(struct hl_client *c, struct hl_str data)
{
    c->body_seen += data.n;
    c->owes_continue = false;
    if (c->body_seen > LONG_BODY && c->taker->reads_long)
        c->stream.read_size = HL_READ_SIZE_LONG;
    c->taker->body(c->owner, data);
}

static void end_body(struct hl_client *c, struct hl_str trailer)
{
    c->body_done = true;
    c->owes_continue = false;
    c->taker->body_end(c->owner, trailer);
}

static size_t take_chunked(
    struct hl_client *c, const char *p, size_t n, struct hl_body_fault *fault)
{
    const char *at = p;
    size_t left = n;
    while (c->state == HL_CLIENT_CALL && !c->body_done && !c->taker->is_blocked(c->owner)) {
        struct hl_str data;
        switch (hl_chunk_read(&c->chunks, &at, &left, &data)) {
        case HL_CHUNK_MORE:
            return n;
        case HL_CHUNK_DATA:
            if (c->body_seen + data.n > c->body_max) {
                *fault = (struct hl_body_fault){
                    413, "The request's body is larger than is allowed here."};
                return n;
            }
            give_body(c, data);
            break;
        case HL_CHUNK_END:
            end_body(c, hl_buf_str(&c->chunks.trailer));
            break;
        case HL_CHUNK_BAD:
            *fault = (struct hl_body_fault){400, c->chunks.fault};
            return n;
        }
    }
    return n - left;
}

size_t hl_client_body_take(
    struct hl_client *c, const char *p, size_t n, struct hl_body_fault *fault)
{
    if (c->framing == HL_FRAMING_CHUNKED)
        return take_chunked(c, p, n, fault);
    if (c->taker->is_blocked(c->owner))
        return 0;
    size_t m = n < c->body_left ? n : (size_t)c->body_left;
    c->body_left -= m;
    give_body(c, (struct hl_str){p, m});
    if (c->body_left == 0 && c->state == HL_CLIENT_CALL && !c->body_done)
        end_body(c, (struct hl_str){NULL, 0});
    return m;
}
