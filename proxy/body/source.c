/* source.c - a stored body that goes to the app.
 * Owns: its reader, and the piece that waits for the app. Thread: its loop's.
 * Promise: the next piece is read when the last one has gone on and the app takes more.
 * Not here: reading and checking the body (body_reader.c), small bodies (dispatch.c puts them behind
 * the head). */
#include "body/source.h"

#include <stdlib.h>

#include "body/body_reader.h"

struct hl_source {
    const struct hl_source_events *events;
    void *owner;
    struct hl_body_reader *reader;
    struct hl_str piece;
    bool is_reading, has_piece, has_last;
};

static void on_piece(void *self, enum hl_err err, struct hl_str piece, bool is_last);

struct hl_source *hl_source_new(uv_loop_t *loop, const char *data_dir, struct hl_body *body,
    const struct hl_source_events *events, void *owner)
{
    struct hl_source *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->events = events;
    s->owner = owner;
    s->reader = hl_body_reader_new(loop, data_dir, body, on_piece, s);
    if (s->reader)
        return s;
    free(s);
    return NULL;
}

static void give_piece(struct hl_source *s)
{
    const struct hl_source_events *events = s->events;
    void *owner = s->owner;
    bool is_last = s->has_last;
    s->has_piece = false;
    events->body(owner, s->piece);
    if (is_last)
        events->body_end(owner, (struct hl_str){NULL, 0});
}

static void on_piece(void *self, enum hl_err err, struct hl_str piece, bool is_last)
{
    struct hl_source *s = self;
    s->is_reading = false;
    if (err != HL_OK) {
        s->events->unreadable(s->owner, err);
        return;
    }
    s->piece = piece;
    s->has_piece = true;
    s->has_last = is_last;
    hl_source_go_on(s);
}

void hl_source_go_on(struct hl_source *s)
{
    if (s->is_reading || s->events->is_blocked(s->owner))
        return;
    if (s->has_piece)
        give_piece(s);
    if (s->has_last || s->events->is_blocked(s->owner))
        return;
    s->is_reading = hl_body_reader_next(s->reader);
}

void hl_source_free(struct hl_source *s)
{
    if (!s)
        return;
    hl_body_reader_free(s->reader);
    free(s);
}
