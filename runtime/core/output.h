/* output.h - an answer of a connection, on its way to the socket. The loop's thread. */
#ifndef HL_RUNTIME_OUTPUT_H
#define HL_RUNTIME_OUTPUT_H

#include "base/list.h"
#include "loop/mailbox.h"
#include "loop/slot.h"

struct hl_connection;

/* ---- bytes on their way from a host's thread to a caller's connection ---- */

/* What becomes of the connection after this piece. */
enum hl_piece_end {
    HL_PIECE_MORE, /* others follow */
    HL_PIECE_LAST, /* the answer is whole */
    HL_PIECE_CUT,  /* it never will be: the connection is cut */
};

struct hl_piece {
    struct hl_msg msg; /* first: HL_DESK_PIECE */
    struct hl_list node;
    struct hl_slot_name connection;
    enum hl_piece_end end;
    size_t n, sent;
    char bytes[];
};

/* With room for `cap` bytes; NULL when out of memory. free() it. */
struct hl_piece *hl_piece_new(size_t cap);

/* Takes the piece. */
void hl_output_add(struct hl_connection *c, struct hl_piece *piece);
/* Writes what the socket takes. */
void hl_output_pump(struct hl_connection *c);
/* The present request has its whole answer. */
void hl_output_end(struct hl_connection *c);

#endif
