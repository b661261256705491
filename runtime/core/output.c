/* output.c - an answer's pieces on their way to the socket.
 * Owns: pieces that the socket has not taken. Thread: the loop's.
 * Promise: a call gets its credit back when the socket has taken the bytes, and not before; what the
 * socket does not take at once is copied in slices of bounded size.
 * Not here: what an answer is (answer.c). */
#include "core/output.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"
#include "core/call_inside.h"
#include "core/connection.h"
#include "core/desk.h"

/* ---- bytes on their way from a host's thread to a caller's connection ---- */

struct hl_piece *hl_piece_new(size_t cap)
{
    struct hl_piece *piece = malloc(sizeof(*piece) + cap);
    if (!piece)
        return NULL;
    piece->msg.type = HL_DESK_PIECE;
    hl_list_init(&piece->node);
    piece->end = HL_PIECE_MORE;
    piece->n = piece->sent = 0;
    return piece;
}

#define SLICE (256 * 1024)

void hl_output_add(struct hl_connection *c, struct hl_piece *piece)
{
    hl_list_push_back(&c->out, &piece->node);
    hl_output_pump(c);
}

static void settle(struct hl_connection *c)
{
    if (c->call && c->owed > 0)
        hl_call_credit(c->call, c->owed);
    c->owed = 0;
}

/* Writes a slice of the first piece, and lets go of the piece when that was its last. */
static bool write_slice(struct hl_connection *c, struct hl_piece *piece)
{
    size_t n = piece->n - piece->sent < SLICE ? piece->n - piece->sent : SLICE;
    if (n > 0 && hl_stream_write(&c->stream, piece->bytes + piece->sent, n) != HL_OK)
        return false;
    piece->sent += n;
    c->owed += n;
    if (piece->sent == piece->n) {
        c->ending = piece->end;
        hl_list_remove(&piece->node);
        free(piece);
    }
    return true;
}

void hl_output_pump(struct hl_connection *c)
{
    while (!hl_stream_is_blocked(&c->stream)) {
        settle(c);
        if (hl_list_is_empty(&c->out))
            break;
        if (!write_slice(c, HL_CONTAINER_OF(c->out.next, struct hl_piece, node))) {
            hl_connection_close(c, false);
            return;
        }
    }
    if (c->ending == HL_PIECE_LAST)
        hl_output_end(c);
    else if (c->ending == HL_PIECE_CUT && !hl_stream_is_blocked(&c->stream))
        hl_connection_close(c, c->minor == 0); /* without chunks only a reset tells */
}

void hl_output_end(struct hl_connection *c)
{
    c->ending = HL_PIECE_MORE;
    c->has_begun = false;
    if (c->must_close) {
        c->state = HL_CONNECTION_LINGER;
        hl_stream_shutdown(&c->stream);
    } else {
        c->state = HL_CONNECTION_HEAD;
    }
}
