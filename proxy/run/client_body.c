/* client_body.c - the present request's body: taken off the connection's bytes, given to whoever
 * takes it.
 * Owns: the body fields of struct hl_client. Thread: the worker's.
 * Promise: no more is taken than its taker has room for; a body that breaks its framing or its
 * limit ends the call.
 * Not here: reading the connection (client.c), where the body goes (forward.c, accept.c). */
#include "run/client.h"
#include "run/inquiry.h"

#define LONG_BODY (256 * 1024) /* bodies beyond this are passed on in larger pieces */

bool hl_client_body_is_blocked(const struct hl_client *c)
{
    if (c->taker == HL_TAKER_FORWARD)
        return c->run && hl_forward_is_blocked(c->run);
    return c->taker == HL_TAKER_ACCEPT && c->run && hl_spool_is_full(c->run->spool);
}

static void give_body(struct hl_client *c, struct hl_str data)
{
    c->body_seen += data.n;
    c->owes_continue = false;
    if (c->body_seen > LONG_BODY && c->taker == HL_TAKER_FORWARD)
        c->stream.read_size = HL_READ_SIZE_LONG;
    if (c->run && c->taker == HL_TAKER_FORWARD)
        hl_forward_body(c->run, data);
    else if (c->run && c->taker == HL_TAKER_ACCEPT)
        hl_accept_body(c->run, data);
    else if (c->taker == HL_TAKER_INQUIRY)
        hl_inquiry_body(c, data);
}

static void end_body(struct hl_client *c, struct hl_str trailer)
{
    c->body_done = true;
    c->owes_continue = false;
    if (c->run && c->taker == HL_TAKER_FORWARD)
        hl_forward_body_end(c->run, trailer);
    else if (c->run && c->taker == HL_TAKER_ACCEPT)
        hl_accept_body_end(c->run);
    else if (c->taker == HL_TAKER_INQUIRY)
        hl_inquiry_body_end(c);
}

void hl_client_fail_body(struct hl_client *c, uint16_t status, const char *detail)
{
    struct hl_run *run = c->run;
    c->must_close = true;
    if (run && c->taker == HL_TAKER_FORWARD) {
        hl_forward_fail(run, HL_RUN_CANCELLED, HL_REASON_NONE, status, detail);
        return;
    }
    if (run) {
        hl_accept_caller_gone(run);
        c->run = NULL;
    }
    hl_inquiry_leave(c);
    hl_client_refuse(c, status, detail);
}

static size_t take_chunked(struct hl_client *c, const char *p, size_t n)
{
    const char *at = p;
    size_t left = n;
    while (c->state == HL_CLIENT_CALL && !c->body_done && !hl_client_body_is_blocked(c)) {
        struct hl_str data;
        switch (hl_chunk_read(&c->chunks, &at, &left, &data)) {
        case HL_CHUNK_MORE:
            return n;
        case HL_CHUNK_DATA:
            if (c->body_seen + data.n > c->body_max) {
                hl_client_fail_body(c, 413, "The request's body is larger than is allowed here.");
                return n;
            }
            give_body(c, data);
            break;
        case HL_CHUNK_END:
            end_body(c, hl_buf_str(&c->chunks.trailer));
            break;
        case HL_CHUNK_BAD:
            hl_client_fail_body(c, 400, c->chunks.fault);
            return n;
        }
    }
    return n - left;
}

size_t hl_client_take_body(struct hl_client *c, const char *p, size_t n)
{
    if (c->framing == HL_FRAMING_CHUNKED)
        return take_chunked(c, p, n);
    if (hl_client_body_is_blocked(c))
        return 0;
    size_t m = n < c->body_left ? n : (size_t)c->body_left;
    c->body_left -= m;
    give_body(c, (struct hl_str){p, m});
    if (c->body_left == 0 && c->state == HL_CLIENT_CALL && !c->body_done)
        end_body(c, (struct hl_str){NULL, 0});
    return m;
}
