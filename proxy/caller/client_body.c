/* client_body.c - the present request's body: taken off the connection's bytes, given to whoever
 * takes it.
 * Owns: the body fields of struct hl_client. Thread: the worker's.
 * Promise: no more is taken than its taker has room for; nothing behind a fault.
 * Not here: reading the connection and what follows a fault (client.c). */
#include "caller/client_body.h"

#include "base/str.h"
#include "caller/client.h"
#include "caller/taker.h"

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

/* The taker has got `data`; a body with a length ends with its last byte, though its taker be full. */
static void take_data(struct hl_client *c, struct hl_str data)
{
    give_body(c, data);
    if (c->messages.framing == HL_FRAMING_LENGTH && c->messages.left == 0 &&
        c->state == HL_CLIENT_CALL && !c->body_done)
        end_body(c, (struct hl_str){NULL, 0});
}

size_t hl_client_body_take(struct hl_client *c, const char *p, size_t n, struct hl_refusal *fault)
{
    struct hl_str bytes = {p, n}, data;
    while (c->state == HL_CLIENT_CALL && !c->body_done && !c->taker->is_blocked(c->owner)) {
        switch (hl_message_read_body(&c->messages, &bytes, &data, fault)) {
        case HL_MESSAGE_DATA:
            if (c->body_seen + data.n > c->body_max) {
                hl_refuse(fault, HL_REFUSAL_BODY_TOO_LARGE);
                return n;
            }
            take_data(c, data);
            break;
        case HL_MESSAGE_END:
            end_body(c, hl_message_trailer(&c->messages));
            break;
        default: /* MORE, or a FAULT */
            return n;
        }
    }
    return n - bytes.n;
}
