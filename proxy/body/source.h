/* source.h - a stored body that goes to the app, piece by piece as it takes them: read from its file or
 * from memory in libuv's pool, and checked there. */
#ifndef HL_BODY_SOURCE_H
#define HL_BODY_SOURCE_H

#include <uv.h>

#include "base/err.h"
#include "base/str.h"

struct hl_body;

struct hl_source;

/* Whom it feeds. */
struct hl_source_events {
    bool (*is_blocked)(void *owner);
    void (*body)(void *owner, struct hl_str data);        /* only while it is not blocked */
    void (*body_end)(void *owner, struct hl_str trailer); /* the whole body was what was stored */
    void (*unreadable)(void *owner, enum hl_err err);     /* the source may be freed inside */
};

/* Takes the bytes of `body` if they are in memory: only where the store has them too, so that the claim
 * can be given back without. `data_dir` is borrowed; NULL with bodies in memory. NULL: out of memory,
 * and the bytes are still the caller's. */
struct hl_source *hl_source_new(uv_loop_t *loop, const char *data_dir, struct hl_body *body,
    const struct hl_source_events *events, void *owner);
/* Whom it feeds takes bytes: go on. */
void hl_source_go_on(struct hl_source *source);
/* NULL-safe; waits for no one: a read in flight ends by itself. */
void hl_source_free(struct hl_source *source);

#endif
