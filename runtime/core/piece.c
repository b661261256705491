/* piece.c - bytes on their way from a host's thread to a caller's connection. One owner at a time. */
#include "core/piece.h"

#include <stdlib.h>

#include "core/desk.h"

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
