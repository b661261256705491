/* stream_share.h - what other replicas can see of a run while it goes on here: its kept stream, each second or
 * 256 KiB, and how far it says it is, each five seconds; a replica that is lost takes no more with it (contract 14).
 * Where one process has the store nothing of it is done. Thread: the worker's. */
#ifndef HL_RUN_STREAM_SHARE_H
#define HL_RUN_STREAM_SHARE_H

#include "loop/wheel.h"

struct hl_store_msg;

struct hl_run;
struct hl_runs;
struct hl_stream_reading;

struct hl_stream_share {
    struct hl_run *run; /* NULL: nobody shares the store, or it does not know of the run any more */
    struct hl_timer parts, progress;
    uint64_t at;                       /* what stands before it is in the store */
    bool is_busy;                      /* a part is being read, or is on its way */
    bool is_head_told;                 /* to a caller at a front */
    bool is_said;                      /* the store was told of progress a short time ago */
    bool has_news;                     /* there is newer one */
    struct hl_stream_reading *reading; /* in the pool; NULL: none */
};

/* The run's stream has been opened. */
void hl_stream_share_init(struct hl_stream_share *s, struct hl_run *run);
/* terms.has_caller: the head of its answer is there, and is told at once. */
void hl_stream_share_head(struct hl_stream_share *s);
/* More can be read in its journal. */
void hl_stream_share_note(struct hl_stream_share *s);
/* The run said how far it is. */
void hl_stream_share_say(struct hl_stream_share *s);
/* What was said last is with the store before the run's end is. */
void hl_stream_share_end(struct hl_stream_share *s);
void hl_stream_share_fini(struct hl_stream_share *s);

/* The store has answered: takes the message. */
void hl_stream_share_on_reply(struct hl_runs *runs, struct hl_store_msg *m);

#endif
