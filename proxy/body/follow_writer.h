/* follow_writer.h - the answer that a follower writes: its beginning and end, the stream's bytes
 * with an id for each event, and our own heartbeats and progress between events. Thread: the
 * desk's loop. */
#ifndef HL_BODY_FOLLOW_WRITER_H
#define HL_BODY_FOLLOW_WRITER_H

#include "body/follow.h"
#include "http/chunked.h"

struct hl_str;

#define HL_FOLLOW_WRITE (12 * 1024) /* of the stream, with ids, in one write */
#define HL_FOLLOW_ROOM  (HL_CHUNK_HEAD_MAX + HL_FOLLOW_WRITE + 64)

struct hl_follow_writer {
    const struct hl_follower_events *events;
    void *owner;
    const struct hl_follow *grant;
    struct hl_follow_clock *clock; /* a heartbeat is due if nothing was written for long */
    char *out;                     /* HL_FOLLOW_ROOM bytes, the desk's: valid within one event */
    struct hl_event_ids ids;
    bool is_chunked, is_answered;
    bool has_spoken; /* something of ours went out */
};

/* False: the follower is gone, or has nothing more to do. One that another replica had answered before it was
 * lost hears nothing of that a second time. */
bool hl_follow_writer_answer(
    struct hl_follow_writer *w, enum hl_follow_answer what, enum hl_run_state state);
/* It is not answered yet, or it is broken off. The follower is gone. */
void hl_follow_writer_fail(
    struct hl_follow_writer *w, enum hl_follow_answer what, enum hl_run_state state);
/* All of it went out. Likewise. */
void hl_follow_writer_finish(
    struct hl_follow_writer *w, enum hl_run_state state, enum hl_run_reason reason);
/* Nothing more comes. Likewise. */
void hl_follow_writer_end(struct hl_follow_writer *w, bool is_whole);

bool hl_follow_writer_is_blocked(const struct hl_follow_writer *w);
/* Where something of ours may stand. */
bool hl_follow_writer_is_between(const struct hl_follow_writer *w);

/* At most HL_FOLLOW_WRITE bytes, as they are. False: the follower is gone. */
bool hl_follow_writer_say(struct hl_follow_writer *w, struct hl_str text);
/* As much of the stream's bytes, from `*offset` on, as goes out now: moves it. Likewise. */
bool hl_follow_writer_pass(struct hl_follow_writer *w, uint64_t *offset, struct hl_str bytes);

#endif
