/* answer.h - the pieces that a call's answer leaves in. The thread that has taken the call. */
#ifndef HL_RUNTIME_ANSWER_H
#define HL_RUNTIME_ANSWER_H

#include "base/err.h"
#include "core/call_inside.h"
#include "core/piece.h"

struct hl_answer;
struct hl_str;

/* Sends it, after waiting until less than a window is unsent. Takes the piece. */
enum hl_err hl_call_send(struct hl_call *call, struct hl_piece *piece);
/* Puts it on the call as its last. Takes the piece; NULL is HL_ERR_NOMEM. */
enum hl_err hl_call_finish(
    struct hl_call *call, struct hl_piece *piece, enum hl_piece_end end, enum hl_call_stage stage);
/* The head and the body of an answer as one piece, NULL when out of memory. Fills in what all of the
 * call's answers have in common. */
struct hl_piece *hl_call_write_answer(const struct hl_call *call, struct hl_answer *answer);
/* A part of a stream's body as one piece, in a chunk where the caller knows chunks; NULL when out of
 * memory. */
struct hl_piece *hl_call_write_chunk(const struct hl_call *call, struct hl_str bytes);

#endif
