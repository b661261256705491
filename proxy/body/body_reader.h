/* body_reader.h - a body at rest, from its file or from memory, piece by piece through libuv's pool,
 * and checked there. One loop's thread. */
#ifndef HL_BODY_READER_H
#define HL_BODY_READER_H

#include <uv.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct hl_body;

struct hl_body_reader;

/* The next piece, or why there is none: IO, NOT_FOUND (the file is gone), CORRUPT (not the bytes that
 * were stored, found at the last piece at the latest: that one is not given). `piece` is valid until
 * the next is asked for. The reader may be freed inside. */
typedef void hl_body_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last);

/* Takes the bytes of `body`, if they are in memory. `data_dir` is borrowed; NULL with bodies in
 * memory. NULL: out of memory, and the bytes are still the caller's. */
struct hl_body_reader *hl_body_reader_new(uv_loop_t *loop, const char *data_dir,
    struct hl_body *body, hl_body_piece *on_piece, void *owner);

/* Asks for the next piece; not while one is on its way, nor after the last. `on_piece` follows, never
 * before the return. False: out of memory, nothing follows. */
HL_MUST_CHECK bool hl_body_reader_next(struct hl_body_reader *r);

/* NULL-safe; waits for no one: a read in flight ends by itself, without a call back. */
void hl_body_reader_free(struct hl_body_reader *r);

#endif
