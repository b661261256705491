/* source.c - a stored request body as the source of a run.
 * Owns: its reader, and the piece that waits for the app. Thread: the worker's.
 * Promise: the next piece is read when the last one has gone on and the app takes more.
 * Not here: reading and checking the body (body_reader.c), small bodies (dispatch.c puts them behind
 * the head). */
#include "run/source.h"

#include <stdlib.h>

#include "base/log.h"
#include "run/body_reader.h"

struct hl_source {
    struct hl_run *run;
    struct hl_body_reader *reader;
    struct hl_str piece;
    bool is_reading, has_piece, has_last;
};

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last);

struct hl_source *hl_source_new(struct hl_run *run)
{
    struct hl_source *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->run = run;
    s->reader = hl_body_reader_new(
        &run->worker->loop, run->worker->spools.data_dir, &run->claimed->body, on_piece, s);
    if (s->reader)
        return s;
    free(s);
    return NULL;
}

static void give_piece(struct hl_source *s)
{
    struct hl_run *run = s->run;
    bool is_last = s->has_last;
    s->has_piece = false;
    hl_forward_body(run, s->piece);
    if (is_last)
        hl_forward_body_end(run, (struct hl_str){NULL, 0});
}

static void on_piece(void *owner, enum hl_err err, struct hl_str piece, bool is_last)
{
    struct hl_source *s = owner;
    s->is_reading = false;
    if (err != HL_OK) {
        HL_LOG(ERROR, "a stored request body cannot be read", HL_LOG_ID("run_id", &s->run->id),
            HL_LOG_TEXT("error", hl_err_text(err)));
        hl_forward_fail(s->run, HL_RUN_FAILURE, HL_REASON_INTERRUPTED, 500,
            "The stored request body cannot be read.");
        return;
    }
    s->piece = piece;
    s->has_piece = true;
    s->has_last = is_last;
    hl_source_go_on(s);
}

void hl_source_go_on(struct hl_source *s)
{
    if (s->is_reading || hl_forward_is_blocked(s->run))
        return;
    if (s->has_piece)
        give_piece(s);
    if (s->has_last || hl_forward_is_blocked(s->run))
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
